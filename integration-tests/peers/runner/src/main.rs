//! Our consumer beside other clients: every client reads the same topics from the same real broker, in turns, and is measured alike.
//!
//! Prints tables, and below them what is reached; fails if something is not, or if a client did not read exactly what was written.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Parser;

mod broker;
mod chart;
mod figures;
mod output;
mod peer;
mod programs;
mod run;
#[cfg(test)]
mod sample;
mod setup;
mod table;
mod topic;
mod verdict;

use output::Measured;
use peer::{PEERS, Peer};
use programs::Programs;
use setup::Setup;
use topic::{Batches, Filled, TOPICS, Topic};

/// Measures consumers side by side on a real Kafka: within an hour, on a machine that has nothing else to do.
#[derive(Debug, Parser)]
struct Arguments {
    /// A proof that everything runs, in a few minutes: small topics, one round, fewer passes. Its figures are worth nothing.
    #[arg(long)]
    short: bool,
    /// How often each client reads each topic, in turns. The medians count.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these topics.
    #[arg(long, value_delimiter = ',', value_name = "TOPICS", value_parser = topic)]
    only: Vec<&'static Topic>,
    /// Only these clients.
    #[arg(long, value_delimiter = ',', value_parser = peer)]
    peers: Vec<&'static Peer>,
    /// Where the results go. A measurement of everything goes where the documents show it; if this is given, they stay as they are.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Measures nothing: writes the tables and the chart of the runs that are there.
    #[arg(long)]
    render: bool,
}

fn topic(name: &str) -> Result<&'static Topic> {
    let found = TOPICS.iter().find(|topic| topic.name == name);
    let known = TOPICS.iter().map(|topic| topic.name);
    found.ok_or_else(|| unknown("topic", name, known))
}

fn peer(name: &str) -> Result<&'static Peer> {
    let known = PEERS.iter().map(|peer| peer.name);
    peer::named(name).ok_or_else(|| unknown("peer", name, known))
}

fn unknown(what: &str, name: &str, known: impl Iterator<Item = &'static str>) -> anyhow::Error {
    let known: Vec<&str> = known.collect();
    anyhow!("no {what} {name}: there are {}", known.join(", "))
}

impl Arguments {
    fn topics(&self) -> Vec<&'static Topic> {
        if self.only.is_empty() {
            TOPICS.iter().collect()
        } else {
            self.only.clone()
        }
    }

    fn peers(&self) -> Vec<&'static Peer> {
        if self.peers.is_empty() {
            PEERS.iter().collect()
        } else {
            self.peers.clone()
        }
    }

    /// Whether this is what the documents are to show.
    fn is_whole(&self) -> bool {
        !self.short && self.only.is_empty() && self.peers.is_empty() && self.out.is_none()
    }

    fn folder(&self) -> Result<PathBuf> {
        match &self.out {
            Some(folder) => Ok(folder.clone()),
            None if self.is_whole() => Ok(output::published()),
            None => Ok(programs::target()?.join("peers/results")),
        }
    }
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let folder = arguments.folder()?;
    let measured = if arguments.render {
        Measured::load(&folder)?
    } else {
        measure(&arguments, &folder)?
    };
    let good = measured.report(&folder)?;
    if arguments.is_whole() {
        measured.publish()?;
    }
    eprintln!("written to {}", folder.display());
    Ok(if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn measure(arguments: &Arguments, folder: &std::path::Path) -> Result<Measured> {
    let (short, peers) = (arguments.short, arguments.peers());
    let programs = Programs::build(&peers)?;
    let mut measured = Measured {
        setup: Setup::now(short)?,
        runs: Vec::new(),
        failures: Vec::new(),
    };
    let kafka = broker::start()?;
    let mut filled = Vec::new();
    for topic in arguments.topics() {
        let topic = topic.fill(&kafka, short)?;
        eprintln!(
            "{}: {} records, {:.0} MB",
            topic.topic.name,
            topic.records,
            topic.log / 1e6
        );
        filled.push(topic);
    }
    let rounds = arguments.rounds.unwrap_or(if short { 1 } else { 3 });
    for round in 1..=rounds {
        for topic in &filled {
            for &peer in peers.iter().filter(|peer| reads(peer, topic)) {
                let what = format!("round {round}, {}, {}", topic.topic.name, peer.name);
                match run::run(&kafka, &programs, (peer, topic), (round, short)) {
                    Ok(run) => {
                        eprintln!(
                            "{what}: {:.0} ns/record, {:.0} MB/s",
                            run.cpu_ns(),
                            run.mb_per_s()
                        );
                        measured.runs.push(run);
                    }
                    Err(error) => {
                        eprintln!("{what}: {error:#}");
                        measured.failures.push(format!("{what}: {error:#}"));
                    }
                }
                measured.save(folder)?;
            }
        }
    }
    Ok(measured)
}

fn reads(peer: &Peer, filled: &Filled) -> bool {
    match filled.topic.batches {
        Batches::Large => peer.large.is_some(),
        Batches::Single => peer.single.is_some(),
    }
}
