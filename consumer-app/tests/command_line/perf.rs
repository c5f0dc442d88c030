//! `perf`.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;
use test_broker::ProducerRecord;

use crate::broker::Broker;
use crate::process::{Program, run};

#[test]
fn a_pass_is_a_line_of_json_with_exactly_these_numbers() {
    let broker = Broker::with_topic("t", 2);
    // by hand: offsets 0, 1 and 0; keys of 3, 0 and 1 bytes; values of 2, 4 and 0
    broker
        .produce(
            "t",
            0,
            [
                ProducerRecord::new("ab").key("key"),
                ProducerRecord::new("four"),
            ],
        )
        .unwrap();
    broker
        .produce("t", 1, [ProducerRecord::tombstone("k")])
        .unwrap();
    let checksum = 1 + 31 * 4 + 1_000_003 * 6;
    let words = [
        "perf",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--records",
        "3",
        "--passes",
        "2",
        "--json",
    ];
    let ended = run(&words);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let passes = ended.json();
    assert_eq!(passes.len(), 2);
    for pass in passes {
        let names: BTreeSet<_> = pass
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = [
            "records",
            "bytes",
            "wall_s",
            "cpu_s",
            "max_rss",
            "fetch_requests",
            "bytes_received",
            "checksum",
        ];
        assert_eq!(names, BTreeSet::from(expected));
        assert_eq!((&pass["records"], &pass["bytes"]), (&3.into(), &10.into()));
        assert_eq!(pass["checksum"], checksum.to_string());
        assert!(pass["wall_s"].as_f64().unwrap() > 0.0);
        assert!(pass["cpu_s"].as_f64().unwrap() > 0.0);
        assert!(pass["max_rss"].as_u64().unwrap() > 1 << 20);
        assert!(pass["fetch_requests"].as_u64().unwrap() > 0);
        assert!(pass["bytes_received"].as_u64().unwrap() > 10);
    }
    broker.wait_for_no_session();
    // a line of text for people
    let ended = run(&words[..words.len() - 1]);
    assert_eq!(ended.lines().len(), 2);
    assert!(
        ended
            .lines()
            .iter()
            .all(|line| line.starts_with("3 records in ")),
        "{ended:?}"
    );
}

#[test]
fn a_pass_ends_with_the_record_that_was_asked_for() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 10);
    let ended = run(&[
        "perf",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--records",
        "4",
        "--json",
    ]);
    let pass = &ended.json()[0];
    assert_eq!((&pass["records"], &pass["bytes"]), (&4.into(), &4.into()));
    assert_eq!(pass["checksum"], (1 + 2 + 3 + 1_000_003 * 4).to_string());
}

#[test]
fn a_pass_that_is_interrupted_is_a_failure_and_ends_its_sessions() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 10);
    let program = Program::start(&[
        "perf",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--records",
        "11",
        "-X",
        "fetch.max.wait.ms=50",
    ]);
    broker.wait_for_request(|request| {
        let fetch = request.fetch();
        fetch.is_some_and(|fetch| fetch.partitions.iter().any(|p| p.fetch_offset == 10))
    });
    program.signal(Signal::SIGINT);
    let ended = program.ended();
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(1), "consumer-app: interrupted\n")
    );
    broker.wait_for_no_session();
}
