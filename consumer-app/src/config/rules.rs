//! What does not concern one key alone: what must be given, what excludes each other, what is asked for and not
//! there.

use super::error::{ConfigError, ConfigErrors, ConfigWarning};
use super::feature::Feature;
use super::key::{self, Field, Slot};
use super::{ConsumerConfig, GroupProtocol};

/// Applies all rules.
pub(super) fn check(config: &ConsumerConfig) -> Result<Vec<ConfigWarning>, ConfigErrors> {
    let mut errors = ConfigErrors::new();
    check_servers(config, &mut errors);
    check_commits(config, &mut errors);
    check_group_protocol(config, &mut errors);
    check_features(config, &mut errors);
    errors.into_result(warnings(config))
}

fn check_servers(config: &ConsumerConfig, errors: &mut ConfigErrors) {
    let servers = config.bootstrap_servers();
    if servers.is_empty() {
        errors.push(ConfigError::Missing {
            key: "bootstrap.servers",
            advice: "name one or more brokers as host:port",
        });
    }
    let actual = config.security_protocol();
    if let Some(named) = servers.protocol().filter(|named| *named != actual) {
        errors.push(ConfigError::Conflict {
            key: "bootstrap.servers",
            other: "security.protocol",
            rule: format!(
                "the first says {named}, the second {actual}, and it is the second that decides"
            ),
        });
    }
}

fn check_commits(config: &ConsumerConfig, errors: &mut ConfigErrors) {
    let asked = config.is_given("enable.auto.commit") && config.auto_commit_asked();
    if asked && config.group_id().is_none() {
        errors.push(ConfigError::Conflict {
            key: "enable.auto.commit",
            other: "group.id",
            rule: "there is nothing to commit to without a group".to_owned(),
        });
    }
}

fn check_group_protocol(config: &ConsumerConfig, errors: &mut ConfigErrors) {
    let excluded: &[&'static str] = match config.group_protocol() {
        GroupProtocol::Classic => &["group.remote.assignor"],
        // with KIP-848 these are settings of the coordinator
        GroupProtocol::Consumer => &[
            "partition.assignment.strategy",
            "heartbeat.interval.ms",
            "session.timeout.ms",
        ],
    };
    for key in excluded.iter().filter(|key| config.is_given(key)) {
        let rule = format!(
            "the first must not be given when the second is {}",
            config.group_protocol()
        );
        errors.push(ConfigError::Conflict {
            key,
            other: "group.protocol",
            rule,
        });
    }
    let is_classic_member =
        config.group_id().is_some() && config.group_protocol() == GroupProtocol::Classic;
    if is_classic_member && config.heartbeat_interval() >= config.session_timeout() {
        errors.push(ConfigError::Conflict {
            key: "heartbeat.interval.ms",
            other: "session.timeout.ms",
            rule: "the first must be less than the second, a third of it as a rule".to_owned(),
        });
    }
}

fn check_features(config: &ConsumerConfig, errors: &mut ConfigErrors) {
    let mut ask = |key, feature: Feature, accepted| {
        if !feature.is_built() {
            errors.push(ConfigError::NotYetSupported {
                key,
                what: feature.describe(),
                accepted,
            });
        }
    };
    if config.group_id().is_some() {
        ask("group.id", Feature::Groups, &[] as &[_]);
    }
    for feature in config.security_protocol().features() {
        ask("security.protocol", feature, &["PLAINTEXT"]);
    }
    // who gives a certificate or a password expects it to be used, even where security.protocol was forgotten
    let defaults = ConsumerConfig::default();
    for key in key::all().filter(|key| config.is_given(key.name)) {
        let Slot::Field(Field {
            feature: Some(feature @ (Feature::Tls | Feature::Sasl)),
            write,
            ..
        }) = &key.slot
        else {
            continue;
        };
        if write(config) != write(&defaults) {
            ask(key.name, *feature, &[]);
        }
    }
}

fn warnings(config: &ConsumerConfig) -> Vec<ConfigWarning> {
    let ignored = config
        .bootstrap_servers()
        .ignored()
        .iter()
        .cloned()
        .map(ConfigWarning::IgnoredServer);
    let pauses = [
        (
            "retry.backoff.ms",
            config.retry_backoff(),
            "retry.backoff.max.ms",
            config.retry_backoff_max(),
        ),
        (
            "reconnect.backoff.ms",
            config.reconnect_backoff(),
            "reconnect.backoff.max.ms",
            config.reconnect_backoff_max(),
        ),
        (
            "socket.connection.setup.timeout.ms",
            config.socket_connection_setup_timeout(),
            "socket.connection.setup.timeout.max.ms",
            config.socket_connection_setup_timeout_max(),
        ),
    ];
    let above = pauses
        .into_iter()
        .filter(|(_, first, _, longest)| first > longest)
        .map(|(key, _, maximum, _)| ConfigWarning::AboveMaximum { key, maximum });
    ignored.chain(above).collect()
}
