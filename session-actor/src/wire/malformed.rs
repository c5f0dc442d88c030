use std::fmt;

/// What is wrong with a message of a broker, and where.
///
/// The position counts bytes from the start of the message body, after the response header.
///
/// ```
/// use session_actor::wire::guard::{self, METADATA};
///
/// // Metadata v1 whose list of brokers claims 2^31 - 1 entries
/// let error = guard::skim(&METADATA, 1, &[0x7f, 0xff, 0xff, 0xff]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "MetadataResponse v1, byte 0, brokers: claims 2147483647 entries of at least 12 bytes each, 0 bytes are left",
/// );
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{message} v{version}, byte {position}, {field}: {problem}")]
#[non_exhaustive]
pub struct Malformed {
    /// Name of the message in Kafka's own schema files.
    pub message: &'static str,
    /// Version in which the message was read.
    pub version: i16,
    /// Byte at which the faulty field begins.
    pub position: usize,
    /// Name of the faulty field.
    pub field: &'static str,
    /// What was claimed, and what was left.
    pub problem: Problem,
}

/// The kinds of fault a message can have. `left` is the number of bytes after the count or length that made the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The message ends inside a field.
    Ended {
        /// Bytes the field needs.
        needed: usize,
        /// Bytes there are.
        left: usize,
    },
    /// More entries claimed than the bytes that are left can hold.
    Count {
        /// Claimed entries.
        claimed: u32,
        /// Smallest size of one entry in bytes.
        least: usize,
        /// Bytes there are.
        left: usize,
    },
    /// A string, byte array or tagged field claims more bytes than are left.
    Length {
        /// Claimed bytes.
        claimed: u32,
        /// Bytes there are.
        left: usize,
    },
    /// A count or length below -1.
    Negative {
        /// What the message says.
        claimed: i32,
    },
    /// Null where the schema has no null.
    Null,
    /// A byte that must be 1 for a structure or -1 for null and is neither.
    Presence {
        /// What the message says.
        claimed: i8,
    },
    /// A variable-length number that does not fit into 32 bits.
    Varint,
    /// A text that is not UTF-8.
    NotUtf8,
    /// A tagged field whose content is shorter than its size (KIP-482).
    TagSize {
        /// Size of the field by its own word.
        claimed: usize,
        /// Bytes its content took.
        used: usize,
    },
    /// More tagged fields that the schema does not know than any broker sends.
    UnknownTags {
        /// How many are tolerated.
        limit: u32,
    },
    /// More partitions than were asked for.
    MoreThanAsked {
        /// How many are tolerated.
        limit: usize,
    },
    /// Bytes after the end of the message.
    Trailing {
        /// How many.
        left: usize,
    },
    /// The schema does not have this version.
    Version,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ended { needed, left } => {
                write!(f, "needs {needed} bytes, {left} are left")
            }
            Self::Count {
                claimed,
                least,
                left,
            } => write!(
                f,
                "claims {claimed} entries of at least {least} bytes each, {left} bytes are left"
            ),
            Self::Length { claimed, left } => {
                write!(f, "claims {claimed} bytes, {left} are left")
            }
            Self::Negative { claimed } => write!(f, "claims the size {claimed}"),
            Self::Null => f.write_str("is null, which it may not be"),
            Self::Presence { claimed } => {
                write!(f, "is neither there (1) nor null (-1) but {claimed}")
            }
            Self::Varint => f.write_str("is a number of more than 32 bits"),
            Self::NotUtf8 => f.write_str("is not UTF-8"),
            Self::TagSize { claimed, used } => {
                write!(f, "claims {claimed} bytes, its content takes {used}")
            }
            Self::UnknownTags { limit } => {
                write!(f, "more than {limit} unknown tagged fields")
            }
            Self::MoreThanAsked { limit } => {
                write!(f, "more than the {limit} that were asked for")
            }
            Self::Trailing { left } => write!(f, "{left} bytes follow the end of the message"),
            Self::Version => f.write_str("the message has no such version"),
        }
    }
}
