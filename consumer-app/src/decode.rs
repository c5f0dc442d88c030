//! Keys and values as the application wants them, decoded where they are used: a record that cannot be decoded holds up nothing.

use std::error::Error as StdError;
use std::fmt;

use record_batch::TopicPartition;

use crate::records::Record;

/// The part of a record that could not be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// Its key.
    Key,
    /// Its value.
    Value,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Value => "value",
        })
    }
}

/// A key or value is not what it was taken for. The record was given all the same, and the position is behind it: its bytes are
/// still in [`Record::key`] and [`Record::value`], for a dead-letter topic or the like. (Java's deserializers run within `poll`,
/// which throws `RecordDeserializationException` until the application seeks.)
#[derive(Debug, thiserror::Error)]
#[error("{partition} at offset {offset}: its {field} cannot be decoded: {source}")]
pub struct NotDecodable {
    /// The record's partition.
    pub partition: TopicPartition,
    /// The record's offset.
    pub offset: i64,
    /// Which part of it.
    pub field: Field,
    /// What is wrong with it.
    pub source: Box<dyn StdError + Send + Sync>,
}

impl<'a> Record<'a> {
    /// The key as text; `None` is null.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn key_str(&self) -> Result<Option<&'a str>, NotDecodable> {
        self.decode(Field::Key, std::str::from_utf8)
    }

    /// The value as text; `None` is null.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn value_str(&self) -> Result<Option<&'a str>, NotDecodable> {
        self.decode(Field::Value, std::str::from_utf8)
    }

    /// The key as JSON; `None` is null. `T` may borrow from the record.
    ///
    /// # Errors
    /// It is not the JSON of a `T`.
    #[cfg(feature = "json")]
    pub fn key_json<T: serde::Deserialize<'a>>(&self) -> Result<Option<T>, NotDecodable> {
        self.decode(Field::Key, serde_json::from_slice)
    }

    /// The value as JSON; `None` is null. `T` may borrow from the record.
    ///
    /// ```
    /// # use consumer_app::{NotDecodable, Records};
    /// #[derive(serde::Deserialize)]
    /// struct Order<'a> {
    ///     customer: &'a str,
    ///     cents: u64,
    /// }
    ///
    /// fn total(records: &Records) -> Result<u64, NotDecodable> {
    ///     let mut total = 0;
    ///     for record in records {
    ///         if let Some(order) = record.value_json::<Order<'_>>()? {
    ///             println!("{} ordered", order.customer);
    ///             total += order.cents;
    ///         }
    ///     }
    ///     Ok(total)
    /// }
    /// ```
    ///
    /// # Errors
    /// It is not the JSON of a `T`.
    #[cfg(feature = "json")]
    pub fn value_json<T: serde::Deserialize<'a>>(&self) -> Result<Option<T>, NotDecodable> {
        self.decode(Field::Value, serde_json::from_slice)
    }

    /// A key or value, unless it is null, through a decoder of one's own: Avro, Protobuf, an id.
    ///
    /// # Errors
    /// What the decoder says, with the record's place.
    pub fn decode<T, E>(
        &self,
        field: Field,
        decoder: impl FnOnce(&'a [u8]) -> Result<T, E>,
    ) -> Result<Option<T>, NotDecodable>
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        let bytes = match field {
            Field::Key => self.key(),
            Field::Value => self.value(),
        };
        let decoded = bytes.map(decoder).transpose();
        decoded.map_err(|source| NotDecodable {
            partition: self.topic_partition().clone(),
            offset: self.offset(),
            field,
            source: source.into(),
        })
    }
}
