//! How much memory a consumer takes (KIP-81): resident memory of a process of its own, with small and large budgets, small and large
//! records, compressed and not, and an application that does not keep up. Prints a Markdown table, and fails where memory is not bounded.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

mod case;
mod measured;
mod reading;
mod report;
mod source;

use case::Extent;
use source::Source;

/// Measures the memory of consumers with `buffer.memory` of 1, 8 and 64 MiB, beside the Java client.
#[derive(Debug, Parser)]
struct Arguments {
    /// Fewer cases, and shorter stops: under two minutes.
    #[arg(long)]
    short: bool,
    /// Reads from the embedded test broker in place of Apache Kafka.
    #[arg(long)]
    embedded: bool,
    /// Leaves out the Java client.
    #[arg(long)]
    no_java: bool,
    /// Only records and clients with this in their names, `1KB-lz4` or `ours, 8 MiB`.
    #[arg(long)]
    only: Option<String>,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// What the lab starts for each case.
    #[command(hide = true)]
    Read(reading::Task),
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(Task::Read(task)) = arguments.task {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(reading::run(task))?;
        return Ok(ExitCode::SUCCESS);
    }
    let extent = Extent {
        short: arguments.short,
        java: !arguments.no_java,
    };
    let mut cases = extent.cases();
    if let Some(only) = &arguments.only {
        cases.retain(|case| case.load.topic == only || case.client.to_string().contains(only));
    }
    let mut loads = extent.loads();
    loads.retain(|load| cases.iter().any(|case| case.load == *load));
    let source = if arguments.embedded {
        Source::embedded(&loads)?
    } else {
        Source::kafka(&loads)?
    };
    let mut holds = true;
    println!("{}", report::HEAD);
    for case in &cases {
        match measured::measure(case, extent, &source.servers()) {
            Ok(measured) => {
                println!("{}", report::row(case, &measured));
                holds &= report::breaches(case, &measured).is_empty();
            }
            Err(error) => {
                println!(
                    "| {} | {} | {} | NO: {error:#} |",
                    case.load.topic, case.application, case.client
                );
                holds = false;
            }
        }
    }
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
