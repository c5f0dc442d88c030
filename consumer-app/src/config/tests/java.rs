//! The same input given to the Java client, version 4.4.0, and to the JDK. `java/ConfigOracle.java` wrote the files.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::with;
use crate::config::key::{Slot, find};
use crate::config::offset_reset::parse_duration;
use crate::config::properties::entries;
use crate::config::{ConfigError, ConsumerConfig};

const KEYS: &str = include_str!("java/keys.tsv");
const PROPERTIES: &str = include_str!("java/properties.jsonl");
const DURATIONS: &str = include_str!("java/durations.tsv");

struct JavaKey {
    name: &'static str,
    type_name: String,
    default: &'static str,
    takes: Vec<bool>,
}

fn java_keys() -> impl Iterator<Item = JavaKey> {
    KEYS.lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let [name, type_name, default, _validator, marks] =
                line.split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("{line}");
            };
            JavaKey {
                name,
                type_name: type_name.to_lowercase(),
                default,
                takes: marks.chars().map(|mark| mark == 'y').collect(),
            }
        })
}

fn java_values() -> Vec<String> {
    let line = KEYS
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# values\t"))
        .unwrap();
    serde_json::from_str(line).unwrap()
}

#[test]
fn every_key_of_the_java_consumer_is_known_and_the_others_are_ours() {
    let java: BTreeSet<_> = java_keys().map(|key| key.name).collect();
    let ours: BTreeSet<_> = ConsumerConfig::keys().map(|key| key.name()).collect();
    assert_eq!(
        java.difference(&ours).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
    let added: Vec<_> = ours.difference(&java).copied().collect();
    assert_eq!(
        added,
        [
            "buffer.memory",
            "io.threads",
            "max.decompressed.batch.bytes"
        ]
    );
    assert_eq!(java.len(), 120);
}

#[test]
fn types_and_defaults_are_those_of_java() {
    // default here, and why it differs
    let different = BTreeMap::from([
        ("receive.buffer.bytes", "-1"),   // 64 KiB throttle a distant broker
        ("enable.metrics.push", "false"), // not there yet
        ("metadata.cluster.check.enable", "false"), // not there yet
        ("metric.reporters", ""),         // there is no JMX
        (
            "key.deserializer",
            "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        ),
        (
            "value.deserializer",
            "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        ),
        ("partition.assignment.strategy", "range,cooperative-sticky"), // the same two, by name
    ]);
    for java in java_keys() {
        let key = find(java.name).unwrap();
        assert_eq!(key.type_name(), java.type_name, "{}", java.name);
        let is_share = java.name.starts_with("share.");
        let default = key.default_value().unwrap_or_default();
        match different.get(java.name) {
            Some(ours) => assert_eq!(
                (default.as_str(), default == java.default),
                (*ours, false),
                "{}",
                java.name
            ),
            None if is_share => assert_eq!(default, ""),
            None => assert_eq!(
                default,
                java.default.replace("null", "").replace("<required>", ""),
                "{}",
                java.name
            ),
        }
    }
}

#[test]
fn values_are_taken_or_refused_as_java_does() {
    // keys that Java leaves open and that must be one of a few things here
    let stricter = BTreeMap::from([
        (
            "bootstrap.servers",
            "Java splits the list here and looks at its items later, as strictly",
        ),
        ("group.id", "Java refuses an empty one later"),
        ("group.instance.id", "Java checks the letters later"),
        ("group.remote.assignor", "an empty one asks for nothing"),
        (
            "partition.assignment.strategy",
            "Java looks for the class later",
        ),
        (
            "heartbeat.interval.ms",
            "Java refuses negative ones later, and 0 would be a busy loop",
        ),
        (
            "session.timeout.ms",
            "Java refuses it later, by comparison with the heartbeat",
        ),
        (
            "socket.connection.setup.timeout.ms",
            "nothing connects in no time",
        ),
        (
            "socket.connection.setup.timeout.max.ms",
            "nothing connects in no time",
        ),
        ("send.buffer.bytes", "0 fails in Java when it connects"),
        ("receive.buffer.bytes", "0 fails in Java when it connects"),
        ("sasl.mechanism", "one of those that there are"),
        ("sasl.login.connect.timeout.ms", "a negative time is none"),
        ("sasl.login.read.timeout.ms", "a negative time is none"),
        ("sasl.login.retry.backoff.ms", "a negative time is none"),
        ("sasl.login.retry.backoff.max.ms", "a negative time is none"),
        ("ssl.protocol", "one of those that there are"),
        ("ssl.enabled.protocols", "one of those that there are"),
        (
            "ssl.endpoint.identification.algorithm",
            "one of those that there are",
        ),
        ("ssl.keystore.type", "one of those that there are"),
        ("ssl.truststore.type", "one of those that there are"),
    ]);
    let mut compared = 0;
    let mut seen_stricter = BTreeSet::new();
    let values = java_values();
    for java in java_keys().filter(|java| matches!(find(java.name).unwrap().slot, Slot::Field(_))) {
        for (value, java_takes) in values.iter().zip(&java.takes) {
            let takes = with(java.name, value).is_ok();
            compared += 1;
            if takes == *java_takes {
                continue;
            }
            assert!(
                *java_takes,
                "{}={value} is taken, not so by Java",
                java.name
            );
            assert!(
                stricter.contains_key(java.name),
                "{}={value} is refused, not so by Java",
                java.name
            );
            seen_stricter.insert(java.name);
        }
    }
    assert_eq!(
        seen_stricter.into_iter().collect::<Vec<_>>(),
        stricter.keys().copied().collect::<Vec<_>>()
    );
    assert_eq!(compared, 69 * 42);
}

#[derive(serde::Deserialize)]
struct JavaProperties {
    text: String,
    /// null where Java throws, and where its text is none elsewhere: half a surrogate pair.
    pairs: Option<Vec<(String, String)>>,
}

#[test]
fn properties_are_read_as_java_does() {
    for line in PROPERTIES.lines() {
        let java: JavaProperties = serde_json::from_str(line).unwrap();
        let read: Result<BTreeMap<_, _>, _> = entries(&java.text).collect();
        match java.pairs {
            None => assert!(
                matches!(read, Err(ConfigError::Syntax { line: 1, .. })),
                "{line}: {read:?}"
            ),
            Some(pairs) => assert_eq!(
                read.unwrap().into_iter().collect::<Vec<_>>(),
                pairs,
                "{line}"
            ),
        }
    }
}

#[test]
fn durations_are_read_as_java_does() {
    for line in DURATIONS.lines() {
        let (text, java) = line.split_once('\t').unwrap();
        let text: String = serde_json::from_str(text).unwrap();
        let java = java.split_once('.').map(|(seconds, nanos)| {
            Duration::new(seconds.parse().unwrap(), nanos.parse().unwrap())
        });
        assert_eq!(parse_duration(&text), java, "{line}");
    }
}
