//! Records that the application keeps (KIP-81): they count, they stop nobody, and it is told of them by name.

use std::time::Duration;

use consumer_app::{Consumer, Error, Metrics, OwnedRecord, Records};
use record_batch::Compression;
use test_broker::TestBroker;
use tokio::time::Instant;

use crate::support::delivered::Delivered;
use crate::support::log::logged;
use crate::support::{builder, partitions, poll, produce_batches, run, settle, tp};

const MIB: usize = 1 << 20;

fn broker_of_large_batches(partitions: i32) -> TestBroker {
    let broker = TestBroker::builder().nodes(1).start_in_memory().unwrap();
    let large = [("max.message.bytes", "100000000")];
    broker.create_topic_with("t", partitions, large).unwrap();
    broker
}

fn consumer_with(broker: &TestBroker, memory: usize) -> Consumer {
    let memory = memory.to_string();
    let builder = builder(broker).set("buffer.memory", &memory);
    builder.spawn_local().unwrap()
}

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

/// Reads 100 records and keeps them all.
async fn hoard(consumer: &mut Consumer, count: usize) -> Vec<Records> {
    let mut kept: Vec<Records> = Vec::new();
    let mut delivered = Delivered::default();
    while delivered.records < count {
        let records = poll(consumer).await;
        assert!(!records.is_empty(), "only {} came", delivered.records);
        delivered.take(&records);
        kept.push(records);
    }
    kept
}

