//! `.properties` texts and environment variables. What Java makes of the syntax is compared in `java`.

use std::ffi::OsString;

use proptest::prelude::*;

use super::{errors_of, given};
use crate::config::properties::entries;
use crate::config::{ConfigError, ConsumerConfig};

#[test]
fn a_properties_file_of_a_java_client_is_read() {
    let text = "\u{feff}# the brokers\r\n\
                bootstrap.servers = a:9092,\\\r\n\
                \x20   b:9092\r\n\
                ! more\n\
                group.id: billing\n\
                fetch.min.bytes 1024\n\
                \n\
                client.id=caf\\u00e9\n\
                enable.auto.commit=false\n\
                key.deserializer=org.apache.kafka.common.serialization.ByteArrayDeserializer";
    let config = ConsumerConfig::from_properties(text).unwrap();
    assert_eq!(config.bootstrap_servers().to_string(), "a:9092,b:9092");
    assert_eq!(config.group_id(), Some("billing"));
    assert_eq!(config.fetch_min_bytes(), 1024);
    assert_eq!(config.client_id(), "café");
}

#[test]
fn all_that_is_wrong_with_a_properties_file_is_told() {
    let text = "fetch.min.bytes=x\n# fine\n\nclient.id=\\u12\nmax.poll.records=\\\n  0\ngroup.id=\\\\ok\nno.such=1";
    let errors = errors_of(ConsumerConfig::from_properties(text));
    assert!(
        matches!(
            errors[..],
            [
                ConfigError::InvalidValue {
                    key: "fetch.min.bytes",
                    ..
                },
                ConfigError::Syntax { line: 4, .. },
                ConfigError::InvalidValue {
                    key: "max.poll.records",
                    ..
                },
                ConfigError::UnknownKey { .. },
            ]
        ),
        "{errors:?}"
    );
}

#[test]
fn the_later_of_two_lines_counts() {
    let config = ConsumerConfig::from_properties("fetch.min.bytes=1\nfetch.min.bytes=2").unwrap();
    assert_eq!(config.fetch_min_bytes(), 2);
}

#[test]
fn variables_with_the_prefix_are_keys() {
    let variables = [
        ("KAFKA_BOOTSTRAP_SERVERS", "a:9092"),
        ("KAFKA_FETCH_MIN_BYTES", "1024"),
        ("KAFKA_AUTO_OFFSET_RESET", "earliest"),
        ("FETCH_MAX_BYTES", "1"),
        ("PATH", "/bin"),
        ("KAFKA", "x"),
    ];
    let config = ConsumerConfig::from_env("KAFKA_", variables).unwrap();
    let expected = [
        ("bootstrap.servers", "a:9092"),
        ("fetch.min.bytes", "1024"),
        ("auto.offset.reset", "earliest"),
    ];
    assert_eq!(config, ConsumerConfig::from_pairs(expected).unwrap());
    assert_eq!(given(&config, "fetch.max.bytes"), None);
}

#[test]
fn every_key_has_a_variable() {
    for key in ConsumerConfig::keys() {
        let Some(default) = key.default_value() else {
            continue;
        };
        let name = format!("MY_APP_{}", key.name().to_uppercase().replace('.', "_"));
        if default.is_empty() && key.allowed() == "not empty" {
            continue;
        }
        let config = ConsumerConfig::from_env("MY_APP_", [(&name, &default)])
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let shown = given(&config, key.name());
        assert!(shown.is_none() || shown == Some(default), "{name}");
    }
}

#[test]
fn variables_of_others_are_left_alone_and_misspelt_ones_are_not() {
    let others = [
        "HOME",
        "OPTS",
        "HEAP_OPTS",
        "VERSION",
        "LOG4J_OPTS",
        "BROKER_ID",
        "ADVERTISED_LISTENERS",
        "",
        "CLUSTER_ID",
    ];
    let variables = others.map(|name| (format!("KAFKA_{name}"), "x"));
    assert_eq!(
        ConsumerConfig::from_env("KAFKA_", variables).unwrap(),
        ConsumerConfig::default()
    );

    let errors = errors_of(ConsumerConfig::from_env(
        "KAFKA_",
        [("KAFKA_FETCH_MIN_BYTE", "1")],
    ));
    let expected = ConfigError::UnknownKey {
        key: "KAFKA_FETCH_MIN_BYTE".to_owned(),
        did_you_mean: Some("fetch.min.bytes"),
    };
    assert_eq!(errors, [expected]);

    let errors = errors_of(ConsumerConfig::from_env(
        "KAFKA_",
        [
            ("KAFKA_FETCH_MIN_BYTES", "x"),
            ("KAFKA_INTERCEPTOR_CLASSES", "y"),
        ],
    ));
    assert_eq!(errors.len(), 2);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_an_error_only_if_it_is_a_key() {
    use std::os::unix::ffi::OsStringExt;

    let bytes = || OsString::from_vec(vec![0xff]);
    let errors = errors_of(ConsumerConfig::from_env(
        "KAFKA_",
        [(OsString::from("KAFKA_CLIENT_ID"), bytes())],
    ));
    assert!(
        matches!(
            errors[..],
            [ConfigError::InvalidValue {
                key: "client.id",
                ..
            }]
        ),
        "{errors:?}"
    );
    let others = [
        (OsString::from("KAFKA_HOME"), bytes()),
        (bytes(), OsString::from("x")),
    ];
    ConsumerConfig::from_env("KAFKA_", others).unwrap();
}

proptest! {
    #[test]
    fn no_properties_text_is_read_twice_or_lost(keys in proptest::collection::vec("[a-z.=: \\\\#!\u{e9}\t]{1,12}", 0..8), value in "\\PC{0,20}") {
        // what is written with every special letter escaped is read back as it was
        let escape = |text: &str| text.chars().map(|letter| match letter {
            '\t' => "\\t".to_owned(),
            '\\' | '=' | ':' | ' ' | '#' | '!' => format!("\\{letter}"),
            other => other.to_string(),
        }).collect::<String>();
        let text: String = keys.iter().map(|key| format!("{}={}\n", escape(key), escape(&value))).collect();
        let read: Vec<_> = entries(&text).collect::<Result<_, _>>().unwrap();
        let expected: Vec<_> = keys.into_iter().map(|key| (key, value.clone())).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn no_text_makes_a_source_fail_badly(text in any::<String>()) {
        let _ = ConsumerConfig::from_properties(&text);
        let _ = ConsumerConfig::from_env("", [(text.as_str(), text.as_str())]);
        let _ = ConsumerConfig::from_pairs(ConsumerConfig::keys().map(|key| (key.name(), text.as_str())));
    }
}
