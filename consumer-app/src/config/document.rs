//! serde: a configuration as a table of TOML, JSON or the like, with flat dotted keys, nested tables, or both.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::ConsumerConfig;
use super::error::excerpt;

/// Writes what was given, each value as a string under its dotted key. Secrets are left out.
impl Serialize for ConsumerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = self.given_values().filter(|(key, _)| !key.is_secret());
        serializer.collect_map(shown.map(|(key, value)| (key.name, value)))
    }
}

/// Reads a table. Its values are strings, numbers, booleans, and lists of these; null means not given. The error
/// tells all that is wrong with the keys and values.
impl<'de> Deserialize<'de> for ConsumerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Vec::new();
        deserializer.deserialize_map(Level {
            path: "",
            depth: 0,
            pairs: &mut pairs,
        })?;
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = pairs.iter().find(|(key, _)| !seen.insert(key)) {
            return Err(D::Error::custom(format!(
                "{} is given twice",
                excerpt(twice)
            )));
        }
        Self::from_pairs(pairs).map_err(D::Error::custom)
    }
}

/// No key has more parts; deeper tables are refused before they fill the stack.
const DEEPEST: usize = 16;

/// A table or value at a path of the document; what it holds is added to the pairs.
struct Level<'a> {
    path: &'a str,
    depth: usize,
    pairs: &'a mut Vec<(String, String)>,
}

impl Level<'_> {
    fn check_depth<E: Error>(&self) -> Result<(), E> {
        if self.depth < DEEPEST {
            Ok(())
        } else {
            Err(E::custom(format!(
                "{} is nested too deeply",
                excerpt(self.path)
            )))
        }
    }

    fn scalar<E: Error>(self, value: impl Into<String>) -> Result<(), E> {
        self.pairs.push((self.path.to_owned(), value.into()));
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str("a table of configuration keys")
        } else {
            write!(
                f,
                "a string, a number, a boolean, a list of these or a table for {}",
                excerpt(self.path)
            )
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<(), A::Error> {
        self.check_depth()?;
        while let Some(name) = table.next_key::<String>()? {
            let path = if self.path.is_empty() {
                name
            } else {
                format!("{}.{name}", self.path)
            };
            table.next_value_seed(Level {
                path: &path,
                depth: self.depth + 1,
                pairs: self.pairs,
            })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.check_depth()?;
        let mut items = Vec::new();
        while let Some(Scalar(item)) = list.next_element()? {
            items.push(item);
        }
        self.scalar(items.join(","))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar(value)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(value.to_string())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}

/// An item of a list.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Vec::new();
        // one level below the deepest, so that neither a table nor a list fits
        Level {
            path: "an item of a list",
            depth: DEEPEST,
            pairs: &mut pairs,
        }
        .deserialize(deserializer)?;
        match pairs.pop() {
            Some((_, item)) => Ok(Self(item)),
            None => Err(D::Error::custom("null has no place in a list")),
        }
    }
}
