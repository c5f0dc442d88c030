//! `broker`.

use std::net::TcpListener;

use nix::sys::signal::Signal;

use crate::process::{Program, run};

#[test]
fn serves_clients_until_it_is_told_to_end() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let broker = Program::start(&[
            "broker", "--port", "0", "--nodes", "2", "--topic", "orders:3", "--topic", "plain",
        ]);
        let line = broker.wait_for_lines(1).remove(0);
        let servers = line
            .strip_prefix("listening on ")
            .expect("where it listens");
        assert_eq!(servers.split(',').count(), 2);
        broker.wait_for_word("memory");
        for (topic, part) in [("orders", "2"), ("plain", "0")] {
            let ended = run(&["consume", "-b", servers, "-t", topic, "-p", part, "-e"]);
            assert_eq!(ended.quiet(), b"");
        }
        // a client that stays does not hold it up
        let client = Program::start(&["consume", "-b", servers, "-t", "orders"]);
        client.wait_for_word("waiting at the end");
        broker.signal(signal);
        let ended = broker.ended();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(ended.lines(), [line]);
    }
}

#[test]
fn a_port_that_is_taken_is_a_failure_that_says_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = run(&["broker", "--port", &port]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.is_empty());
    assert!(
        ended.stderr.contains(&port) && ended.stderr.contains("--port"),
        "{}",
        ended.stderr
    );
}

#[test]
fn f076_what_makes_no_sense_is_wrong_usage() {
    for words in [
        ["broker", "--topic", "no/name:1"],
        ["broker", "--nodes", "0"],
        ["broker", "--port", "70000"],
        ["broker", "--topic", "orders:x"],
    ] {
        let ended = run(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
    let ended = run(&["broker", "--port", "65535", "--nodes", "2"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}
