//! The check that every response passes before the crate `kafka-protocol` decodes it.
//!
//! The crate sizes its collections by the counts a message declares, so eight bytes can make it ask for more memory than
//! there is, which aborts the process. [`skim`] walks a message along a constant table of its schema and compares every
//! declared count and length with the bytes that are left. It allocates nothing, takes time linear in the bytes, and nests
//! only as deep as the table does. A message that passes is exactly as long as its contents say, so what the decoder
//! allocates is bounded by a small multiple of the bytes that were received.
//!
//! A further message is guarded by adding its table to `cluster.rs` or `groups.rs`.

mod cluster;
mod groups;
mod schema;
#[cfg(test)]
mod tests;

pub use cluster::{API_VERSIONS, LIST_OFFSETS, METADATA, OFFSET_FOR_LEADER_EPOCH};
pub use groups::{
    CONSUMER_GROUP_HEARTBEAT, CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION,
    FIND_COORDINATOR, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, OFFSET_COMMIT, OFFSET_FETCH,
    SASL_AUTHENTICATE, SASL_HANDSHAKE, SYNC_GROUP,
};
pub use schema::Schema;

use schema::{Field, Kind};

use super::cursor::Cursor;
use super::malformed::{Malformed, Problem};
use kafka_protocol::messages::ApiKey;

/// Tagged fields unknown to the schema that one message may carry. The decoder keeps each in a map of some 400 bytes, so a
/// few bytes each would become gigabytes. Room for one in each partition of a cluster of a million.
const MAX_UNKNOWN_TAGS: u32 = 1 << 20;

/// The table of an API's response, `None` if it has none.
pub fn response(api: ApiKey) -> Option<&'static Schema> {
    match api {
        ApiKey::ApiVersions => Some(&API_VERSIONS),
        ApiKey::Metadata => Some(&METADATA),
        ApiKey::ListOffsets => Some(&LIST_OFFSETS),
        ApiKey::OffsetForLeaderEpoch => Some(&OFFSET_FOR_LEADER_EPOCH),
        ApiKey::FindCoordinator => Some(&FIND_COORDINATOR),
        ApiKey::JoinGroup => Some(&JOIN_GROUP),
        ApiKey::SyncGroup => Some(&SYNC_GROUP),
        ApiKey::Heartbeat => Some(&HEARTBEAT),
        ApiKey::LeaveGroup => Some(&LEAVE_GROUP),
        ApiKey::OffsetCommit => Some(&OFFSET_COMMIT),
        ApiKey::OffsetFetch => Some(&OFFSET_FETCH),
        ApiKey::ConsumerGroupHeartbeat => Some(&CONSUMER_GROUP_HEARTBEAT),
        ApiKey::SaslHandshake => Some(&SASL_HANDSHAKE),
        ApiKey::SaslAuthenticate => Some(&SASL_AUTHENTICATE),
        _ => None,
    }
}

/// Checks a whole message: the body of a response, which is what follows its header.
///
/// # Errors
///
/// The first field whose claim does not fit into the bytes there are, or bytes left over behind the last field.
pub fn skim(schema: &Schema, version: i16, body: &[u8]) -> Result<(), Malformed> {
    skimmed(schema, version, body)?.cursor.finish("end")
}

/// Checks a message that others may have written in a newer version than we know, and returns its length as far as we know
/// it; what follows is that version's (the ConsumerProtocol messages of KIP-429).
///
/// # Errors
///
/// The first field whose claim does not fit into the bytes there are.
pub fn skim_prefix(schema: &Schema, version: i16, bytes: &[u8]) -> Result<usize, Malformed> {
    Ok(skimmed(schema, version, bytes)?.cursor.position())
}

fn skimmed<'a>(schema: &Schema, version: i16, bytes: &'a [u8]) -> Result<Skimmer<'a>, Malformed> {
    let flexible = schema.is_flexible(version);
    let mut skimmer = Skimmer {
        cursor: Cursor::new(bytes, schema.name, version, flexible),
        unknown_tags: 0,
    };
    if !schema.has(version) {
        return Err(skimmer.cursor.fault(0, "version", Problem::Version));
    }
    skimmer.structure(schema.fields)?;
    Ok(skimmer)
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
        let nullable = field.is_nullable_in(self.cursor.version());
        let present = match field.kind {
            Kind::Struct(fields) if nullable => self.nullable_structure(fields, field.name)?,
            _ => self.value(&field.kind, field.name)?,
        };
        if present || nullable {
            Ok(())
        } else {
            Err(self.cursor.fault(position, field.name, Problem::Null))
        }
    }

    /// A structure behind the byte that says whether there is one.
    fn nullable_structure(
        &mut self,
        fields: &'static [Field],
        name: &'static str,
    ) -> Result<bool, Malformed> {
        let position = self.cursor.position();
        match self.cursor.i8(name)? {
            1 => self.structure(fields).map(|()| true),
            -1 => Ok(false),
            claimed => Err(self
                .cursor
                .fault(position, name, Problem::Presence { claimed })),
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
