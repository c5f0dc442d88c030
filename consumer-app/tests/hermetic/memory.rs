//! The budget (KIP-81): what a consumer holds of fetched bytes, and that a full buffer holds nobody up for ever.

use std::collections::BTreeMap;
use std::time::Duration;

use consumer_app::{Consumer, Metrics, Records};
use record_batch::Compression;
use test_broker::TestBroker;

use crate::support::delivered::Delivered;
use crate::support::traffic::{asked_at, count};
use crate::support::{
    broker, builder, consumer, offsets_of, partitions, poll, produce, produce_batches, read, run,
    settle, tp,
};

const MIB: usize = 1 << 20;

/// A broker whose topic `t` takes batches of any size.
fn broker_of_large_batches(nodes: i32, partitions: i32) -> TestBroker {
    let broker = TestBroker::builder()
        .nodes(nodes)
        .start_in_memory()
        .unwrap();
    broker
        .create_topic_with("t", partitions, [("max.message.bytes", "100000000")])
        .unwrap();
    broker
}

fn small_consumer(broker: &TestBroker) -> Consumer {
    builder(broker)
        .set("buffer.memory", &MIB.to_string())
        .spawn_local()
        .unwrap()
}

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

/// What may be in use: the budget, and where a reply was let in over it, the largest batch and its framing.
fn allowed(metrics: &Metrics, largest: usize) -> u64 {
    let overdraw = if metrics.overdrawn_replies > 0 {
        largest + 64 * 1024
    } else {
        0
    };
    (MIB + overdraw) as u64
}

#[test]
fn batches_as_large_as_the_budget_and_larger_reach_an_application_that_slept() {
    for size in [MIB, 8 * MIB] {
        run(async {
            let broker = broker_of_large_batches(3, 6);
            for partition in 0..6 {
                produce_batches(&broker, partition, 4, size);
            }
            let mut consumer = small_consumer(&broker);
            consumer.assign(partitions(6)).await.unwrap();
            let mut delivered = Delivered::default();
            for nap in 0..60 {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let now = metrics(&consumer).await;
                assert!(now.memory_used <= allowed(&now, size), "{nap}: {now:?}");
            }
            let asleep = metrics(&consumer).await;
            while delivered.records < 24 {
                delivered.take(&poll(&mut consumer).await);
                let now = metrics(&consumer).await;
                assert!(now.memory_used <= allowed(&now, size), "{now:?}");
            }
            let after = metrics(&consumer).await;
            assert!(after.overdrawn_replies > 0);
            // one to each node, and none again; what had to be thrown away was so within its connection and session
            assert_eq!(
                (after.fetch_connections, after.sessions_lost),
                (3, 0),
                "{after:?}"
            );
            assert_eq!(asleep.fetch_connections, 3);
        });
    }
}

/// Sizes that fit, the budget is never exceeded, and everything comes; the application is slow.
#[test]
fn f013_the_budget_holds_for_what_fits_it() {
    run(async {
        let broker = broker_of_large_batches(3, 30);
        for partition in 0..30 {
            produce_batches(&broker, partition, 20, 10_000);
        }
        let mut consumer = builder(&broker)
            .set("buffer.memory", &MIB.to_string())
            .set("max.poll.records", "3")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(30)).await.unwrap();
        let mut delivered = Delivered::default();
        while delivered.records < 600 {
            delivered.take(&poll(&mut consumer).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
            let now = metrics(&consumer).await;
            assert!(now.memory_used <= MIB as u64, "{now:?}");
            assert_eq!(now.overdrawn_replies, 0);
        }
        assert_eq!(metrics(&consumer).await.sessions_lost, 0);
    });
}

#[test]
fn b036_a_drained_buffer_is_filled_again_at_once() {
    run(async {
        let broker = broker_of_large_batches(1, 4);
        for partition in 0..4 {
            produce_batches(&broker, partition, 100, 30_000);
        }
        let mut consumer = small_consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(10)).await;
        let asked = count(&broker, 1, test_broker::ApiKey::Fetch);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(
            count(&broker, 1, test_broker::ApiKey::Fetch),
            asked,
            "the buffer is full"
        );
        let mut delivered = Delivered::default();
        let begun = tokio::time::Instant::now();
        while delivered.records < 400 {
            delivered.take(&poll(&mut consumer).await);
        }
        assert!(
            begun.elapsed() < Duration::from_millis(10),
            "{:?}",
            begun.elapsed()
        );
    });
}

#[test]
fn f039_with_7_of_8_paused_and_a_full_buffer_the_eighth_flows() {
    run(async {
        let broker = broker_of_large_batches(1, 8);
        for partition in 0..8 {
            produce_batches(&broker, partition, 50, 50_000);
        }
        let mut consumer = small_consumer(&broker);
        consumer.assign(partitions(8)).await.unwrap();
        // everything in memory belongs to partitions that are paused now
        consumer.pause([&tp(7)]).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        consumer.pause(&partitions(7)).await.unwrap();
        consumer.resume([&tp(7)]).await.unwrap();
        let mut given = Vec::new();
        while given.len() < 50 {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "only {} came", given.len());
            let now = metrics(&consumer).await;
            assert!(now.memory_used <= MIB as u64, "{now:?}");
            assert_eq!(offsets_of(&records, 7).len(), records.len());
            given.extend(offsets_of(&records, 7));
        }
        assert_eq!(given, (0..50).collect::<Vec<_>>());
        // and the others are whole when they come back
        consumer.resume(&partitions(7)).await.unwrap();
        let mut delivered = Delivered::default();
        while delivered.records < 350 {
            delivered.take(&poll(&mut consumer).await);
            let now = metrics(&consumer).await;
            assert!(now.memory_used <= MIB as u64, "{now:?}");
        }
    });
}

