//! The check that every response passes before the crate `kafka-protocol` decodes it.
//!
//! The crate sizes its collections by the counts a message declares, so eight bytes can make it ask for more memory than
//! there is, which aborts the process. [`skim`] walks a message along a constant table of its schema and compares every
//! declared count and length with the bytes that are left. It allocates nothing, takes time linear in the bytes, and nests
//! only as deep as the table does. A message that passes is exactly as long as its contents say, so what the decoder
//! allocates is bounded by a small multiple of the bytes that were received.
//!
//! A further message is guarded by adding its table to `responses.rs`.

mod responses;
mod schema;
#[cfg(test)]
mod tests;

pub use responses::{API_VERSIONS, LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH, response};
pub use schema::Schema;

use schema::{Field, Kind};

use super::cursor::Cursor;
use super::malformed::{Malformed, Problem};

/// Tagged fields unknown to the schema that one message may carry. The decoder keeps each in a map of some 400 bytes, so a
/// few bytes each would become gigabytes. Room for one in each partition of a cluster of a million.
const MAX_UNKNOWN_TAGS: u32 = 1 << 20;

/// Checks the body of a message, which is what follows the response header.
///
/// # Errors
///
/// The first field whose claim does not fit into the bytes there are, or bytes left over behind the last field.
pub fn skim(schema: &Schema, version: i16, body: &[u8]) -> Result<(), Malformed> {
    let flexible = schema.is_flexible(version);
    let mut skimmer = Skimmer {
        cursor: Cursor::new(body, schema.name, version, flexible),
        unknown_tags: 0,
    };
    if !schema.has(version) {
        return Err(skimmer.cursor.fault(0, "version", Problem::Version));
    }
    skimmer.structure(schema.fields)?;
    skimmer.cursor.finish("end")
}

struct Skimmer<'a> {
    cursor: Cursor<'a>,
    unknown_tags: u32,
}

impl Skimmer<'_> {
    fn structure(&mut self, fields: &'static [Field]) -> Result<(), Malformed> {
        let version = self.cursor.version();
        for field in fields {
            if field.tag.is_none() && field.is_in(version) {
                self.field(field)?;
            }
        }
        if self.cursor.is_flexible() {
            self.tagged_fields(fields)?;
        }
        Ok(())
    }

    fn field(&mut self, field: &'static Field) -> Result<(), Malformed> {
        let position = self.cursor.position();
        let present = self.value(&field.kind, field.name)?;
        if present || field.is_nullable_in(self.cursor.version()) {
            Ok(())
        } else {
            Err(self.cursor.fault(position, field.name, Problem::Null))
        }
    }

    /// False for null.
    fn value(&mut self, kind: &'static Kind, name: &'static str) -> Result<bool, Malformed> {
        match kind {
            Kind::Fixed(size) => self.cursor.take(*size, name).map(|_| true),
            Kind::String => self.cursor.string(name).map(|text| text.is_some()),
            Kind::Bytes => self.cursor.bytes(name).map(|bytes| bytes.is_some()),
            Kind::Struct(fields) => self.structure(fields).map(|()| true),
            Kind::Array(entry) => self.array(entry, name),
        }
    }

    fn array(&mut self, entry: &'static Kind, name: &'static str) -> Result<bool, Malformed> {
        let least = entry.least(self.cursor.version(), self.cursor.is_flexible());
        let Some(count) = self.cursor.count(least, name)? else {
            return Ok(false);
        };
        if let Kind::Fixed(size) = entry {
            // cannot overflow, since so many fit into what is left
            self.cursor.take(count * size, name)?;
            return Ok(true);
        }
        for _ in 0..count {
            let position = self.cursor.position();
            if !self.value(entry, name)? {
                return Err(self.cursor.fault(position, name, Problem::Null));
            }
        }
        Ok(true)
    }

    fn tagged_fields(&mut self, fields: &'static [Field]) -> Result<(), Malformed> {
        let version = self.cursor.version();
        for _ in 0..self.cursor.tags()? {
            let position = self.cursor.position();
            let tag = self.cursor.unsigned_varint("tag")?;
            let known = fields
                .iter()
                .find(|field| field.tag == Some(tag) && field.is_in(version));
            let Some(field) = known else {
                self.unknown_tags += 1;
                if self.unknown_tags > MAX_UNKNOWN_TAGS {
                    let limit = MAX_UNKNOWN_TAGS;
                    let problem = Problem::UnknownTags { limit };
                    return Err(self.cursor.fault(position, "tagged fields", problem));
                }
                self.cursor.section("unknown tagged field")?;
                continue;
            };
            let section = self.cursor.section(field.name)?;
            let start = section.position();
            let claimed = section.left();
            let behind = std::mem::replace(&mut self.cursor, section);
            self.field(field)?;
            // the decoder does not look at the size of a field it knows
            if self.cursor.left() > 0 {
                let used = self.cursor.position() - start;
                let problem = Problem::TagSize { claimed, used };
                return Err(self.cursor.fault(start, field.name, problem));
            }
            self.cursor = behind;
        }
        Ok(())
    }
}
