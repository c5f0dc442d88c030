//! The description of a key, and the search for one by its name.

use super::error::{ConfigError, excerpt};
use super::feature::Feature;
use super::kind::{Kind, Refusal};
use super::{ConsumerConfig, client, fetch, group, refused, sasl, tls};

/// What a key of the configuration is: [`ConsumerConfig::keys`] has all of them.
pub struct ConfigKey {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) slot: Slot,
}

/// Where a key's value goes.
pub(super) enum Slot {
    /// Into a field of the configuration.
    Field(Field),
    /// Nowhere: the key is known, and can have no effect.
    Nowhere {
        type_name: &'static str,
        accepted: &'static [&'static str],
        status: KeyStatus,
    },
}

/// How a field is read and written.
pub(super) struct Field {
    pub(super) nature: fn() -> Nature,
    pub(super) set: fn(&mut ConsumerConfig, &str) -> Result<(), Refusal>,
    pub(super) write: fn(&ConsumerConfig) -> Option<String>,
    pub(super) copy: fn(&ConsumerConfig, &mut ConsumerConfig),
    pub(super) feature: Option<Feature>,
}

/// What a kind says of itself.
pub(super) struct Nature {
    type_name: &'static str,
    allowed: String,
}

impl Nature {
    pub(super) fn of(kind: &impl Kind) -> Self {
        Self {
            type_name: kind.type_name(),
            allowed: kind.allowed(),
        }
    }
}

/// Whether a key has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStatus {
    /// It has.
    Supported,
    /// It will have one together with what is named here.
    NotYet(&'static str),
    /// It cannot have one, for the reason given here.
    Refused(&'static str),
}

impl ConfigKey {
    /// Its name, as in the Java client.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What it is for, in a sentence or a few.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        self.meaning.trim_ascii_start()
    }

    /// Its type, named as in the documentation of the Java client.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match &self.slot {
            Slot::Field(field) => (field.nature)().type_name,
            Slot::Nowhere { type_name, .. } => type_name,
        }
    }

    /// What holds when it is not given; `None` when that is nothing.
    #[must_use]
    pub fn default_value(&self) -> Option<String> {
        match &self.slot {
            Slot::Field(field) => (field.write)(&ConsumerConfig::default()),
            Slot::Nowhere { accepted, .. } => accepted.first().map(|first| (*first).to_owned()),
        }
    }

    /// What is allowed, in words; empty when all values of the type are.
    #[must_use]
    pub fn allowed(&self) -> String {
        match &self.slot {
            Slot::Field(field) => (field.nature)().allowed,
            Slot::Nowhere { accepted, .. } => {
                let values = accepted
                    .iter()
                    .map(|value| if value.is_empty() { "empty" } else { value });
                values.collect::<Vec<_>>().join(", ")
            }
        }
    }

    /// Whether it has an effect.
    #[must_use]
    pub fn status(&self) -> KeyStatus {
        match &self.slot {
            Slot::Field(Field {
                feature: Some(feature),
                ..
            }) if !feature.is_built() => KeyStatus::NotYet(feature.describe()),
            Slot::Field(_) => KeyStatus::Supported,
            Slot::Nowhere { status, .. } => *status,
        }
    }

    /// Whether its value is shown to nobody.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.type_name() == "password"
    }
}

/// Beginnings of keys that plug-ins and tests of the JVM client define at will, and why those cannot have an effect.
const FAMILIES: [(&str, &str); 2] = [
    (
        "config.providers.",
        "configuration providers are classes of the JVM",
    ),
    ("internal.", "it belongs to the inside of the JVM client"),
];

/// All keys, as they are documented: by subject.
pub(super) fn all() -> impl Iterator<Item = &'static ConfigKey> {
    let sections = [
        client::KEYS,
        fetch::KEYS,
        group::KEYS,
        tls::KEYS,
        sasl::KEYS,
        refused::KEYS,
    ];
    sections.into_iter().flatten()
}

/// Finds a key.
///
/// # Errors
/// That there is none of this name, with the one that looks most like it.
pub(super) fn find(name: &str) -> Result<&'static ConfigKey, ConfigError> {
    if let Some(key) = all().find(|key| key.name == name) {
        return Ok(key);
    }
    let shown = excerpt(name);
    match FAMILIES
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning))
    {
        Some((_, reason)) => Err(ConfigError::NotSupported {
            key: shown,
            reason,
            accepted: &[],
        }),
        None => Err(ConfigError::UnknownKey {
            key: shown,
            did_you_mean: nearest(name),
        }),
    }
}

/// The known key that someone who wrote `name` may have meant: the same but for case or separators, or a few letters
/// away.
pub(super) fn nearest(name: &str) -> Option<&'static str> {
    const LONGEST: usize = 80;
    if name.len() > LONGEST {
        return None;
    }
    let normal = name.trim().to_ascii_lowercase().replace(['_', '-'], ".");
    let few = (normal.len() / 5).clamp(1, 3);
    all()
        .map(|key| (strsim::osa_distance(&normal, key.name), key.name))
        .filter(|(distance, _)| *distance <= few)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
