//! Environment variables as a source: `KAFKA_FETCH_MIN_BYTES` for `fetch.min.bytes`.

use std::ffi::OsStr;

use super::error::{ConfigError, ConfigErrors, excerpt};
use super::{ConsumerConfig, key};

impl ConsumerConfig {
    /// A configuration of those variables whose names begin with the prefix, `KAFKA_` as a rule: what follows it is
    /// the key, in capitals and with `_` for `.`. Meant for [`std::env::vars_os`].
    ///
    /// Others use the prefix too (`KAFKA_HOME`, `KAFKA_OPTS`), so a variable that is no key is left alone, unless it
    /// looks like a misspelt one.
    ///
    /// ```
    /// use consumer_app::config::ConsumerConfig;
    ///
    /// let config = ConsumerConfig::from_env("KAFKA_", [("KAFKA_FETCH_MIN_BYTES", "1024"), ("KAFKA_HOME", "/opt/kafka")])?;
    /// assert_eq!(config.fetch_min_bytes(), 1024);
    /// # Ok::<(), consumer_app::config::ConfigErrors>(())
    /// ```
    ///
    /// # Errors
    /// What is wrong with each variable.
    pub fn from_env<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        prefix: &str,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, ConfigErrors> {
        let mut config = Self::default();
        let mut errors = ConfigErrors::new();
        for (name, value) in variables {
            let Some(suffix) = name
                .as_ref()
                .to_str()
                .and_then(|name| name.strip_prefix(prefix))
            else {
                continue;
            };
            let key = suffix.to_ascii_lowercase().replace('_', ".");
            let result = match value.as_ref().to_str() {
                Some(value) => config.set(&key, value),
                None => key::find(&key).and_then(|found| {
                    let detail = "it is not UTF-8".to_owned();
                    Err(ConfigError::invalid(found, "…", Some(detail)))
                }),
            };
            match result {
                Err(ConfigError::UnknownKey {
                    did_you_mean: None, ..
                }) => {}
                Err(ConfigError::UnknownKey { did_you_mean, .. }) => {
                    errors.push(ConfigError::UnknownKey {
                        key: excerpt(&format!("{prefix}{suffix}")),
                        did_you_mean,
                    });
                }
                result => errors.extend(result.err()),
            }
        }
        errors.into_result(config)
    }
}