/// Replies hold records of many partitions. What is dropped of some of them frees nothing while others keep the reply.
#[test]
fn f013_paused_data_that_gives_way_does_not_count_as_free_before_it_is() {
    run(async {
        let broker = broker_of_large_batches(1, 16);
        for partition in 0..16 {
            produce_batches(&broker, partition, 60, 10_000);
        }
        let mut consumer = builder(&broker)
            .set("buffer.memory", &MIB.to_string())
            .set("max.partition.fetch.bytes", "30000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(16)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        consumer.pause(&partitions(15)).await.unwrap();
        let mut given = Vec::new();
        while given.len() < 60 {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "only {} came", given.len());
            given.extend(offsets_of(&records, 15));
            drop(records);
            settle().await;
            let now = metrics(&consumer).await;
            assert!(now.memory_used <= MIB as u64, "{now:?}");
        }
        assert_eq!(given, (0..60).collect::<Vec<_>>());
        consumer.resume(&partitions(15)).await.unwrap();
        let mut delivered = Delivered::default();
        while delivered.records < 900 {
            delivered.take(&poll(&mut consumer).await);
        }
    });
}

/// What is decompressed is charged, too, and exceeds the budget by one batch at most.
#[test]
fn b035_compressed_batches_and_a_slow_application() {
    for codec in [Compression::Lz4, Compression::Zstd] {
        run(async {
            let broker = broker_of_large_batches(1, 4);
            let batch = 200_000;
            for partition in 0..4 {
                for _ in 0..40 {
                    let records = (0..20).map(|n| vec![n; batch / 20]);
                    broker
                        .produce_compressed("t", partition, codec, records)
                        .unwrap();
                }
            }
            let mut consumer = builder(&broker)
                .set("buffer.memory", &MIB.to_string())
                .set("max.poll.records", "10")
                .spawn_local()
                .unwrap();
            consumer.assign(partitions(4)).await.unwrap();
            let mut delivered = Delivered::default();
            let mut most = 0;
            while delivered.records < 3200 {
                let records = poll(&mut consumer).await;
                most = most.max(metrics(&consumer).await.memory_used);
                delivered.take(&records);
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            // a recycled buffer is up to twice as large as what is put into it
            let limit = (MIB + 2 * (batch + 16 * 1024)) as u64;
            assert!(most <= limit, "{codec}: {most}");
        });
    }
}

/// Bytes that the application keeps count until they are dropped, and never stop a node's last request.
#[test]
fn f014_records_that_are_kept_count_and_stop_nobody() {
    run(async {
        let broker = broker_of_large_batches(1, 2);
        for partition in 0..2 {
            produce_batches(&broker, partition, 100, 50_000);
        }
        let mut consumer = small_consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let mut kept: Vec<Records> = Vec::new();
        let mut delivered = Delivered::default();
        while delivered.records < 200 {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "only {} came", delivered.records);
            delivered.take(&records);
            kept.push(records);
        }
        settle().await;
        assert!(metrics(&consumer).await.memory_used >= 200 * 50_000);
        let again: usize = kept.iter().map(Records::len).sum();
        assert_eq!(again, 200);
        kept.clear();
        assert!(poll(&mut consumer).await.is_empty());
        assert!(metrics(&consumer).await.memory_used <= MIB as u64);
    });
}

/// One record kept by itself does not hold the response that it came in.
#[test]
fn f014_an_owned_record_holds_its_own_bytes_only() {
    run(async {
        let broker = broker_of_large_batches(1, 1);
        for _ in 0..20 {
            let records = (0..100).map(|n| vec![n; 5000]);
            broker.produce("t", 0, records).unwrap();
        }
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let mut kept = Vec::new();
        let mut read = 0;
        while read < 2000 {
            let records = poll(&mut consumer).await;
            read += records.len();
            kept.extend(records.iter().next().map(|record| record.to_owned()));
        }
        drop(poll(&mut consumer).await);
        consumer.assign(partitions(0)).await.unwrap();
        settle().await;
        assert_eq!(metrics(&consumer).await.memory_used, 0);
        assert!(
            kept.iter()
                .all(|record| record.value().unwrap().len() == 5000)
        );
    });
}

/// Memory that is gone with a seek, a pause or an assignment is free again.
#[test]
fn f068_nothing_is_left_when_everything_was_dropped() {
    run(async {
        let broker = broker_of_large_batches(2, 4);
        for partition in 0..4 {
            produce_batches(&broker, partition, 50, 20_000);
        }
        let mut consumer = small_consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        asked_at(&broker, &tp(3), 0).await;
        for round in 0..20 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            for partition in partitions(4) {
                consumer.seek(&partition, round).await.unwrap();
            }
        }
        let mut next: BTreeMap<i32, i64> = (0..4).map(|partition| (partition, 19)).collect();
        while next.values().any(|&next| next < 50) {
            for record in &poll(&mut consumer).await {
                let next = next.get_mut(&record.partition()).unwrap();
                assert_eq!(record.offset(), *next);
                *next += 1;
            }
        }
        consumer.assign(partitions(0)).await.unwrap();
        settle().await;
        assert_eq!(metrics(&consumer).await.memory_used, 0);
    });
}

/// Small answers do not each take a large piece of memory for themselves.
#[test]
fn f016_an_idle_consumer_does_not_grow() {
    run(async {
        let broker = broker(4);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        let before = metrics(&consumer).await.memory_used;
        for _ in 0..2000 {
            assert!(
                consumer
                    .poll(Duration::from_secs(1))
                    .await
                    .unwrap()
                    .is_empty()
            );
        }
        assert!(metrics(&consumer).await.memory_used <= before);
    });
}
