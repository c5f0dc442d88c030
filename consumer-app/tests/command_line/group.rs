//! `consume --group`, `perf --group` and `lag`.

use test_broker::ProducerRecord;

use crate::broker::Broker;
use crate::process::run;

fn filled() -> Broker {
    let broker = Broker::with_topic("t", 1);
    let records = ["a", "b", "c", "d", "e"].map(ProducerRecord::new);
    broker.produce("t", 0, records).unwrap();
    broker
}

fn consume<'a>(broker: &'a Broker, count: &'a str) -> [&'a str; 11] {
    [
        "consume",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--group",
        "g",
        "--from",
        "beginning",
        "--max-records",
        count,
    ]
}

#[test]
fn what_was_printed_is_committed_and_no_more() {
    let broker = filled();
    let first = run(&consume(&broker, "2"));
    assert_eq!(
        (first.code, first.text()),
        (Some(0), "a\nb\n"),
        "{}",
        first.stderr
    );
    let lag = ["lag", "-b", &broker.address, "--group", "g"];
    assert_eq!(run(&lag).text(), "t-0: committed 2, end 5, lag 3\n");
    let second = run(&consume(&broker, "3"));
    assert_eq!((second.code, second.text()), (Some(0), "c\nd\ne\n"));
    let lag = ["lag", "-b", &broker.address, "--group", "g", "--json"];
    let lag = run(&lag);
    let expected = r#"{"topic":"t","partition":0,"committed":5,"end":5,"lag":0}"#;
    assert_eq!((lag.code, lag.text().trim()), (Some(0), expected));
}

#[test]
fn a_group_that_committed_nothing_has_no_lag() {
    let broker = filled();
    let lag = run(&["lag", "-b", &broker.address, "--group", "g"]);
    assert_eq!(lag.code, Some(1));
    assert!(
        lag.stderr.contains("group g has committed nothing"),
        "{}",
        lag.stderr
    );
}

#[test]
fn a_group_is_measured_again_and_again_without_being_moved() {
    let broker = filled();
    let words = [
        "perf",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--records",
        "5",
        "--passes",
        "2",
        "--group",
        "g",
        "--json",
    ];
    let ended = run(&words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let records = ended
        .json()
        .into_iter()
        .map(|pass| pass["records"].as_u64());
    assert_eq!(records.collect::<Vec<_>>(), [Some(5), Some(5)]);
}

#[test]
fn an_offset_is_no_place_to_begin_for_a_group() {
    let words = [
        "consume",
        "-b",
        "localhost:1",
        "-t",
        "t",
        "--group",
        "g",
        "--from",
        "7",
    ];
    let ended = run(&words);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--from"), "{}", ended.stderr);
}
