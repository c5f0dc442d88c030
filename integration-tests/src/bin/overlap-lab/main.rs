//! Whether fetching goes on while the application works: behind a line with a delay, an application whose work on a buffer takes as long
//! as fetching it.
//!
//! First every client reads without work: that tells how long fetching takes, per record. Then all work for as long, on each record, in
//! turns. With `--far`: how much a client gets out of a long line, without work and with it. Prints a Markdown table and whether the figures are reached;
//! fails if not.

#![expect(
    clippy::disallowed_methods,
    reason = "blocking and the real clock are the point here: an application that works, and no actor calls it"
)]

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use integration_tests::Proxy;
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec, Value};

mod client;
mod far;
mod java;
mod ours;
mod report;

use client::{Client, Run};
use report::Verdict;

const TOPIC: &str = "overlap";
const PARTITIONS: i32 = 8;
const RECORD_BYTES: u32 = 200;
/// Keys of the Java client, the same for all. A buffer is 1 MiB then, one answer, and takes ten polls.
const PROPERTIES: [(&str, &str); 3] = [
    ("max.partition.fetch.bytes", "131072"),
    ("max.poll.records", "500"),
    ("enable.auto.commit", "false"),
];

/// Compares how consumers overlap fetching and work, on a real broker behind a line with a delay.
#[derive(Debug, Parser)]
struct Arguments {
    /// A line of 50 ms each way: one partition, and eight without work and with it.
    #[arg(long)]
    far: bool,
    /// The line's delay in milliseconds, each way.
    #[arg(long, default_value_t = 10)]
    delay: u64,
    /// How often each client reads, without work and with it; the medians count.
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Records that are measured.
    #[arg(long, default_value_t = 600_000)]
    records: u64,
    /// Records before those, while caches fill and compilers work.
    #[arg(long, default_value_t = 300_000)]
    skip: u64,
}

/// What every client does, but for its work.
struct Course {
    servers: String,
    topic: &'static str,
    partitions: i32,
    properties: &'static [(&'static str, &'static str)],
    skip: u64,
    records: u64,
}

/// A broker behind a line with so long a delay each way, and where the line begins.
fn behind_a_line(delay: Duration) -> Result<(Cluster, String)> {
    let proxy = Proxy::open(delay)?;
    let kafka = Cluster::builder()
        .listener("FAR", "PLAINTEXT")
        .advertised(1, "FAR", &proxy.address().to_string())
        .jvm_option("-XX:TieredStopAtLevel=4")
        .start()?;
    proxy.connect_to(kafka.listener_address(1, "FAR")?.context("it was added")?);
    Ok((kafka, proxy.address().to_string()))
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let verdicts = if arguments.far {
        far::run(arguments.rounds)?
    } else {
        overlap(&arguments)?
    };
    let mut is_reached = true;
    for verdict in verdicts {
        let word = if verdict.reached { "reached" } else { "MISSED" };
        println!("- {word}: {}", verdict.what);
        is_reached &= verdict.reached;
    }
    Ok(if is_reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn overlap(arguments: &Arguments) -> Result<Vec<Verdict>> {
    let (kafka, servers) = behind_a_line(Duration::from_millis(arguments.delay))?;
    kafka.create_topic(TOPIC, PARTITIONS, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: TOPIC.into(),
        // the last answers are smaller: no client gets to them
        records: (arguments.skip + arguments.records) * 21 / 20,
        values: vec![Value::Random(RECORD_BYTES)],
        partitioning: Partitioning::RoundRobin,
        linger_ms: 5,
        ..ProduceSpec::default()
    })?;
    let course = Course {
        servers,
        topic: TOPIC,
        partitions: PARTITIONS,
        properties: &PROPERTIES,
        skip: arguments.skip,
        records: arguments.records,
    };

    let free = rounds(
        &Client::ALL,
        arguments.rounds,
        &course,
        Duration::ZERO,
        &kafka,
    )?;
    let work = report::fetching_takes(&free);
    let working = rounds(&Client::ALL, arguments.rounds, &course, work, &kafka)?;
    println!(
        "{} ms each way, {PARTITIONS} partitions, records of {RECORD_BYTES} bytes, {PROPERTIES:?}; {} records after {}, medians of {}\n",
        arguments.delay, arguments.records, arguments.skip, arguments.rounds,
    );
    println!("{}", report::table(&free, &working, work));
    Ok(vec![report::verdict(&working)])
}

/// Every client in turn, as often as there are rounds: what else the machine does hits all alike.
fn rounds(
    clients: &[Client],
    rounds: u32,
    course: &Course,
    work: Duration,
    kafka: &Cluster,
) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    for _ in 0..rounds {
        for &client in clients {
            let run = match client {
                Client::Ours(policy) => ours::read(policy, course, work),
                Client::Java(protocol) => java::read(protocol, course, work, kafka),
            };
            let measured = run.with_context(|| client.to_string())?;
            runs.push(Run { client, measured });
        }
    }
    Ok(runs)
}
