//! What many partitions cost. The embedded broker, and our consumer in a process of its own: 1, 100, 1,000 and 10,000 partitions on 1, 3 and 6 nodes,
//! and for each the processor time that the consumer takes to begin, per record of a backlog, per fetch request when records come one at a time,
//! and while nothing comes. Prints a Markdown table; fails if a consumer of 10,000 idle partitions takes 1 % of a core.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod case;
mod consumer;
mod reader;

use case::{Case, Measured};

const PARTITIONS: [i32; 4] = [1, 100, 1_000, 10_000];
const NODES: [i32; 3] = [1, 3, 6];

/// Share of a core that a consumer of 10,000 idle partitions may take.
const IDLE_LIMIT: f64 = 0.01;

/// Measures what many partitions cost, against the embedded broker.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Numbers of partitions.
    #[arg(long, value_delimiter = ',', default_values_t = PARTITIONS)]
    partitions: Vec<i32>,
    /// Numbers of nodes.
    #[arg(long, value_delimiter = ',', default_values_t = NODES)]
    nodes: Vec<i32>,
    /// Seconds of silence.
    #[arg(long, default_value_t = 20)]
    idle: u64,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Reads as the lab's consumer.
    #[command(hide = true)]
    Read(reader::Arguments),
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Role::Read(arguments)) = arguments.role {
        reader::run(&arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "| nodes | partitions | beginning, ms CPU | backlog, ns CPU per record | records per fetch | one at a time, µs CPU per fetch | idle, % of a core | idle, fetches per s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut missed = false;
    for &nodes in &arguments.nodes {
        for &partitions in &arguments.partitions {
            let case = Case {
                nodes,
                partitions,
                idle: Duration::from_secs(arguments.idle),
            };
            let measured = case.measure()?;
            print(&case, &measured);
            missed |= partitions >= 10_000 && measured.idle.share() >= IDLE_LIMIT;
        }
    }
    let word = if missed { "MISSED" } else { "reached" };
    println!("\n- {word}: less than 1 % of a core for 10,000 idle partitions");
    Ok(if missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn print(case: &Case, measured: &Measured) {
    let Measured {
        beginning,
        backlog,
        one_at_a_time,
        idle,
    } = measured;
    println!(
        "| {} | {} | {:.1} | {:.0} | {:.0} | {:.1} | {:.2} | {:.1} |",
        case.nodes,
        case.partitions,
        beginning.cpu.as_secs_f64() * 1e3,
        backlog.cpu.as_nanos() as f64 / backlog.records as f64,
        backlog.records as f64 / backlog.fetches as f64,
        one_at_a_time.cpu.as_secs_f64() * 1e6 / one_at_a_time.fetches as f64,
        idle.share() * 100.0,
        idle.fetches as f64 / idle.wall.as_secs_f64(),
    );
}
