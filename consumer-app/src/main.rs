//! The command line of the consumer.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
