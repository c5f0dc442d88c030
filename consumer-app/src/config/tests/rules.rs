//! What does not concern one key alone. Where the Java client has the rule, it is as its version 4.4.0 was seen to
//! apply it.

use super::errors_of;
use crate::config::feature::Feature;
use crate::config::{ConfigError, ConfigWarning, ConsumerConfig};

type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A configuration that is valid but for what is given.
fn config(pairs: Pairs) -> ConsumerConfig {
    let servers = [("bootstrap.servers", "localhost:9092")];
    ConsumerConfig::from_pairs(servers.iter().chain(pairs).copied()).unwrap()
}

/// The keys of the conflicts that a configuration has.
fn conflicts(pairs: Pairs) -> Vec<(&'static str, &'static str)> {
    let errors = config(pairs).validate().err().into_iter().flatten();
    errors
        .filter_map(|error| match error {
            ConfigError::Conflict { key, other, .. } => Some((key, other)),
            _ => None,
        })
        .collect()
}

#[test]
fn without_brokers_nothing_works() {
    let errors = errors_of(ConsumerConfig::default().validate());
    assert!(matches!(
        errors[..],
        [ConfigError::Missing {
            key: "bootstrap.servers",
            ..
        }]
    ));
    assert_eq!(config(&[]).validate().unwrap(), []);
}

#[test]
fn automatic_commits_asked_for_need_a_group() {
    assert_eq!(
        conflicts(&[("enable.auto.commit", "true")]),
        [("enable.auto.commit", "group.id")]
    );
    assert_eq!(conflicts(&[("enable.auto.commit", "false")]), []);
    assert_eq!(
        conflicts(&[("enable.auto.commit", "true"), ("group.id", "g")]),
        []
    );
    assert!(!config(&[]).enable_auto_commit());
    assert!(config(&[("group.id", "g")]).enable_auto_commit());
    assert!(!config(&[("group.id", "g"), ("enable.auto.commit", "false")]).enable_auto_commit());
}

#[test]
fn each_group_protocol_has_keys_that_the_other_must_not_be_given() {
    let (consumer, classic) = (
        ("group.protocol", "consumer"),
        ("group.protocol", "classic"),
    );
    // the defaults too, as in Java: who writes them expects them to matter
    for given in [
        ("session.timeout.ms", "45000"),
        ("heartbeat.interval.ms", "3000"),
        ("partition.assignment.strategy", "range"),
    ] {
        assert_eq!(conflicts(&[consumer, given]), [(given.0, "group.protocol")]);
        assert_eq!(conflicts(&[classic, given]), []);
        assert_eq!(conflicts(&[given]), []);
    }
    let remote = ("group.remote.assignor", "uniform");
    assert_eq!(conflicts(&[remote]), [(remote.0, "group.protocol")]);
    assert_eq!(conflicts(&[consumer, remote]), []);
}

#[test]
fn the_heartbeat_of_a_classic_member_is_shorter_than_its_session() {
    let group = ("group.id", "g");
    let pair = [("heartbeat.interval.ms", "session.timeout.ms")];
    assert_eq!(
        conflicts(&[group, ("heartbeat.interval.ms", "45000")]),
        pair
    );
    assert_eq!(conflicts(&[group, ("heartbeat.interval.ms", "44999")]), []);
    assert_eq!(conflicts(&[group, ("session.timeout.ms", "3000")]), pair);
    assert_eq!(
        conflicts(&[("heartbeat.interval.ms", "45000")]),
        [],
        "no group, no heartbeat"
    );
    assert_eq!(conflicts(&[group, ("group.protocol", "consumer")]), []);
}

#[test]
fn what_is_not_there_yet_is_refused_by_name() {
    let cases: [(Pairs, &[(&str, Feature)]); 6] = [
        (&[("group.id", "g")], &[("group.id", Feature::Groups)]),
        (
            &[("security.protocol", "SSL")],
            &[("security.protocol", Feature::Tls)],
        ),
        (
            &[("security.protocol", "SASL_PLAINTEXT")],
            &[("security.protocol", Feature::Sasl)],
        ),
        (
            &[("security.protocol", "SASL_SSL")],
            &[
                ("security.protocol", Feature::Tls),
                ("security.protocol", Feature::Sasl),
            ],
        ),
        (
            &[("ssl.truststore.location", "ca.pem")],
            &[("ssl.truststore.location", Feature::Tls)],
        ),
        (
            &[("ssl.key.password", "x"), ("sasl.jaas.config", "y")],
            &[
                ("ssl.key.password", Feature::Tls),
                ("sasl.jaas.config", Feature::Sasl),
            ],
        ),
    ];
    for (pairs, asked) in cases {
        let missing = asked.iter().filter(|(_, feature)| !feature.is_built());
        let expected: Vec<_> = missing
            .map(|(key, feature)| (*key, feature.describe()))
            .collect();
        let errors = config(pairs).validate().err().into_iter().flatten();
        let refused: Vec<_> = errors
            .map(|error| match error {
                ConfigError::NotYetSupported { key, what, .. } => (key, what),
                other => panic!("{pairs:?}: {other}"),
            })
            .collect();
        assert_eq!(refused, expected, "{pairs:?}");
    }
}

#[test]
fn what_is_the_default_or_has_no_effect_without_a_group_asks_for_nothing() {
    let defaults = [
        ("security.protocol", "PLAINTEXT"),
        ("sasl.mechanism", "GSSAPI"),
        ("ssl.protocol", "TLSv1.3"),
    ];
    assert_eq!(config(&defaults).validate().unwrap(), []);
    let group = [
        ("session.timeout.ms", "10000"),
        ("group.instance.id", "i"),
        ("max.poll.interval.ms", "1"),
    ];
    assert_eq!(config(&group).validate().unwrap(), []);
}

#[test]
fn several_rules_report_together() {
    let pairs = [
        ("enable.auto.commit", "true"),
        ("group.remote.assignor", "uniform"),
    ];
    let errors = errors_of(ConsumerConfig::from_pairs(pairs).unwrap().validate());
    assert_eq!(errors.len(), 3, "{errors:?}");
}

#[test]
fn a_pause_above_its_maximum_is_a_warning() {
    let warnings = |pairs: Pairs| config(pairs).validate().unwrap();
    for (key, value, maximum) in [
        ("retry.backoff.ms", "1001", "retry.backoff.max.ms"),
        ("reconnect.backoff.ms", "1001", "reconnect.backoff.max.ms"),
        (
            "socket.connection.setup.timeout.ms",
            "30001",
            "socket.connection.setup.timeout.max.ms",
        ),
    ] {
        assert_eq!(
            warnings(&[(key, value)]),
            [ConfigWarning::AboveMaximum { key, maximum }]
        );
    }
    assert_eq!(warnings(&[("retry.backoff.ms", "1000")]), []);
}

#[test]
fn limits_that_contradict_each_other_stop_nothing() {
    // KIP-74: a batch larger than a limit is sent all the same; a broker waits for no more than the limit
    let pairs = [
        ("fetch.max.bytes", "0"),
        ("max.partition.fetch.bytes", "0"),
        ("fetch.min.bytes", "100"),
    ];
    assert_eq!(config(&pairs).validate().unwrap(), []);
}
