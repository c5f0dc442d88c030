//! Kinds made of another kind.

use super::{Kind, Refusal};

/// A value that is null in Java unless it is given.
pub(in crate::config) struct Optional<K>(pub(in crate::config) K);

impl<K: Kind> Kind for Optional<K> {
    type Value = Option<K::Value>;

    fn type_name(&self) -> &'static str {
        self.0.type_name()
    }

    fn allowed(&self) -> String {
        self.0.allowed()
    }

    fn parse(&self, text: &str) -> Result<Self::Value, Refusal> {
        self.0.parse(text).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<String> {
        value.as_ref().and_then(|value| self.0.write(value))
    }
}

/// Values with commas between them. None at all is a value too.
pub(in crate::config) struct ListOf<K>(pub(in crate::config) K);

impl<K: Kind> Kind for ListOf<K> {
    type Value = Vec<K::Value>;

    fn type_name(&self) -> &'static str {
        "list"
    }

    fn allowed(&self) -> String {
        match self.0.allowed().as_str() {
            "" => String::new(),
            allowed => format!("any of: {allowed}"),
        }
    }

    fn parse(&self, text: &str) -> Result<Self::Value, Refusal> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        text.split(',')
            .map(|item| self.0.parse(item.trim()))
            .collect()
    }

    fn write(&self, value: &Self::Value) -> Option<String> {
        let items = value.iter().filter_map(|item| self.0.write(item));
        Some(items.collect::<Vec<_>>().join(","))
    }
}
