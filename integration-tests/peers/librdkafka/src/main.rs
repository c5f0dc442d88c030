//! librdkafka, built from the sources in the crate `rdkafka`. Modes: `poll`, the crate's `BaseConsumer`; `batch`, the C function
//! `rd_kafka_consume_batch_queue`, which the crate does not wrap.

mod batch;
mod poll;

use anyhow::{Result, bail};
use clap::Parser;
use contract::Arguments;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    match arguments.mode.as_str() {
        "poll" => poll::run(&arguments),
        "batch" => batch::run(&arguments),
        other => bail!("no mode {other:?}: there are poll and batch"),
    }
}

/// Its own defaults, but for what was said: it does not check CRCs.
fn properties(arguments: &Arguments) -> Vec<(&str, &str)> {
    let own = [
        ("bootstrap.servers", arguments.bootstrap_server.as_str()),
        // must be there also where there is no group
        ("group.id", "peers"),
        ("enable.auto.commit", "false"),
        ("auto.offset.reset", "earliest"),
    ];
    let set = arguments.set.iter();
    own.into_iter()
        .chain(set.map(|(key, value)| (key.as_str(), value.as_str())))
        .collect()
}

fn client() -> String {
    let (_, version) = rdkafka::util::get_rdkafka_version();
    format!("librdkafka {version}")
}
