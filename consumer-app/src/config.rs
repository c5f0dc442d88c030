//! The configuration: every key of the Java consumer, by its own name.
//!
//! Each key is declared once, in the module of its subject (`client`, `fetch`, `group`, `tls`, `sasl`), and keys that
//! can have no effect are in `refused`. From these come the getters of [`ConsumerConfig`], the checks, and
//! `docs/configuration.md`. What does not concern one key alone is in `rules`.

mod bootstrap;
mod choice;
mod client;
mod document;
mod environment;
mod error;
mod feature;
mod fetch;
mod group;
mod key;
mod kind;
mod offset_reset;
mod properties;
mod refused;
mod rules;
mod sasl;
mod secret;
mod section;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::BTreeSet;
use std::fmt;

pub use bootstrap::{BootstrapServers, HostPort, IgnoredServer};
pub use choice::{
    Assignor, EndpointIdentification, GroupProtocol, MetadataRecoveryStrategy, SaslMechanism,
    SecurityProtocol, StoreType, TlsVersion,
};
pub use error::{ConfigError, ConfigErrors, ConfigWarning};
pub use key::{ConfigKey, KeyStatus};
pub use offset_reset::OffsetReset;
pub use secret::Secret;
pub use session_actor::wire::fetch::IsolationLevel;

use key::{Field, Slot};

/// The configuration of a consumer, typed.
///
/// It begins with the defaults of the Java client and is given values by [`set`](Self::set), from pairs, from the
/// text of a `.properties` file, from `KAFKA_` environment variables, or by serde from a TOML or JSON table (flat
/// dotted keys or nested tables; strings, numbers, booleans and lists). A value is checked against its key at once;
/// what concerns several keys is checked by [`validate`](Self::validate), so the order of the keys does not matter.
/// Sources are layered with [`overridden_by`](Self::overridden_by).
///
/// `Debug` and serde show the keys that were given and only those, and no password or key material at all: a
/// configuration written and read back lacks its secrets.
///
/// ```
/// use consumer_app::config::ConsumerConfig;
///
/// let config = ConsumerConfig::from_properties("bootstrap.servers=localhost:9092\nfetch.min.bytes=1024")?;
/// assert_eq!(config.fetch_min_bytes(), 1024);
/// assert_eq!(config.max_poll_records(), 500);
/// assert!(config.validate()?.is_empty());
/// # Ok::<(), consumer_app::config::ConfigErrors>(())
/// ```
#[derive(Clone, PartialEq, Default)]
pub struct ConsumerConfig {
    client: client::Client,
    fetch: fetch::Fetch,
    group: group::Group,
    tls: tls::Tls,
    sasl: sasl::Sasl,
    /// The keys that were given, whatever their values: some must not be given at all beside others.
    given: BTreeSet<&'static str>,
}

impl ConsumerConfig {
    /// Gives a key its value. Blanks around the value are no part of it, as in Java. A key that is set twice has the
    /// later value.
    ///
    /// # Errors
    /// The key is unknown, its value is not allowed, or neither can have an effect here. The configuration is
    /// unchanged then.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let found = key::find(key)?;
        let text = value.trim_matches(|character| character <= ' ');
        match &found.slot {
            Slot::Field(Field { set, .. }) => {
                set(self, text).map_err(|detail| ConfigError::invalid(found, text, detail))?;
                self.given.insert(found.name);
                Ok(())
            }
            Slot::Nowhere { accepted, .. }
                if accepted
                    .iter()
                    .any(|value| value.eq_ignore_ascii_case(text)) =>
            {
                Ok(())
            }
            Slot::Nowhere {
                accepted, status, ..
            } => Err(match *status {
                KeyStatus::NotYet(what) => ConfigError::NotYetSupported {
                    key: found.name,
                    what,
                    accepted,
                },
                KeyStatus::Refused(reason) => ConfigError::NotSupported {
                    key: found.name.to_owned(),
                    reason,
                    accepted,
                },
                KeyStatus::Supported => return Ok(()),
            }),
        }
    }

    /// A configuration of pairs of a key and its value.
    ///
    /// # Errors
    /// What is wrong with each of them.
    pub fn from_pairs<K: AsRef<str>, V: AsRef<str>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ConfigErrors> {
        let mut config = Self::default();
        let mut errors = ConfigErrors::new();
        for (key, value) in pairs {
            errors.extend(config.set(key.as_ref(), value.as_ref()).err());
        }
        errors.into_result(config)
    }

    /// This configuration with what was given to `later` in place of its own.
    #[must_use]
    pub fn overridden_by(mut self, later: &Self) -> Self {
        for key in key::all().filter(|key| later.given.contains(key.name)) {
            if let Slot::Field(Field { copy, .. }) = &key.slot {
                copy(later, &mut self);
                self.given.insert(key.name);
            }
        }
        self
    }

    /// Checks what does not concern one key alone: what must be given, what excludes each other, and what is asked
    /// for and not there. The result is what is valid and still worth a line in a log.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn validate(&self) -> Result<Vec<ConfigWarning>, ConfigErrors> {
        rules::check(self)
    }

    /// All keys that are known, by subject.
    pub fn keys() -> impl Iterator<Item = &'static ConfigKey> {
        key::all()
    }

    fn is_given(&self, key: &str) -> bool {
        self.given.contains(key)
    }

    /// What was given, as texts that read back as the same; secrets hidden.
    fn given_values(&self) -> impl Iterator<Item = (&'static ConfigKey, String)> {
        key::all()
            .filter(|key| self.is_given(key.name))
            .filter_map(|key| match &key.slot {
                Slot::Field(field) => (field.write)(self).map(|value| (key, value)),
                Slot::Nowhere { .. } => None,
            })
    }
}

/// The keys that were given and their values, secrets hidden.
impl fmt::Debug for ConsumerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.given_values().map(|(key, value)| (key.name, value)))
            .finish()
    }
}
