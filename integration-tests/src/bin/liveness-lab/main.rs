//! How late a lone record is, and what a consumer costs that has nothing to do.
//!
//! Three nodes, and beside each other our consumer and the Java client with both group protocols, each in a process of its own, all reading
//! the same records. One writer sends them one at a time. Prints a Markdown table per setting and, below it, whether our figures are reached;
//! fails if one is not.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

mod clients;
mod measure;
mod place;
mod reader;
mod report;
mod setting;

use measure::Plan;
use place::Place;
use setting::{ALL, Setting};

/// Measures the delay of lone records and the cost of waiting, against real brokers or the embedded one.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// The settings, one after the other; all of them if none is named.
    #[arg(value_enum, ignore_case = true)]
    settings: Vec<Setting>,
    /// Against the embedded broker, in place of Apache Kafka.
    #[arg(long)]
    embedded: bool,
    /// Measures 2 s of records and 4 s of silence for each setting: less than 2 minutes in all.
    #[arg(long)]
    short: bool,
    /// Our consumer alone.
    #[arg(long)]
    ours: bool,
    #[command(subcommand)]
    role: Option<Role>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Reads as one of the lab's processes.
    #[command(hide = true)]
    Read(reader::Arguments),
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Role::Read(arguments)) = arguments.role {
        reader::run(&arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let plan = if arguments.short {
        Plan {
            records: 200,
            silence: Duration::from_secs(4),
            ours_alone: arguments.ours,
        }
    } else {
        Plan {
            records: 2_000,
            silence: Duration::from_secs(15),
            ours_alone: arguments.ours,
        }
    };
    let settings = match arguments.settings.as_slice() {
        [] => &ALL[..],
        named => named,
    };
    let place = Place::start(arguments.embedded)?;
    // a node that was frozen for long is no place for a new topic until the controller has let it in again
    for &setting in settings {
        place.create_topic(setting)?;
    }
    let mut reached = true;
    for &setting in settings {
        let measured = measure::run(setting, &plan, &place)
            .with_context(|| format!("setting {}", setting.name()))?;
        println!("{}", report::table(setting, &plan, &measured));
        for verdict in report::verdicts(setting, &measured) {
            let word = if verdict.reached { "reached" } else { "MISSED" };
            println!("- {word}: {}", verdict.what);
            reached &= verdict.reached;
        }
        println!();
    }
    Ok(if reached {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
