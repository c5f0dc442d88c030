//! `--exit-at-end`: each partition ends where it ended at the start.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use test_broker::{
    ApiKey, BatchBuilder, Fault, ProducerRecord, RequestRecord, RequestSummary, TestBroker,
};

use crate::broker::Broker;
use crate::process::{Ended, Program, run};

/// The timestamps that ListOffsets gives for the ends of a log.
const LATEST: i64 = -1;
const EARLIEST: i64 = -2;

/// Runs `consume --exit-at-end --output json` and gives the offsets of each partition in the order in which they came.
fn offsets(broker: &Broker, more: &[&str]) -> BTreeMap<i64, Vec<i64>> {
    let words = [
        "consume",
        "-b",
        &broker.address,
        "-t",
        "t",
        "-e",
        "--output",
        "json",
    ];
    by_partition(&run(&[&words, more].concat()))
}

fn by_partition(ended: &Ended) -> BTreeMap<i64, Vec<i64>> {
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut offsets: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for record in ended.json() {
        let number = |name: &str| record[name].as_i64().expect("a number");
        offsets
            .entry(number("partition"))
            .or_default()
            .push(number("offset"));
    }
    offsets
}

#[test]
fn f073_exits_with_a_producer_running_and_prints_all_that_was_there() {
    let broker = Broker::start(TestBroker::builder().nodes(2).topic("t", 4));
    broker.fill("t", 0, 1000);
    broker.fill("t", 1, 2000);
    broker.fill("t", 3, 3000);
    let is_over = AtomicBool::new(false);
    let printed = thread::scope(|scope| {
        // partition 0 grows as fast as can be, and 2 is empty
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                broker.fill("t", 0, 10);
                thread::yield_now();
            }
        });
        let printed = offsets(&broker, &[]);
        is_over.store(true, Ordering::Relaxed);
        printed
    });
    assert_eq!(printed.keys().copied().collect::<Vec<_>>(), [0, 1, 3]);
    for (&partition, offsets) in &printed {
        assert!(
            offsets.iter().copied().eq(0..offsets.len() as i64),
            "partition {partition}"
        );
    }
    assert!(printed[&0].len() >= 1000);
    assert_eq!((printed[&1].len(), printed[&3].len()), (2000, 3000));
}

#[test]
fn f073_what_is_produced_after_the_start_is_not_printed() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 10);
    broker.inject(Fault::delay(Duration::from_secs(2)).on(ApiKey::Fetch));
    let words = ["consume", "-b", &broker.address, "-t", "t", "-e"];
    let program = Program::start(&words);
    // it knows the end when it asks for the beginning with the next request of the same connection
    broker.wait_for_requests(|requests| {
        let looked_up = |request: &RequestRecord, wanted| match &request.summary {
            RequestSummary::ListOffsets { partitions, .. } => {
                partitions.iter().any(|(_, _, time)| *time == wanted)
            }
            _ => false,
        };
        requests.iter().enumerate().any(|(index, request)| {
            let later = || requests[index..].iter();
            looked_up(request, LATEST)
                && later().any(|later| {
                    later.connection == request.connection && looked_up(later, EARLIEST)
                })
        })
    });
    broker.fill("t", 0, 10);
    let ended = program.ended();
    let expected: String = (0..10).map(|value| format!("{value}\n")).collect();
    assert_eq!(ended.quiet(), expected.as_bytes());
}

#[test]
fn f073_exits_where_there_is_nothing() {
    let broker = Broker::with_topic("t", 3);
    assert_eq!(offsets(&broker, &[]), BTreeMap::new());
    broker.fill("t", 1, 10);
    broker.delete_records("t", 1, 10).unwrap();
    assert_eq!(offsets(&broker, &[]), BTreeMap::new());
    assert_eq!(offsets(&broker, &["--from", "latest"]), BTreeMap::new());
    assert_eq!(offsets(&broker, &["--from", "5"]), BTreeMap::new());
}

