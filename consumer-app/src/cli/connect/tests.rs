//! Which setting wins, and what is said of wrong ones.

use clap::Parser;
use consumer_app::OffsetReset;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    connection: Connection,
}

fn connection(words: &[&str]) -> Connection {
    let words = ["consumer-app"].iter().chain(words);
    Line::try_parse_from(words).unwrap().connection
}

/// A file of settings by this name; the folder goes with the value.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn opened(words: &[&str], own: &Own) -> Consumer {
    run(connection(words).open(own)).unwrap()
}

/// The error of wrong usage.
fn refused(words: &[&str]) -> String {
    let error = run(connection(words).open(&Own::default())).unwrap_err();
    assert!(error.is::<WrongUsage>(), "{error}");
    error.to_string()
}

const SAME: [(&str, &str); 3] = [
    (
        "a.properties",
        "bootstrap.servers=file:1\nfetch.min.bytes=11\nfetch.max.wait.ms=12\nclient.id = a b",
    ),
    (
        "a.toml",
        "bootstrap.servers = \"file:1\"\nfetch.min.bytes = 11\n[fetch.max]\nwait.ms = 12\n[client]\nid = \"a b\"",
    ),
    (
        "a.json",
        r#"{"bootstrap.servers": ["file:1"], "fetch": {"min.bytes": 11, "max.wait.ms": "12"}, "client.id": "a b"}"#,
    ),
];

#[test]
fn a_property_is_stronger_than_the_file_and_the_servers_of_the_command_line_than_both() {
    for (name, text) in SAME {
        let (_folder, path) = file(name, text);
        let from_file = opened(&["--config", &path], &Own::default());
        let config = from_file.config();
        assert_eq!(config.bootstrap_servers().to_string(), "file:1", "{name}");
        assert_eq!(config.fetch_min_bytes(), 11, "{name}");
        assert_eq!(config.fetch_max_wait().as_millis(), 12, "{name}");
        assert_eq!(config.client_id(), "a b", "{name}");

        let property = [
            "-X",
            "fetch.min.bytes=21",
            "-X",
            "bootstrap.servers=property:2",
        ];
        let words = [property.as_slice(), &["-F", &path]].concat();
        let consumer = opened(&words, &Own::default());
        let config = consumer.config();
        assert_eq!(config.bootstrap_servers().to_string(), "property:2");
        assert_eq!(config.fetch_min_bytes(), 21);
        assert_eq!(config.fetch_max_wait().as_millis(), 12);

        // in whatever order they are given
        for words in [
            [&["-b", "line:3"], words.as_slice()].concat(),
            [words.as_slice(), &["-b", "line:3"]].concat(),
        ] {
            let consumer = opened(&words, &Own::default());
            let config = consumer.config();
            assert_eq!(config.bootstrap_servers().to_string(), "line:3");
            assert_eq!(config.fetch_min_bytes(), 21);
        }
    }
}

#[test]
fn settings_of_the_command_are_below_or_above_those_that_are_given() {
    let key = "auto.offset.reset";
    let own = |weak, strong| Own { weak, strong };
    let reset = |words: &[&str], own: &Own| opened(words, own).config().auto_offset_reset();
    let given = ["-b", "a:1", "-X", "auto.offset.reset=latest"];
    let weak = own(vec![(key, "earliest")], vec![]);
    assert_eq!(reset(&given[..2], &weak), OffsetReset::Earliest);
    assert_eq!(reset(&given, &weak), OffsetReset::Latest);
    let strong = own(vec![], vec![(key, "earliest")]);
    assert_eq!(reset(&given, &strong), OffsetReset::Earliest);
}

#[test]
fn a_mistyped_name_becomes_no_topic_unless_that_is_asked_for() {
    let consumer = opened(&["-b", "a:1"], &Own::default());
    assert!(!consumer.config().allow_auto_create_topics());
    let asked = ["-b", "a:1", "-X", "allow.auto.create.topics=true"];
    assert!(
        opened(&asked, &Own::default())
            .config()
            .allow_auto_create_topics()
    );
}

