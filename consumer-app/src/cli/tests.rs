//! What can be said on the command line.

use clap::CommandFactory;
use clap::error::ErrorKind;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split_whitespace())
}

fn is_wrong(line: &str) -> ErrorKind {
    let error = parse(line).expect_err(line);
    assert_eq!(error.exit_code(), i32::from(EXIT_WRONG_USAGE), "{line}");
    error.kind()
}

#[test]
fn the_definition_holds_together() {
    Arguments::command().debug_assert();
}

#[test]
fn f076_wrong_usage_has_an_exit_code_of_its_own() {
    for line in [
        "consumer-app consum",
        "consumer-app consume -b a:1",
        "consumer-app consume -b a:1 -t",
        "consumer-app consume -b a:1 -t x --from yesterday",
        "consumer-app consume -b a:1 -t x --from -1",
        "consumer-app consume -b a:1 -t x --partition -1",
        "consumer-app consume -b a:1 -t x --max-records many",
        "consumer-app consume -b a:1 -t x --output xml",
        "consumer-app consume -b a:1 -t x --separator \\q",
        "consumer-app perf -b a:1 -t x",
        "consumer-app perf -b a:1 -t x --records 0",
        "consumer-app perf -b a:1 -t x --records 1 --passes 0",
        "consumer-app broker --nodes 0",
        "consumer-app broker --nodes 1001",
        "consumer-app broker --port 65536",
        "consumer-app broker --topic orders:0",
        "consumer-app broker --topic orders:six",
        "consumer-app broker --topic :6",
        "consumer-app quickstart --records 0",
        "consumer-app --log-format xml quickstart",
    ] {
        is_wrong(line);
    }
    let error = Arguments::try_parse_from(["consumer-app", "consume", "-b", "a:1", "-t", ""]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidValue);
    assert_eq!(
        is_wrong("consumer-app"),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
}

#[test]
fn the_page_about_the_command_line_shows_commands_that_exist() {
    let page = include_str!("../../../docs/command-line.md");
    let lines: Vec<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .filter(|line| line.starts_with("consumer-app"))
        .collect();
    for name in ["quickstart", "broker", "consume", "perf"] {
        assert!(lines.iter().any(|line| line.contains(name)), "{name}");
    }
    for line in lines {
        // what follows is the shell's
        let words = line.split(['|', '>', '&']).next().unwrap_or_default();
        if let Err(error) = parse(words) {
            assert!(
                matches!(
                    error.kind(),
                    ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
                ),
                "{line}: {error}"
            );
        }
    }
}