#[test]
fn f014_a_poll_that_finds_nothing_says_whose_records_are_kept() {
    run(async {
        let broker = broker_of_large_batches(2);
        produce_batches(&broker, 0, 2, 100_000);
        produce_batches(&broker, 1, 98, 50_000);
        let mut consumer = consumer_with(&broker, MIB);
        consumer.assign(partitions(2)).await.unwrap();
        let mut kept = hoard(&mut consumer, 100).await;
        let begun = Instant::now();
        let error = consumer.poll(Duration::from_secs(60)).await.unwrap_err();
        assert!(begun.elapsed() <= Duration::from_secs(6));
        let held = metrics(&consumer).await.memory_kept;
        assert!(held >= 98 * 50_000, "{held}");
        let Error::MemoryHeld {
            partition,
            kept: told,
            limit,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(
            (partition.as_ref(), *told, *limit),
            (Some(&tp(1)), held, MIB as u64)
        );
        assert!(error.is_retriable());
        assert!(error.to_string().contains("t-1"), "{error}");
        // what comes then is given, and nobody complains
        produce_batches(&broker, 0, 1, 1000);
        assert_eq!(poll(&mut consumer).await.len(), 1);
        kept.clear();
        assert!(poll(&mut consumer).await.is_empty());
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(metrics(&consumer).await.memory_kept, 0);
    });
}

/// Polls shorter than the time after which it is told: the error comes every 5 s, not with every poll.
#[test]
fn f014_short_polls_are_not_all_errors() {
    run(async {
        let broker = broker_of_large_batches(1);
        produce_batches(&broker, 0, 30, 50_000);
        let mut consumer = consumer_with(&broker, MIB);
        consumer.assign([tp(0)]).await.unwrap();
        let kept = hoard(&mut consumer, 30).await;
        let mut errors = 0;
        for _ in 0..190 {
            let result = consumer.poll(Duration::from_millis(100)).await;
            errors += usize::from(result.is_err());
        }
        assert_eq!(errors, 3, "in 19 s");
        drop(kept);
    });
}

/// It keeps one record of each response for ever.
#[test]
fn f014_an_application_that_keeps_a_record_of_each_response_is_warned_by_name() {
    let (log, ()) = logged(|| {
        run(async {
            let broker = broker_of_large_batches(2);
            produce_batches(&broker, 1, 200, 20_000);
            let mut consumer = builder(&broker)
                .set("buffer.memory", &MIB.to_string())
                .set("max.poll.records", "5")
                .spawn_local()
                .unwrap();
            consumer.assign(partitions(2)).await.unwrap();
            let begun = Instant::now();
            let mut kept = Vec::new();
            let mut read = 0;
            while read < 200 {
                let records = poll(&mut consumer).await;
                assert!(!records.is_empty(), "only {read} came");
                read += records.len();
                kept.extend(
                    records
                        .iter()
                        .next()
                        .and_then(|record| record.value_bytes()),
                );
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            assert!(begun.elapsed() >= Duration::from_secs(2));
        });
    });
    let warning = log
        .lines()
        .find(|line| line.contains("keeps more than half"));
    let warning = warning.expect("a warning");
    assert!(
        warning.contains("WARN") && warning.contains("partition=t-1"),
        "{warning}"
    );
    assert_eq!(log.matches("keeps more than half").count(), 1, "{log}");
}

/// With much kept, a record keeps no more than its batch.
#[test]
fn f014_a_record_that_is_kept_does_not_pin_its_response_when_memory_is_short() {
    run(async {
        let broker = broker_of_large_batches(1);
        produce_batches(&broker, 0, 4000, 1000);
        let mut consumer = builder(&broker)
            .set("buffer.memory", &MIB.to_string())
            .set("max.poll.records", "100")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let mut kept = Vec::new();
        let mut read = 0;
        while read < 4000 {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "only {read} came");
            read += records.len();
            kept.extend(
                records
                    .iter()
                    .next()
                    .and_then(|record| record.value_bytes()),
            );
        }
        drop(poll(&mut consumer).await);
        let held = metrics(&consumer).await.memory_kept;
        // a quarter of the budget and one more response, which is half of it at most, and a batch each
        assert!(
            held <= (MIB / 4 + MIB / 2 + kept.len() * 1200) as u64,
            "{held}"
        );
        let values = kept
            .iter()
            .all(|value| value.iter().all(|&byte| byte == b'x'));
        assert!(values && kept.len() >= 40);
    });
}

/// What one poll gives may be all of the memory. That is not kept yet, and so no reason to copy.
#[test]
fn f014_a_poll_copies_nothing_for_what_it_gives_itself() {
    run(async {
        // a reply of each node in the memory
        let broker = TestBroker::builder().nodes(6).start_in_memory().unwrap();
        broker.create_topic("t", 6).unwrap();
        for partition in 0..6 {
            produce_batches(&broker, partition, 1000, 1000);
        }
        let mut consumer = builder(&broker)
            .set("buffer.memory", &MIB.to_string())
            .set("max.poll.records", "6000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(6)).await.unwrap();
        let (mut read, mut pieces) = (0, 0);
        while read < 6000 {
            settle().await;
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "only {read} came");
            read += records.len();
            let places: Vec<usize> = records
                .iter()
                .map(|record| record.value().unwrap().as_ptr() as usize)
                .collect();
            // batches of one reply lie behind each other
            let jumps = places
                .windows(2)
                .filter(|pair| pair[1].abs_diff(pair[0]) > 1200);
            pieces += 1 + jumps.count();
        }
        let replies = metrics(&consumer).await.fetch_responses as usize;
        assert!(pieces <= replies, "{pieces} pieces of {replies} replies");
    });
}

/// The copying way out, compressed and not: what is kept is what the records have.
#[test]
fn f014_200_fetches_and_the_first_record_of_each_copied() {
    for codec in [Compression::None, Compression::Lz4] {
        run(async {
            let broker = broker_of_large_batches(1);
            for _ in 0..200 {
                let records = (0..50).map(|n| vec![n; 20_000]);
                broker.produce_compressed("t", 0, codec, records).unwrap();
            }
            let mut consumer = consumer_with(&broker, 4 * MIB);
            consumer.assign([tp(0)]).await.unwrap();
            let mut kept: Vec<OwnedRecord> = Vec::new();
            let mut read = 0;
            while read < 10_000 {
                let records = poll(&mut consumer).await;
                assert!(!records.is_empty(), "only {read} came");
                read += records.len();
                kept.extend(records.iter().next().map(|record| record.to_owned()));
            }
            drop(poll(&mut consumer).await);
            settle().await;
            assert_eq!(metrics(&consumer).await.memory_kept, 0);
            assert!(
                kept.iter()
                    .all(|record| record.value().unwrap().len() == 20_000)
            );
        });
    }
}

/// A large decompressed batch that is given in many polls is the reader's, not kept by the application.
#[test]
fn f014_what_is_being_read_is_not_kept() {
    run(async {
        let broker = broker_of_large_batches(1);
        let records = (0..400).map(|n| vec![n as u8; 20_000]);
        broker
            .produce_compressed("t", 0, Compression::Zstd, records)
            .unwrap();
        let mut consumer = builder(&broker)
            .set("buffer.memory", &MIB.to_string())
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        for _ in 0..39 {
            let records = poll(&mut consumer).await;
            assert_eq!(records.len(), 10);
            assert_eq!(metrics(&consumer).await.memory_kept, 0);
        }
    });
}
