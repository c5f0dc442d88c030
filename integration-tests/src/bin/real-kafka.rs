//! Starts Apache Kafka on this machine and keeps it until stdin ends or Ctrl-C: `real-kafka [NODES] [PROPERTY=VALUE]...`
//!
//! Prints one line, `bootstrap.servers=... pids=...`, when the cluster is ready.

use std::io::{self, Read};

use anyhow::{Context, Result, bail};
use integration_tests::kafka::Cluster;

fn main() -> Result<()> {
    let mut builder = Cluster::builder();
    for (place, argument) in std::env::args().skip(1).enumerate() {
        match argument.split_once('=') {
            Some((key, value)) => builder = builder.property(key, value),
            None if place == 0 => {
                builder = builder.nodes(
                    argument
                        .parse()
                        .with_context(|| format!("{argument} is no number of nodes"))?,
                );
            }
            None => bail!(
                "{argument} is no PROPERTY=VALUE; usage: real-kafka [NODES] [PROPERTY=VALUE]..."
            ),
        }
    }
    let kafka = builder.start()?;
    let pids: Vec<String> = kafka.pids().iter().map(u32::to_string).collect();
    println!(
        "bootstrap.servers={} pids={}",
        kafka.bootstrap_servers(),
        pids.join(",")
    );
    io::copy(&mut io::stdin().by_ref(), &mut io::sink())?;
    Ok(())
}
