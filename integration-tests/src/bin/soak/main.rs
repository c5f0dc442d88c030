//! Whether a consumer that runs for long stays as it is: its memory, descriptors, threads, tasks, and what waits in its actors' mailboxes.
//!
//! Two members of a group, each in a process of its own, read what a producer writes steadily to a real cluster of three brokers. They
//! seek, pause, leave and join again, and every few minutes a broker goes and comes back. Each member tells of itself at intervals; at the
//! end each figure is judged, and the program fails if one is not flat.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod lab;
mod member;
mod sample;
mod verdict;

/// Counts what is allocated and not freed, which tells of a leak before the memory of the process does.
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// Soaks a group of two members of ours on a real cluster, and judges whether they stay as they are.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// How long.
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Seconds between two readings.
    #[arg(long, default_value_t = 10)]
    interval: u64,
    /// Seconds between two restarts of a broker.
    #[arg(long, default_value_t = 180)]
    restart: u64,
    /// `group.protocol`: classic or consumer.
    #[arg(long, default_value = "consumer")]
    protocol: String,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// What the soak starts: a member that does what its stdin says.
    #[command(hide = true)]
    Member(member::Arguments),
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Role::Member(member)) = &arguments.role {
        member::run(member)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = lab::Plan {
        length: Duration::from_secs(60 * arguments.minutes),
        interval: Duration::from_secs(arguments.interval),
        restart: Duration::from_secs(arguments.restart),
        protocol: arguments.protocol,
    };
    let series = lab::run(&plan)?;
    let mut is_flat = true;
    for (member, samples) in series {
        println!("\n{member}");
        for verdict in verdict::judge(&samples) {
            println!("- {verdict}");
            is_flat &= verdict.is_flat;
        }
    }
    println!("\n{}", if is_flat { "flat" } else { "NOT FLAT" });
    Ok(if is_flat {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
