//! Transactions as a reader meets them (KIP-98): what is not committed is not given, and costs nothing else.

use bytes::{Bytes, BytesMut};
use consumer_app::Consumer;
use record_batch::Compression;
use test_broker::{ApiKey, BatchBuilder, Fault, TestBroker};

use crate::support::crafted::{self, FETCH_BY_NAME};
use crate::support::traffic::{asked_offsets, fetches};
use crate::support::vectors;
use crate::support::{broker, builder, offsets, poll, produce, read, run, tp};

async fn committed(broker: &TestBroker, from: i64) -> Consumer {
    isolated(broker, from, "read_committed").await
}

async fn isolated(broker: &TestBroker, from: i64, level: &str) -> Consumer {
    let consumer = builder(broker)
        .set("isolation.level", level)
        .spawn_local()
        .unwrap();
    consumer.assign_at([(tp(0), from)]).await.unwrap();
    consumer
}

/// Writes transactions by hand: offsets follow one another.
struct Log {
    next: i64,
    bytes: BytesMut,
}

impl Log {
    fn at(next: i64) -> Self {
        Self {
            next,
            bytes: BytesMut::new(),
        }
    }

    fn data(mut self, producer: i64, values: &[&str]) -> Self {
        let batch = BatchBuilder::new()
            .base_offset(self.next)
            .producer(producer, 0, 0)
            .transactional();
        let batch = values
            .iter()
            .fold(batch, |batch, value| batch.record(*value));
        self.bytes.extend(batch.build());
        self.next += values.len() as i64;
        self
    }

    fn end(mut self, producer: i64, commit: bool) -> Self {
        let marker = BatchBuilder::end_transaction(producer, 0, commit).base_offset(self.next);
        self.bytes.extend(marker.build());
        self.next += 1;
        self
    }

    fn append_to(self, broker: &TestBroker) -> Bytes {
        let bytes = self.bytes.freeze();
        broker.append_raw("t", 0, &bytes).unwrap();
        bytes
    }
}

async fn values(consumer: &mut Consumer, end: i64) -> Vec<String> {
    let mut values = Vec::new();
    while consumer.position(&tp(0)) != Some(end) {
        let records = poll(consumer).await;
        let texts = records.iter().filter_map(|record| record.value());
        values.extend(texts.map(|text| String::from_utf8(text.to_vec()).unwrap()));
    }
    values
}

#[test]
fn f004_b093_a_marker_whose_data_is_elsewhere_is_stepped_over() {
    run(async {
        let broker = broker(1);
        broker
            .append_raw("t", 0, &vectors::named("ABORT").bytes)
            .unwrap();
        produce(&broker, 0, 1);
        let mut consumer = committed(&broker, 7).await;
        assert_eq!(read(&mut consumer, 1).await, [8]);
        // the beginning of the transaction was deleted, what follows its marker is sound
        Log::at(9)
            .data(5, &["gone"])
            .end(5, false)
            .append_to(&broker);
        broker.delete_records("t", 0, 10).unwrap();
        produce(&broker, 0, 3);
        let mut consumer = committed(&broker, 10).await;
        assert_eq!(read(&mut consumer, 3).await, [11, 12, 13]);
    });
}

#[test]
fn b013_b014_b088_a_response_without_a_record_ends_the_poll_early() {
    for aborted in [false, true] {
        run(async {
            let broker = broker(1);
            let log = Log::at(0);
            let log = if aborted {
                log.data(5, &["a", "b"])
            } else {
                log
            };
            log.end(5, false).append_to(&broker);
            let end = broker.offsets("t", 0).unwrap().log_end_offset;
            let mut consumer = committed(&broker, 0).await;
            let started = tokio::time::Instant::now();
            assert!(poll(&mut consumer).await.is_empty());
            assert!(started.elapsed().as_millis() < 100, "returns early");
            assert_eq!(consumer.position(&tp(0)), Some(end));
        });
    }
}

#[test]
fn b089_b090_b091_interleaved_transactions_over_several_batches() {
    run(async {
        let broker = broker(1);
        Log::at(0)
            .data(1, &["commit1-1"])
            .data(2, &["abort2-1"])
            .data(1, &["commit1-2"])
            .end(2, false)
            .end(1, true)
            .data(2, &["commit2-1"])
            .end(2, true)
            .append_to(&broker);
        let mut consumer = committed(&broker, 0).await;
        let given = values(&mut consumer, 7).await;
        assert_eq!(given, ["commit1-1", "commit1-2", "commit2-1"]);
        // an open transaction holds everything behind it
        Log::at(7)
            .data(3, &["open"])
            .data(1, &["later"])
            .end(1, true)
            .append_to(&broker);
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.position(&tp(0)), Some(7));
        Log::at(10).end(3, false).append_to(&broker);
        assert_eq!(values(&mut consumer, 11).await, ["later"]);
    });
}

