//! `bootstrap.servers`.

use super::{errors_of, with};
use crate::config::bootstrap::BootstrapServers;
use crate::config::{ConfigError, ConfigWarning, ConsumerConfig};

/// The brokers that a list gives, and how many of its entries are left out.
fn read(list: &str) -> (Vec<String>, usize) {
    let servers = BootstrapServers::parse(list).unwrap();
    (
        servers.iter().map(ToString::to_string).collect(),
        servers.ignored().len(),
    )
}

#[test]
fn f078_blanks_schemes_ipv6_duplicates_and_a_trailing_comma_are_understood() {
    let cases: [(&str, &[&str]); 12] = [
        ("a:9092, b:9092", &["a:9092", "b:9092"]),
        ("  a:9092 ,\tb:9093\n", &["a:9092", "b:9093"]),
        ("PLAINTEXT://a:9092", &["a:9092"]),
        (
            "plaintext://a:9092,EXTERNAL://b:9092",
            &["a:9092", "b:9092"],
        ),
        ("[::1]:9092", &["[::1]:9092"]),
        ("PLAINTEXT://[2001:db8::1]:9092", &["[2001:db8::1]:9092"]),
        ("[fe80::1%eth0]:9092", &["[fe80::1%eth0]:9092"]),
        ("a:9092,a:9092,A:9092,a:9093", &["a:9092", "a:9093"]),
        ("a:9092,", &["a:9092"]),
        (",,a:9092,,b:1", &["a:9092", "b:1"]),
        ("10.0.0.1:65535", &["10.0.0.1:65535"]),
        (
            "broker_1.kafka-headless.svc.:9092",
            &["broker_1.kafka-headless.svc.:9092"],
        ),
    ];
    for (list, expected) in cases {
        let (servers, ignored) = read(list);
        assert_eq!(
            (servers.as_slice(), ignored),
            (expected.map_strings().as_slice(), 0),
            "{list}"
        );
    }
}

trait MapStrings {
    fn map_strings(&self) -> Vec<String>;
}

impl MapStrings for [&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn f078_one_bad_name_is_a_warning_and_the_others_are_used() {
    let config = with("bootstrap.servers", "broker-1, b:9092, c d:9092").unwrap();
    assert_eq!(config.bootstrap_servers().to_string(), "b:9092");
    let warnings = config.validate().unwrap();
    let texts: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "bootstrap.servers: left out broker-1: the port is missing, write host:port (Kafka's usual one is 9092)",
            "bootstrap.servers: left out c d:9092: not the name of a host",
        ]
    );
    assert!(
        warnings
            .iter()
            .all(|warning| matches!(warning, ConfigWarning::IgnoredServer(_)))
    );
}

#[test]
fn f078_all_bad_is_an_error_that_says_what_is_wrong_with_each() {
    let cases = [
        ("a", "the port is missing, write host:port"),
        ("a:", "the port is no number from 1 to 65535"),
        ("a:0", "the port is no number"),
        ("a:65536", "the port is no number"),
        ("a:+9092", "the port is no number"),
        ("a:9092/", "the port is no number"),
        ("a: 9092", "the port is no number"),
        (":9092", "the host is missing"),
        (
            "::1:9092",
            "an IPv6 address stands in brackets, write [address]:port",
        ),
        ("2001:db8::1", "an IPv6 address stands in brackets"),
        ("[::1]", "the port is missing, write [address]:port"),
        ("[::1", "the bracket is not closed"),
        ("[::1]9092", "the port is missing"),
        ("[a]:9092", "only an IPv6 address stands in brackets"),
        (
            "[127.0.0.1]:9092",
            "only an IPv6 address stands in brackets",
        ),
        ("a b:9092", "not the name of a host"),
        ("a;b:9092", "not the name of a host"),
        ("bücher.example:9092", "xn--"),
        ("SSL://a", "the port is missing"),
        ("", "no broker is named"),
        (" , ,", "no broker is named"),
    ];
    for (list, reason) in cases {
        let error = BootstrapServers::parse(list).unwrap_err();
        assert!(error.contains(reason), "{list}: {error}");
        let message = with("bootstrap.servers", list).unwrap_err().to_string();
        assert!(
            message.contains(reason) && message.contains("host:port"),
            "{message}"
        );
    }
    let both = BootstrapServers::parse("a,b:x").unwrap_err();
    assert!(
        both.contains("a: the port is missing") && both.contains("b:x: the port is no number"),
        "{both}"
    );
    let long = "a".repeat(255) + ":9092";
    assert_eq!(
        BootstrapServers::parse(&long).unwrap_err().chars().count(),
        80 + "…: not the name of a host".chars().count()
    );
}

#[test]
fn f078_the_port_and_host_are_what_a_socket_takes() {
    let servers = BootstrapServers::parse("SSL://[::1]:9093,b.example:9092").unwrap();
    let pairs: Vec<_> = servers
        .iter()
        .map(|server| (server.host(), server.port()))
        .collect();
    assert_eq!(pairs, [("::1", 9093), ("b.example", 9092)]);
}

#[test]
fn a_scheme_that_contradicts_the_security_protocol_is_an_error() {
    let named = with("bootstrap.servers", "SSL://a:9093").unwrap();
    let errors = errors_of(named.validate());
    assert!(matches!(
        errors[..],
        [ConfigError::Conflict {
            key: "bootstrap.servers",
            other: "security.protocol",
            ..
        }]
    ));
    let same = with("bootstrap.servers", "PLAINTEXT://a:9093").unwrap();
    same.validate().unwrap();

    let mixed = BootstrapServers::parse("SSL://a:9093,PLAINTEXT://b:9092").unwrap();
    assert_eq!((mixed.len(), mixed.ignored().len()), (1, 1));
}

#[test]
fn a_password_in_the_list_is_not_shown() {
    let config = with("bootstrap.servers", "user:hunter2@a:9092,b:9092").unwrap();
    let shown = format!(
        "{config:?} {:?} {}",
        config.validate(),
        serde_json::to_string(&config).unwrap()
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    let error = with("bootstrap.servers", "user:hunter2@a:9092").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}

#[test]
fn what_was_understood_is_written_and_read_back() {
    for list in ["a:9092,b:9092", "SSL://a:9093,SSL://[::1]:9093", "b:1,a:2"] {
        let servers = BootstrapServers::parse(list).unwrap();
        assert_eq!(servers.to_string(), list);
        assert_eq!(
            BootstrapServers::parse(&servers.to_string()).unwrap(),
            servers
        );
    }
    let without = ConsumerConfig::default();
    assert!(without.bootstrap_servers().is_empty());
}
