//! The command line: what can be said on it and its exit codes: 0 done, 1 failed, 2 wrong usage.

mod broker;
mod connect;
mod consume;
mod interrupt;
mod lag;
mod log;
mod output;
mod perf;
mod quickstart;
mod start_from;
mod stdout;
mod tally;
#[cfg(test)]
mod tests;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::usage::WrongUsage;

const EXIT_WRONG_USAGE: u8 = 2;

/// A Kafka consumer of actors: reads topics, measures, and brings a broker to try it with.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// How log lines and notes are written to stderr; RUST_LOG says which, such as "info" or "off".
    #[arg(long, global = true, value_enum, default_value_t = log::Format::Text)]
    log_format: log::Format,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage. Ctrl-C and SIGTERM close in order, a second one ends at once (130).
Results go to stdout, everything else to stderr.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Start an embedded broker, fill it, read it through the actors, and check what came.
    Quickstart(quickstart::Arguments),
    /// Run the embedded broker alone, for any Kafka client.
    Broker(broker::Arguments),
    /// Print the records of topics.
    Consume(consume::Arguments),
    /// Measure how fast a topic is read.
    Perf(perf::Arguments),
    /// Tell how far a group is behind.
    Lag(lag::Arguments),
}

pub(crate) fn main() -> ExitCode {
    // wrong usage ends here, with the same exit code
    let arguments = Arguments::parse();
    log::start(arguments.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments.command)),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log::failure(&error);
            if error.is::<WrongUsage>() {
                ExitCode::from(EXIT_WRONG_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Quickstart(arguments) => quickstart::run(arguments).await,
        Command::Broker(arguments) => broker::run(arguments).await,
        Command::Consume(arguments) => consume::run(arguments).await,
        Command::Perf(arguments) => perf::run(arguments).await,
        Command::Lag(arguments) => lag::run(arguments).await,
    }
}