#[test]
fn f006_b096_the_codec_does_not_matter_and_read_uncommitted_sees_everything() {
    for codec in [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ] {
        run(async {
            let broker = broker(1);
            let data = BatchBuilder::new()
                .base_offset(4)
                .compression(codec)
                .producer(5, 0, 0)
                .transactional()
                .record("a")
                .record("b")
                .record("c");
            broker.append_raw("t", 0, &data.build()).unwrap();
            Log::at(7).end(5, false).append_to(&broker);
            let mut reader = committed(&broker, 4).await;
            assert!(poll(&mut reader).await.is_empty());
            assert_eq!(reader.position(&tp(0)), Some(8));
            let mut reader = isolated(&broker, 4, "read_uncommitted").await;
            assert_eq!(read(&mut reader, 3).await, [4, 5, 6]);
            assert!(poll(&mut reader).await.is_empty());
            assert_eq!(reader.position(&tp(0)), Some(8));
        });
    }
}

/// Seen with Redpanda: the list of aborted transactions is not in the order of their offsets.
#[test]
fn f005_b091_the_list_of_aborted_transactions_may_come_in_any_order() {
    for list in [[(9, 0), (5, 4)], [(5, 4), (9, 0)]] {
        run(async {
            let broker = TestBroker::builder()
                .topic("t", 1)
                .api_versions(ApiKey::Fetch, 4..=FETCH_BY_NAME)
                .start_in_memory()
                .unwrap();
            let log = Log::at(0).data(9, &["a", "b", "c"]).end(9, false);
            let log = log.data(5, &["d", "e", "f"]).end(5, false);
            let bytes = log.append_to(&broker);
            let list = list.map(|(id, first)| crafted::aborted(id, first)).to_vec();
            let told = crafted::partition_data(0, 8)
                .with_records(Some(bytes))
                .with_aborted_transactions(Some(list));
            let answer = crafted::fetch_answer(0, vec![told]);
            broker.inject(
                Fault::answer_body(crafted::body(&answer, FETCH_BY_NAME))
                    .on(ApiKey::Fetch)
                    .times(1),
            );
            let mut consumer = committed(&broker, 0).await;
            assert_eq!(values(&mut consumer, 8).await, Vec::<String>::new());
            assert_eq!(asked_offsets(&broker, &tp(0))[..2], [0, 8]);
        });
    }
}

#[test]
fn f007_a_transaction_of_a_megabyte_that_was_aborted_is_no_error() {
    run(async {
        let broker = broker(1);
        let value = "x".repeat(1000);
        let mut log = Log::at(0);
        for _ in 0..100 {
            log = log.data(5, &[value.as_str(); 10]);
        }
        log.end(5, false).append_to(&broker);
        produce(&broker, 0, 1);
        let mut consumer = builder(&broker)
            .set("isolation.level", "read_committed")
            .set("max.partition.fetch.bytes", "10000")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let mut given = Vec::new();
        while consumer.position(&tp(0)) != Some(1002) {
            given.extend(offsets(&poll(&mut consumer).await));
        }
        assert_eq!(given, [1001]);
        assert_eq!(consumer.known_end(&tp(0)), Some(1002));
    });
}

#[test]
fn b092_a_second_abort_marker_does_not_hide_a_later_commit() {
    run(async {
        let broker = broker(1);
        Log::at(0)
            .data(5, &["aborted"])
            .end(5, false)
            .end(5, false)
            .data(5, &["committed"])
            .end(5, true)
            .append_to(&broker);
        let mut consumer = committed(&broker, 0).await;
        assert_eq!(values(&mut consumer, 5).await, ["committed"]);
    });
}

#[test]
fn b094_positions_over_two_responses() {
    run(async {
        let broker = broker(1);
        let mut log = Log::at(0);
        for _ in 0..20 {
            log = log.data(5, &["aborted"]);
        }
        log.end(5, false).append_to(&broker);
        let mut consumer = committed(&broker, 0).await;
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.position(&tp(0)), Some(21));
        produce(&broker, 0, 21);
        assert_eq!(read(&mut consumer, 21).await, (21..42).collect::<Vec<_>>());
        assert_eq!(consumer.position(&tp(0)), Some(42));
    });
}

#[test]
fn b095_an_emptied_control_batch_in_between_gives_nothing() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 1);
        // compaction left the header of a marker
        let marker = BatchBuilder::end_transaction(5, 0, true)
            .base_offset(1)
            .build();
        let mut emptied = BytesMut::from(&marker[..61]);
        emptied[8..12].copy_from_slice(&49_i32.to_be_bytes());
        emptied[57..61].copy_from_slice(&0_i32.to_be_bytes());
        record_batch::produced::write_crc(&mut emptied).unwrap();
        let behind = BatchBuilder::new().base_offset(2).record("behind").build();
        let bytes = Bytes::from([&emptied[..], &behind[..]].concat());
        for level in ["read_committed", "read_uncommitted"] {
            let fault = broker.inject(Fault::records(bytes.clone()).partition("t", 0).times(1));
            let mut consumer = isolated(&broker, 1, level).await;
            let mut given = Vec::new();
            while given.is_empty() {
                given = offsets(&poll(&mut consumer).await);
            }
            assert_eq!(given, [2], "{level}");
            broker.remove_fault(fault);
        }
    });
}

#[test]
fn the_isolation_level_is_asked_for_in_every_request() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 1);
        for (level, sent) in [("read_committed", 1), ("read_uncommitted", 0)] {
            broker.clear_requests();
            let mut consumer = isolated(&broker, 0, level).await;
            read(&mut consumer, 1).await;
            assert!(
                fetches(&broker)
                    .iter()
                    .all(|(_, fetch)| fetch.isolation_level == sent)
            );
        }
    });
}
