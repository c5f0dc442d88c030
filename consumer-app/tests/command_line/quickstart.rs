//! `quickstart`.

use nix::sys::signal::Signal;

use crate::process::{Program, run};

#[test]
fn reads_what_it_produces_and_says_where_to_go_next() {
    for records in [1, 499, 12_345] {
        let ended = run(&["quickstart", "--records", &records.to_string()]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let lines = ended.lines();
        let words: Vec<Vec<_>> = lines
            .iter()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(words[0], ["records", &records.to_string()]);
        assert_eq!(words[1], ["partitions", "6"]);
        assert_eq!(words[2], ["brokers", "2"]);
        assert_eq!(words[3][0], "seconds");
        assert!(words[3][1].parse::<f64>().unwrap() > 0.0);
        assert_eq!(lines[4], "checksum ok");
        // what it says next can be typed as it stands
        let program = env!("CARGO_BIN_EXE_consumer-app");
        for command in ["broker", "consume"] {
            assert!(
                lines
                    .iter()
                    .any(|line| line.contains(&format!("{program} {command} "))),
                "{lines:?}"
            );
        }
    }
}

#[test]
fn f074_nobody_need_read_all_of_it() {
    let (program, stdout) = Program::start_unread(&["quickstart", "--records", "1000"], &[]);
    drop(stdout);
    let ended = program.ended();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_is_a_failure_since_nothing_was_checked() {
    // it takes seconds to produce so many
    let words = ["quickstart", "--records", "20000000"];
    let program = Program::start_with(&words, &[("RUST_LOG", "info")]);
    program.wait_for_word("producing");
    program.signal(Signal::SIGINT);
    let ended = program.ended();
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.is_empty());
    assert!(
        ended.stderr.ends_with("consumer-app: interrupted\n"),
        "{}",
        ended.stderr
    );
}
