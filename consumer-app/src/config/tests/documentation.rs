//! `docs/configuration.md` is written from the keys; with `UPDATE_DOCS=1` in the environment this test writes it.

use std::fmt::Write as _;
use std::path::Path;

use crate::config::key::KeyStatus;
use crate::config::{ConfigKey, client, fetch, group, refused, sasl, tls};

const HEAD: &str = "\
# Configuration

Every key of the Java consumer (4.4) is known by its own name, and three of our own: `buffer.memory`, `max.decompressed.batch.bytes` and
`io.threads`. Keys come from code, a `.properties` file, a TOML or JSON table (flat dotted keys or nested tables), or from the environment
(`KAFKA_FETCH_MIN_BYTES` for `fetch.min.bytes`). An unknown key, and a value that is not valid, is an error; all errors are told at once.

What is *refused* or *not yet* there is an error when asked for, never ignored: only the values in the column *valid* are taken, and for
keys of TLS and SASL only their defaults. Keys of groups have no effect without `group.id`, as in Java.

This page is written from the code: `UPDATE_DOCS=1 cargo test -p consumer-app documentation`.
";

fn page() -> String {
    let sections: [(&str, &[ConfigKey]); 6] = [
        ("Client", client::KEYS),
        ("Fetching", fetch::KEYS),
        ("Groups", group::KEYS),
        ("TLS", tls::KEYS),
        ("SASL", sasl::KEYS),
        ("Known, without effect", refused::KEYS),
    ];
    let mut page = HEAD.to_owned();
    for (title, keys) in sections {
        write!(page, "\n## {title}\n\n| key | type | default | valid | status | meaning |\n|---|---|---|---|---|---|\n").unwrap();
        for key in keys {
            let status = match key.status() {
                KeyStatus::Supported => "supported".to_owned(),
                KeyStatus::NotYet(what) => format!("not yet: {what}"),
                KeyStatus::Refused(reason) => format!("refused: {reason}"),
            };
            let default = match key.default_value() {
                None => "none".to_owned(),
                Some(value) if value.is_empty() => "empty".to_owned(),
                Some(value) => format!("`{value}`"),
            };
            let cells = [
                format!("`{}`", key.name()),
                key.type_name().to_owned(),
                default,
                key.allowed(),
                status,
                key.meaning().to_owned(),
            ];
            writeln!(
                page,
                "| {} |",
                cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
            )
            .unwrap();
        }
    }
    page
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/configuration.md is not up to date: run UPDATE_DOCS=1 cargo test -p consumer-app documentation"
    );
}
