//! Tables of TOML and JSON.

use super::given;
use crate::config::{ConsumerConfig, KeyStatus};

const FLAT: &str = r#"
"bootstrap.servers" = "a:9092,b:9092"
"fetch.min.bytes" = 1024
"check.crcs" = false
"sasl.login.refresh.window.factor" = 0.75
"auto.offset.reset" = "earliest"
"retry.backoff.ms" = "200"
"retry.backoff.max.ms" = "2000"
"#;

const NESTED: &str = r#"
bootstrap.servers = ["a:9092", "b:9092"]
check.crcs = false
sasl.login.refresh.window.factor = 0.75
auto."offset.reset" = "earliest"
"retry.backoff.max.ms" = 2000

[fetch]
min.bytes = 1024

[retry.backoff]
ms = "200"
"#;

fn expected() -> ConsumerConfig {
    ConsumerConfig::from_pairs([
        ("bootstrap.servers", "a:9092,b:9092"),
        ("fetch.min.bytes", "1024"),
        ("check.crcs", "false"),
        ("sasl.login.refresh.window.factor", "0.75"),
        ("auto.offset.reset", "earliest"),
        ("retry.backoff.ms", "200"),
        ("retry.backoff.max.ms", "2000"),
    ])
    .unwrap()
}

#[test]
fn flat_keys_and_nested_tables_are_the_same() {
    assert_eq!(toml::from_str::<ConsumerConfig>(FLAT).unwrap(), expected());
    assert_eq!(
        toml::from_str::<ConsumerConfig>(NESTED).unwrap(),
        expected()
    );
    let json = r#"{"bootstrap.servers": ["a:9092", "b:9092"], "fetch": {"min.bytes": 1024, "max.bytes": null}, "check": {"crcs": false},
        "sasl.login.refresh": {"window": {"factor": 0.75}}, "auto.offset.reset": "earliest", "retry": {"backoff": {"ms": 200, "max": {"ms": "2000"}}}}"#;
    assert_eq!(
        serde_json::from_str::<ConsumerConfig>(json).unwrap(),
        expected()
    );
}

#[test]
fn a_configuration_in_a_table_of_an_application_is_read() {
    #[derive(serde::Deserialize)]
    struct Application {
        kafka: ConsumerConfig,
    }
    let application: Application =
        toml::from_str("[kafka]\nbootstrap.servers = 'a:9092'\nfetch.min.bytes = 7").unwrap();
    assert_eq!(application.kafka.fetch_min_bytes(), 7);
}

#[test]
fn every_key_survives_toml_and_json() {
    let pairs: Vec<_> = ConsumerConfig::keys()
        .filter(|key| !key.is_secret() && !matches!(key.status(), KeyStatus::Refused(_)))
        .filter_map(|key| Some((key.name(), key.default_value()?)))
        .chain([
            ("bootstrap.servers", "SSL://[::1]:9093,b:1".to_owned()),
            ("group.id", "ü \"x\"".to_owned()),
        ])
        .collect();
    let config =
        ConsumerConfig::from_pairs(pairs.iter().map(|(key, value)| (*key, value))).unwrap();
    let text = toml::to_string(&config).unwrap();
    assert_eq!(
        toml::from_str::<ConsumerConfig>(&text).unwrap(),
        config,
        "{text}"
    );
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<ConsumerConfig>(&text).unwrap(),
        config,
        "{text}"
    );
    assert!(given(&config, "fetch.min.bytes").is_some() && given(&config, "group.id").is_some());
}

#[test]
fn only_what_was_given_is_written() {
    let config =
        ConsumerConfig::from_pairs([("fetch.min.bytes", " +7 "), ("ssl.key.password", "x")])
            .unwrap();
    assert_eq!(
        serde_json::to_string(&config).unwrap(),
        r#"{"fetch.min.bytes":"7"}"#
    );
    assert_eq!(
        serde_json::to_string(&ConsumerConfig::default()).unwrap(),
        "{}"
    );
}

#[test]
fn the_error_tells_all_that_is_wrong() {
    let error = |json: &str| {
        serde_json::from_str::<ConsumerConfig>(json)
            .unwrap_err()
            .to_string()
    };
    let message = error(
        r#"{"fetch": {"min": {"bytes": -1}}, "max.poll.records": 1.5, "acks": 1, "check.crcs": []}"#,
    );
    for part in [
        "fetch.min.bytes=\"-1\"",
        "max.poll.records=\"1.5\"",
        "acks: unknown key",
        "check.crcs=\"\"",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let twice = error(r#"{"fetch.min.bytes": 1, "fetch": {"min": {"bytes": 2}}}"#);
    assert!(twice.contains("fetch.min.bytes is given twice"), "{twice}");
    assert!(error(r#"{"fetch.min.bytes": 1, "fetch.min.bytes": 2}"#).contains("given twice"));
    assert!(error(r#"{"bootstrap.servers": [null]}"#).contains("no place in a list"));
    assert!(error(r#"{"bootstrap.servers": [["a:1"]]}"#).contains("nested too deeply"));
    assert!(error(r#"{"bootstrap.servers": [{"a": 1}]}"#).contains("nested too deeply"));
    assert!(error("[1]").contains("a table of configuration keys"));
    assert!(error("7").contains("a table of configuration keys"));
    assert!(error("null").contains("a table of configuration keys"));
}

#[test]
fn a_deep_document_is_refused() {
    let nested = |depth: usize| "{\"a\":".repeat(depth) + "1" + &"}".repeat(depth);
    let error = serde_json::from_str::<ConsumerConfig>(&nested(17)).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
    let dotted = format!("{} = 1", vec!["a"; 100_000].join("."));
    toml::from_str::<ConsumerConfig>(&dotted).unwrap_err();
}
