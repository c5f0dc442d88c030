//! The command line: what can be said on it, how it logs, and its exit codes (0 done, 1 failed, 2 wrong usage).

mod broker;
mod connect;
mod consume;
mod interrupt;
mod output;
mod perf;
mod quickstart;
mod start_from;
mod tally;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use tracing_subscriber::EnvFilter;

/// A Kafka consumer of actors.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// How log lines are written, to stderr; RUST_LOG says which.
    #[arg(long, global = true, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    /// A line of text.
    Text,
    /// A JSON object a line.
    Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts an embedded broker, fills it, reads it through the actors, and checks what came.
    Quickstart(quickstart::Arguments),
    /// Runs the embedded broker alone, for any Kafka client.
    Broker(broker::Arguments),
    /// Prints the records of topics.
    Consume(consume::Arguments),
    /// Measures how fast a topic is read; one JSON line a pass.
    Perf(perf::Arguments),
}

pub(crate) fn main() -> ExitCode {
    // wrong usage ends here, with exit code 2
    let arguments = Arguments::parse();
    log_to_stderr(arguments.log_format);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = match runtime {
        Ok(runtime) => runtime.block_on(run(arguments.command)),
        Err(error) => Err(error.into()),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("consumer-app: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Quickstart(arguments) => quickstart::run(arguments).await,
        Command::Broker(arguments) => broker::run(arguments).await,
        Command::Consume(arguments) => consume::run(arguments).await,
        Command::Perf(arguments) => perf::run(arguments).await,
    }
}

fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
