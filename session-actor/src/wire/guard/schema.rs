/// The layout of a message in all its versions, as Kafka's schema files have it.
#[derive(Debug)]
pub struct Schema {
    pub(super) name: &'static str,
    pub(super) versions: (i16, i16),
    pub(super) flexible_since: i16,
    pub(super) fields: &'static [Field],
}

impl Schema {
    /// Name of the message in Kafka's own schema files.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Name of the API whose response this is.
    pub(in crate::wire) fn api_name(&self) -> &'static str {
        self.name.strip_suffix("Response").unwrap_or(self.name)
    }

    /// Whether the message has this version.
    pub const fn has(&self, version: i16) -> bool {
        self.versions.0 <= version && version <= self.versions.1
    }

    pub(super) const fn is_flexible(&self, version: i16) -> bool {
        version >= self.flexible_since
    }
}

/// One field of a structure.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) tag: Option<u32>,
    since: i16,
    until: i16,
    nullable_since: i16,
}

impl Field {
    /// A field that all versions have, that has no tag and is never null.
    pub(super) const fn new(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            tag: None,
            since: 0,
            until: i16::MAX,
            nullable_since: i16::MAX,
        }
    }

    pub(super) const fn since(mut self, version: i16) -> Self {
        self.since = version;
        self
    }

    pub(super) const fn until(mut self, version: i16) -> Self {
        self.until = version;
        self
    }

    pub(super) const fn nullable_since(mut self, version: i16) -> Self {
        self.nullable_since = version;
        self
    }

    pub(super) const fn tagged(mut self, tag: u32) -> Self {
        self.tag = Some(tag);
        self
    }

    pub(super) const fn is_in(&self, version: i16) -> bool {
        self.since <= version && version <= self.until
    }

    pub(super) const fn is_nullable_in(&self, version: i16) -> bool {
        version >= self.nullable_since
    }
}

/// The type of a value. Counts and lengths are compact in flexible versions (KIP-482).
#[derive(Debug)]
pub(super) enum Kind {
    /// A number, boolean or UUID of so many bytes.
    Fixed(usize),
    /// A string.
    String,
    /// A byte array.
    Bytes,
    /// Entries of one type behind their count.
    Array(&'static Self),
    /// Fields in order; in flexible versions the tagged ones follow. A nullable one comes behind a byte, 1 or -1 for null.
    Struct(&'static [Field]),
}

pub(super) const BOOLEAN: Kind = Kind::Fixed(1);
pub(super) const INT16: Kind = Kind::Fixed(2);
pub(super) const INT32: Kind = Kind::Fixed(4);
pub(super) const INT64: Kind = Kind::Fixed(8);
pub(super) const UUID: Kind = Kind::Fixed(16);

impl Kind {
    /// Bytes that a value takes at the least.
    pub(super) fn least(&self, version: i16, flexible: bool) -> usize {
        match self {
            Self::Fixed(size) => *size,
            Self::String if !flexible => 2,
            Self::Bytes | Self::Array(_) if !flexible => 4,
            Self::String | Self::Bytes | Self::Array(_) => 1,
            Self::Struct(fields) => {
                let tags = usize::from(flexible);
                let there = |field: &&Field| field.tag.is_none() && field.is_in(version);
                let sizes = fields.iter().filter(there).map(|field| match field.kind {
                    Self::Struct(_) if field.is_nullable_in(version) => 1,
                    _ => field.kind.least(version, flexible),
                });
                tags + sizes.sum::<usize>()
            }
        }
    }
}