#[test]
fn f078_the_list_of_servers_is_read_as_people_write_it() {
    let servers = |text: &str| {
        let consumer = opened(&["--bootstrap-server", text], &Own::default());
        let servers = consumer.config().bootstrap_servers().iter();
        let servers = servers.map(|server| format!("{} {}", server.host(), server.port()));
        servers.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(servers("a:9092, b:9093"), "a 9092, b 9093");
    assert_eq!(servers("PLAINTEXT://a:9092"), "a 9092");
    assert_eq!(servers("[::1]:9092"), "::1 9092");
    assert_eq!(servers("a:1,a:1,b:2,"), "a 1, b 2");
    // one bad name is a warning
    assert_eq!(servers("a:1,b:port"), "a 1");
    for wrong in ["", ",", "b:port", "a:0", "http://"] {
        let error = refused(&["--bootstrap-server", wrong]);
        let told = error.matches("bootstrap.servers").count();
        assert_eq!(told, 1, "{wrong}: {error}");
    }
}

#[test]
fn an_error_names_key_value_and_what_is_allowed() {
    let error = refused(&[
        "-b",
        "a:1",
        "-X",
        "fetch.min.bytes=-7",
        "-X",
        "fetch.max.waitms=1",
        "-X",
        "isolation.level=strict",
    ]);
    for part in [
        "fetch.min.bytes=\"-7\"",
        "0 to 2147483647",
        "fetch.max.waitms: unknown key; did you mean fetch.max.wait.ms?",
        "isolation.level=\"strict\"",
        "read_uncommitted, read_committed",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
    let error = refused(&[]);
    assert!(error.contains("bootstrap.servers: missing"), "{error}");
}

#[test]
fn an_error_in_a_file_names_the_file() {
    for (name, text, part) in [
        ("a.properties", "fetch.min.bytes=x", "fetch.min.bytes=\"x\""),
        ("a.properties", "a=\\uZZZZ", "line 1"),
        ("a.toml", "fetch.min.bytes = -1", "fetch.min.bytes=\"-1\""),
        ("a.toml", "client.id = \"a\"\nfetch = ", "line 2"),
        (
            "a.json",
            "{\"fetch.min.bytes\": -1}",
            "fetch.min.bytes=\"-1\"",
        ),
        ("a.json", "{\n\"client.id\": ", "line 2"),
        ("a.json", "[]", "a table of configuration keys"),
        (
            "a.yaml",
            "fetch.min.bytes: 1",
            ".properties, .toml or .json",
        ),
        ("properties", "", ".properties, .toml or .json"),
    ] {
        let (_folder, path) = file(name, text);
        let error = refused(&["-b", "a:1", "--config", &path]);
        assert!(error.starts_with(&path) && error.contains(part), "{error}");
    }
    let error = refused(&["-b", "a:1", "--config", "/no/such.toml"]);
    assert!(
        error.starts_with("/no/such.toml: ") && error.contains("No such file"),
        "{error}"
    );
}

#[test]
fn no_secret_is_shown() {
    const SECRET: &str = "hunter2";
    let jaas = format!("sasl.jaas.config=x required password=\"{SECRET}\";");
    let key = format!("ssl.keystore.key={SECRET}");
    let typo = format!("ssl.key.pasword={SECRET}");
    let line = ["-b", "a:1", "-X", &jaas, "-X", &key, "-X", &typo];
    let error = refused(&line);
    assert!(error.contains("sasl.jaas.config") && error.contains("ssl.key.pasword"));
    assert!(!error.contains(SECRET), "{error}");
    for (name, text) in [
        (
            "a.properties",
            format!("ssl.key.password={SECRET}\nfetch.min.bytes=x"),
        ),
        (
            "a.toml",
            format!("ssl.key.password = \"{SECRET}\nfetch.min.bytes = 1"),
        ),
        ("a.toml", format!("= {SECRET}")),
        ("a.toml", format!("ssl.key.password = {SECRET}")),
        (
            "a.toml",
            format!("ssl.key.password = \"{SECRET}\"\nfetch.min.bytes = \"x\""),
        ),
        (
            "a.toml",
            format!("ssl.key.password = {{ a = {{ b = \"{SECRET}\" }} }}"),
        ),
        (
            "a.json",
            format!("{{\"ssl.key.password\": \"{SECRET}\", \"fetch.min.bytes\": \"x\"}}"),
        ),
        ("a.json", format!("{{\"ssl.key.password\": {SECRET}}}")),
        (
            "a.json",
            format!("{{\"ssl.key.password\": [[\"{SECRET}\"]]}}"),
        ),
    ] {
        let (_folder, path) = file(name, &text);
        let error = refused(&["-b", "a:1", "--config", &path]);
        assert!(!error.contains(SECRET), "{error}");
    }
    for word in [
        "ssl.key.password hunter2",
        "ssl.key.password: hunter2",
        "=hunter2",
    ] {
        let error = refused(&["-b", "a:1", "-X", word]);
        assert!(error.contains("write KEY=VALUE"), "{error}");
        assert!(!error.contains(SECRET), "{error}");
    }
}
