//! What a test or an embedded producer writes: records, and batches of exactly the shape it needs.

mod batch_builder;
mod compress;

pub use batch_builder::BatchBuilder;

use bytes::Bytes;

/// A record to be produced.
///
/// Whatever turns into bytes is a value; a pair is a key and a value.
///
/// ```
/// use test_broker::ProducerRecord;
///
/// let plain: ProducerRecord = "value".into();
/// let keyed: ProducerRecord = ("key", "value").into();
/// let full = ProducerRecord::new("value")
///     .key("key")
///     .timestamp(1_700_000_000_000)
///     .header("trace", "42")
///     .header("trace", "43"); // names may repeat
/// let tombstone = ProducerRecord::tombstone("key");
/// # let _ = (plain, keyed, full, tombstone);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProducerRecord {
    pub(crate) key: Option<Bytes>,
    pub(crate) value: Option<Bytes>,
    pub(crate) headers: Vec<(Bytes, Option<Bytes>)>,
    pub(crate) timestamp: Option<i64>,
}

impl ProducerRecord {
    /// A record with this value, without key, headers and timestamp.
    pub fn new(value: impl IntoBytes) -> Self {
        Self {
            value: Some(value.into_bytes()),
            ..Self::default()
        }
    }

    /// A record with a null value, which deletes its key when a topic is compacted.
    pub fn tombstone(key: impl IntoBytes) -> Self {
        Self {
            key: Some(key.into_bytes()),
            ..Self::default()
        }
    }

    /// Sets the key; null by default.
    pub fn key(mut self, key: impl IntoBytes) -> Self {
        self.key = Some(key.into_bytes());
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl IntoBytes, value: impl IntoBytes) -> Self {
        self.headers
            .push((name.into_bytes(), Some(value.into_bytes())));
        self
    }

    /// Adds a header whose value is null.
    pub fn null_header(mut self, name: impl IntoBytes) -> Self {
        self.headers.push((name.into_bytes(), None));
        self
    }

    /// Sets the time in ms since the epoch; that of the batch, or of the broker's clock, by default.
    pub fn timestamp(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }
}

/// What can be a key, a value, or the name or value of a header.
pub trait IntoBytes {
    /// The bytes.
    fn into_bytes(self) -> Bytes;
}

impl IntoBytes for Bytes {
    fn into_bytes(self) -> Bytes {
        self
    }
}

impl IntoBytes for Vec<u8> {
    fn into_bytes(self) -> Bytes {
        Bytes::from(self)
    }
}

impl IntoBytes for String {
    fn into_bytes(self) -> Bytes {
        Bytes::from(self)
    }
}

impl IntoBytes for &str {
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self.as_bytes())
    }
}

impl IntoBytes for &[u8] {
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

impl<const N: usize> IntoBytes for &[u8; N] {
    fn into_bytes(self) -> Bytes {
        Bytes::copy_from_slice(self)
    }
}

impl<V: IntoBytes> From<V> for ProducerRecord {
    fn from(value: V) -> Self {
        Self::new(value)
    }
}

impl<K: IntoBytes, V: IntoBytes> From<(K, V)> for ProducerRecord {
    fn from((key, value): (K, V)) -> Self {
        Self::new(value).key(key)
    }
}