#[test]
fn f073_exits_at_a_tail_without_records() {
    let broker = Broker::with_topic("t", 5);
    for partition in 0..5 {
        broker
            .produce("t", partition, [("a", "1"), ("b", "2"), ("a", "3")])
            .unwrap();
    }
    // the last record of a batch is gone, as compaction leaves it
    let gap = BatchBuilder::new()
        .base_offset(3)
        .record("4")
        .last_offset_delta(9);
    broker.append_raw("t", 0, &gap.build()).unwrap();
    // a batch without any
    let emptied = BatchBuilder::new()
        .base_offset(3)
        .last_offset_delta(4)
        .record_count(0);
    broker.append_raw("t", 1, &emptied.build()).unwrap();
    // a marker of a transaction
    broker
        .append_raw(
            "t",
            2,
            &BatchBuilder::end_transaction(7, 0, true)
                .base_offset(3)
                .build(),
        )
        .unwrap();
    // whole batches are gone, so that the log ends before its end offset
    for partition in [3, 4] {
        broker.produce("t", partition, ["4", "5"]).unwrap();
        broker.produce("t", partition, ["6"]).unwrap();
        assert_eq!(broker.remove_batches("t", partition, &[3, 5]).unwrap(), 2);
        assert_eq!(broker.offsets("t", partition).unwrap().high_watermark, 6);
    }
    let printed = offsets(&broker, &[]);
    assert_eq!(printed[&0], [0, 1, 2, 3]);
    for partition in 1..5 {
        assert_eq!(printed[&partition], [0, 1, 2], "partition {partition}");
    }
}

#[test]
fn f073_exits_at_the_last_stable_offset() {
    let broker = Broker::with_topic("t", 1);
    let of = |producer| BatchBuilder::new().producer(producer, 0, 0).transactional();
    for entry in [
        of(7).record("committed").build(),
        of(8).base_offset(1).record("aborted").build(),
        BatchBuilder::end_transaction(7, 0, true)
            .base_offset(2)
            .build(),
        BatchBuilder::end_transaction(8, 0, false)
            .base_offset(3)
            .build(),
        of(9).base_offset(4).record("open").build(),
    ] {
        broker.append_raw("t", 0, &entry).unwrap();
    }
    let committed = offsets(&broker, &["-X", "isolation.level=read_committed"]);
    assert_eq!(committed[&0], [0]);
    assert_eq!(offsets(&broker, &[])[&0], [0, 1, 4]);
}

#[test]
fn f073_begins_where_it_is_told() {
    let broker = Broker::with_topic("t", 2);
    broker.fill("t", 0, 10);
    broker.fill("t", 1, 5);
    let from = |from| offsets(&broker, &["--from", from]);
    assert_eq!(from("7"), BTreeMap::from([(0, vec![7, 8, 9])]));
    assert_eq!(
        from("4"),
        BTreeMap::from([(0, (4..10).collect()), (1, vec![4])])
    );
    assert_eq!(from("latest"), BTreeMap::new());
    assert_eq!(from("beginning").values().map(Vec::len).sum::<usize>(), 15);
    // what the file or a property says holds where nothing else is said
    assert_eq!(
        offsets(&broker, &["-X", "auto.offset.reset=latest"]),
        BTreeMap::new()
    );
    let none = ["-X", "auto.offset.reset=none"];
    let words = ["consume", "-b", &broker.address, "-t", "t", "-e"];
    let ended = run(&[words.as_slice(), &none].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_eq!(
        offsets(
            &broker,
            &[none.as_slice(), &["--from", "beginning"]].concat()
        )
        .len(),
        2
    );
    // offsets below the first are those of the first
    broker.delete_records("t", 0, 6).unwrap();
    assert_eq!(
        from("3"),
        BTreeMap::from([(0, (6..10).collect()), (1, vec![3, 4])])
    );
}

#[test]
fn f073_a_partition_that_is_read_to_its_end_is_not_fetched_on() {
    let broker = Broker::start(TestBroker::builder().nodes(2).topic("t", 2));
    broker.fill("t", 0, 10);
    broker.fill("t", 1, 10);
    let hang = broker.leader("t", 1).unwrap().0.unwrap();
    let words = ["consume", "-b", &broker.address, "-t", "t", "-e"];
    broker.inject(Fault::silence().on(ApiKey::Fetch).node(hang));
    let program = Program::start(&words);
    assert_eq!(program.wait_for_lines(10).len(), 10);
    // what comes now ends the fetch that waits for it, and no other one follows
    broker
        .produce("t", 0, [ProducerRecord::new("late")])
        .unwrap();
    let waits = program.wait_for_word("waiting: ");
    assert!(waits.contains("t-1") && !waits.contains("t-0"), "{waits}");
    let fetched_on = broker.requests().into_iter().any(|request| {
        let fetch = request.fetch().cloned();
        let partitions = fetch.into_iter().flat_map(|fetch| fetch.partitions);
        let mut of_it = partitions.filter(|asked| asked.partition.partition() == 0);
        of_it.any(|asked| asked.fetch_offset > 10)
    });
    assert!(!fetched_on, "{:?}", broker.requests());
}
