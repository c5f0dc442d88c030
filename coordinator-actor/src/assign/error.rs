use thiserror::Error;

/// Why assignors cannot be used together, or what members tell each other cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssignError {
    /// The configured assignors share no way to rebalance.
    #[error(
        "the assignors {assignors:?} have no rebalance protocol in common: configure `partition.assignment.strategy` with at least one assignor, \
         and with eager or with cooperative ones only"
    )]
    NoCommonProtocol {
        /// Their names.
        assignors: Vec<String>,
    },
    /// An assignor that returned what a group cannot go by.
    #[error(
        "the assignor {assignor} is broken: {reason}; correct it, or take it out of `partition.assignment.strategy`"
    )]
    Nonsense {
        /// Its name.
        assignor: String,
        /// What it did.
        reason: String,
    },
    /// Fewer bytes than a field needs.
    #[error(
        "a {message} ends in its {field}: it needs {needed} bytes where {left} are left; the client that wrote it does not follow the consumer protocol"
    )]
    Truncated {
        /// `Subscription` or `Assignment`.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// What it needs at least.
        needed: usize,
        /// What there is.
        left: usize,
    },
    /// A negative length or count where none is allowed.
    #[error(
        "a {message} has a length of {length} for its {field}; the client that wrote it does not follow the consumer protocol"
    )]
    NegativeLength {
        /// `Subscription` or `Assignment`.
        message: &'static str,
        /// The field.
        field: &'static str,
        /// The length.
        length: i32,
    },
    /// A string that is none.
    #[error(
        "a {message} has a {field} that is not UTF-8; the client that wrote it does not follow the consumer protocol"
    )]
    NotUtf8 {
        /// `Subscription` or `Assignment`.
        message: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A version that does not exist; newer ones than are known can be read, but not written.
    #[error("there is no version {version} of a {message}")]
    UnsupportedVersion {
        /// `Subscription` or `Assignment`.
        message: &'static str,
        /// The version.
        version: i16,
    },
    /// What does not fit into the format.
    #[error(
        "a {message} cannot be written: {reason}; topic names have at most 249 characters, rack ids at most 32767 bytes"
    )]
    Unwritable {
        /// `Subscription` or `Assignment`.
        message: &'static str,
        /// What the encoder says.
        reason: String,
    },
}
