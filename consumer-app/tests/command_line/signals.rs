//! Ctrl-C and SIGTERM.

use std::io::Read;

use nix::sys::signal::Signal;
use test_broker::{ApiKey, RequestRecord, TestBroker};

use crate::broker::Broker;
use crate::process::Program;

/// Long polls are short, so that a request to end a session does not wait behind one for longer than a client waits for it.
fn consume(broker: &Broker) -> Vec<&str> {
    let words = ["consume", "-b", &broker.address, "-t", "t", "--from"];
    [
        &words,
        ["beginning", "-X", "fetch.max.wait.ms=50"].as_slice(),
    ]
    .concat()
}

#[test]
fn f064_a_signal_ends_sessions_and_a_new_start_reads_at_once() {
    let broker = Broker::start(TestBroker::builder().nodes(2).topic("t", 4));
    for partition in 0..4 {
        broker.fill("t", partition, 10);
    }
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let program = Program::start(&consume(&broker));
        program.wait_for_lines(40);
        let opened = broker.counters().fetch_sessions;
        assert!(opened > 0, "{:?}", broker.counters());
        program.signal(signal);
        let ended = program.ended();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        assert_eq!(ended.lines().len(), 40);
        broker.wait_for_no_session();
    }
}

#[test]
fn f064_a_signal_ends_it_in_whatever_it_does() {
    type Is = fn(&RequestRecord) -> bool;
    let moments: [Is; 4] = [
        |_| true,
        |request| request.api_key == ApiKey::Metadata,
        |request| request.api_key == ApiKey::ListOffsets,
        |request| request.api_key == ApiKey::Fetch,
    ];
    let broker = Broker::with_topic("t", 2);
    for _ in 0..5 {
        for moment in moments {
            broker.clear_requests();
            let program = Program::start(&consume(&broker));
            broker.wait_for_request(moment);
            program.signal(Signal::SIGINT);
            let ended = program.ended();
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
            // a session that the broker had not told of yet cannot be ended
            broker.wait_for_no_connection();
        }
    }
}

#[test]
fn f064_a_signal_ends_it_while_no_broker_answers() {
    let program = Program::start(&["consume", "-b", "127.0.0.1:1", "-t", "t"]);
    program.wait_for_word("cannot connect");
    program.signal(Signal::SIGTERM);
    assert_eq!(program.ended().code, Some(0));
}

#[test]
fn f064_a_broker_that_hangs_does_not_hold_it_up() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 1);
    let program = Program::start(&consume(&broker));
    program.wait_for_lines(1);
    broker.freeze_node(1).unwrap();
    program.signal(Signal::SIGINT);
    let ended = program.ended();
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.lines(), ["0"]);
}

#[test]
fn f064_a_second_signal_ends_it_in_a_pipe_that_nobody_reads() {
    let broker = Broker::with_topic("t", 1);
    // more than any pipe holds
    for _ in 0..100 {
        broker.produce("t", 0, [vec![b'x'; 100_000]]).unwrap();
    }
    let (program, mut stdout) = Program::start_unread(&consume(&broker), &[]);
    // it writes, and hangs when the pipe is full
    let mut piece = [0; 1000];
    stdout.read_exact(&mut piece).unwrap();
    program.signal(Signal::SIGINT);
    program.signal(Signal::SIGTERM);
    // signals of one kind that come together are one: another one in case the first two did
    let ended = program.ended();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    drop(stdout);
}

#[test]
fn f076_an_interrupt_before_an_end_that_was_asked_for_is_a_failure() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 5);
    let words = [consume(&broker).as_slice(), &["--max-records", "6"]].concat();
    let program = Program::start(&words);
    program.wait_for_lines(5);
    program.signal(Signal::SIGINT);
    let ended = program.ended();
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stderr, "consumer-app: interrupted before the end\n");
    assert_eq!(ended.lines(), ["0", "1", "2", "3", "4"]);
}
