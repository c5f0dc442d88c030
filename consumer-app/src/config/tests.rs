//! Tests of the configuration. What Java makes of the same input is in `tests/java`, written by the program there.

mod bootstrap;
mod document;
mod documentation;
mod java;
mod keys;
mod rules;
mod secrets;
mod sources;

use super::{ConfigError, ConfigErrors, ConsumerConfig};

/// A configuration with one key given.
fn with(key: &str, value: &str) -> Result<ConsumerConfig, ConfigError> {
    let mut config = ConsumerConfig::default();
    config.set(key, value).map(|()| config)
}

/// The value of a key as text; `None` when it is not given.
fn given(config: &ConsumerConfig, key: &str) -> Option<String> {
    config
        .given_values()
        .find(|(known, _)| known.name() == key)
        .map(|(_, value)| value)
}

/// The errors of a configuration that must have some.
fn errors_of<T>(result: Result<T, ConfigErrors>) -> Vec<ConfigError> {
    match result {
        Ok(_) => panic!("the configuration was accepted"),
        Err(errors) => errors.into_iter().collect(),
    }
}
