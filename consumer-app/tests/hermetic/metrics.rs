//! Metrics say what was done: compared with what the broker saw and the application was given.

#[cfg(feature = "metrics")]
mod export;

use std::time::Duration;

use consumer_app::{Consumer, MetricScope, Metrics, TopicPartition, metric_definitions};
use record_batch::Compression;
use test_broker::{ApiKey, BatchBuilder, Fault};

use crate::support::{
    broker, broker_of, builder, consumer, partitions, poll, produce, produce_batches, read, run,
    settle, tp,
};

const FETCH: &str = "consumer-fetch-manager-metrics";

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

/// A metric of the whole consumer.
fn value(metrics: &Metrics, name: &str) -> Option<f64> {
    metrics.get(FETCH, name)
}

/// A metric of a partition of topic `t`.
fn of_partition(metrics: &Metrics, name: &str, partition: i32) -> Option<f64> {
    let sought = |metric: &consumer_app::MetricValue<'_>| {
        metric.definition.name() == name && metric.partition == Some(partition)
    };
    metrics.iter().find(sought).map(|metric| metric.value)
}

/// `v1` to `v20` from ConsoleProducer: a Java consumer (4.4) that has read them says 20 and 191.
#[test]
fn records_and_bytes_consumed_are_what_the_java_client_counts() {
    for codec in [Compression::None, Compression::Lz4, Compression::Zstd] {
        for max_poll_records in ["1", "7", "500"] {
            run(async {
                let broker = broker(1);
                let values = (1..=20).map(|value| format!("v{value}"));
                broker.produce_compressed("t", 0, codec, values).unwrap();
                let mut consumer = builder(&broker)
                    .set("max.poll.records", max_poll_records)
                    .spawn_local()
                    .unwrap();
                consumer.assign([tp(0)]).await.unwrap();
                read(&mut consumer, 20).await;
                let metrics = metrics(&consumer).await;
                assert_eq!(value(&metrics, "records-consumed-total"), Some(20.0));
                assert_eq!(value(&metrics, "bytes-consumed-total"), Some(191.0));
                assert_eq!(value(&metrics, "records-per-request-avg"), Some(20.0));
                assert_eq!(metrics.topics["t"].total.records, 20);
            });
        }
    }
}

#[test]
fn batches_count_when_they_are_decoded() {
    run(async {
        let broker = broker(1);
        let values = (1..=20).map(|value| format!("v{value}"));
        broker.produce("t", 0, values).unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let batches = consumer.poll_batches(Duration::from_secs(5)).await.unwrap();
        assert_eq!(metrics(&consumer).await.records_consumed(), 0);
        for batches in batches.into_partitions() {
            batches.decode().unwrap();
        }
        let metrics = metrics(&consumer).await;
        assert_eq!(metrics.records_consumed(), 20);
        assert_eq!(metrics.bytes_consumed(), 191);
    });
}

/// What is counted of a topic stays when it is not assigned any more.
#[test]
fn totals_outlive_an_assignment() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 5);
        produce(&broker, 1, 3);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 5).await;
        consumer.assign([tp(1)]).await.unwrap();
        read(&mut consumer, 3).await;
        consumer.assign(None::<TopicPartition>).await.unwrap();
        let metrics = metrics(&consumer).await;
        assert_eq!(metrics.records_consumed(), 8);
        assert!(metrics.partitions.is_empty());
    });
}

#[test]
fn fetches_are_counted_as_the_broker_counts_them() {
    run(async {
        let broker = broker_of(2, 4);
        for partition in 0..4 {
            produce_batches(&broker, partition, 10, 1000);
        }
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        read(&mut consumer, 40).await;
        assert!(poll(&mut consumer).await.is_empty());
        let metrics = metrics(&consumer).await;
        let asked = broker.requests_of(ApiKey::Fetch).len() as u64;
        assert_eq!(metrics.fetch_requests, asked);
        // one long poll at each node has not been answered
        assert_eq!(metrics.fetch_responses, asked - 2);
        assert_eq!(
            value(&metrics, "fetch-total"),
            Some((asked - 2) as f64),
            "{metrics:?}"
        );
        assert!(metrics.fetch.latency.max.unwrap() >= 500.0, "{metrics:?}");
        // nothing twice and nothing in vain: beside the batches there is only the framing
        let ratio = value(&metrics, "bytes-fetched-per-byte-consumed").unwrap();
        assert!((1.0..1.1).contains(&ratio), "{ratio}");
        assert!(value(&metrics, "messages-per-response").unwrap() > 0.0);
    });
}

/// B207: once per response, whatever partitions it is about. Java counts when they are drained, here it is when it comes.
#[test]
fn b207_the_size_of_a_response_is_recorded_once() {
    run(async {
        let broker = broker(4);
        for partition in 0..4 {
            produce(&broker, partition, 10);
        }
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        read(&mut consumer, 40).await;
        let metrics = metrics(&consumer).await;
        let size = metrics.fetch.size;
        assert_eq!(size.count, metrics.data_bearing_responses);
        let stored: f64 = metrics
            .topics
            .values()
            .map(|topic| topic.total.fetched_bytes as f64)
            .sum();
        assert_eq!(size.sum, stored);
    });
}

#[test]
fn b203_lag_is_unknown_before_data_then_what_is_left_to_read() {
    run(async {
        let broker = broker(1);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "3")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(
            of_partition(&metrics(&consumer).await, "records-lag", 0),
            None
        );
        assert_eq!(value(&metrics(&consumer).await, "records-lag-max"), None);
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(
            of_partition(&metrics(&consumer).await, "records-lag", 0),
            Some(0.0)
        );
        produce(&broker, 0, 200);
        assert_eq!(poll(&mut consumer).await.len(), 3);
        let metrics = metrics(&consumer).await;
        assert_eq!(of_partition(&metrics, "records-lag", 0), Some(197.0));
        assert_eq!(value(&metrics, "records-lag-max"), Some(197.0));
    });
}

/// F066: an open transaction is no lag to a reader that must not read it.
#[test]
fn b204_f066_lag_with_read_committed_ends_at_the_last_stable_offset() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let open = BatchBuilder::new()
            .producer(7, 0, 0)
            .transactional()
            .base_offset(5);
        let open = (0..5).fold(open, |batch, _| batch.record("not committed yet"));
        broker.append_raw("t", 0, &open.build()).unwrap();
        let mut lags = Vec::new();
        for isolation in ["read_committed", "read_uncommitted"] {
            let mut consumer = builder(&broker)
                .set("isolation.level", isolation)
                .set("max.poll.records", "2")
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            assert_eq!(poll(&mut consumer).await.len(), 2);
            lags.push(of_partition(&metrics(&consumer).await, "records-lag", 0));
            read(&mut consumer, 3).await;
            lags.push(of_partition(&metrics(&consumer).await, "records-lag", 0));
        }
        assert_eq!(lags[..2], [Some(3.0), Some(0.0)]);
        assert_eq!(lags[2], Some(8.0));
    });
}

#[test]
fn b205_lead_is_counted_from_the_log_start_and_its_minimum_stays() {
    run(async {
        let broker = broker(1);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "3")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        let before = metrics(&consumer).await;
        assert_eq!(of_partition(&before, "records-lead", 0), Some(0.0));
        produce(&broker, 0, 10);
        assert_eq!(poll(&mut consumer).await.len(), 3);
        let after = metrics(&consumer).await;
        assert_eq!(of_partition(&after, "records-lead", 0), Some(3.0));
        assert_eq!(of_partition(&after, "records-lead-min", 0), Some(0.0));
        assert_eq!(value(&after, "records-lead-min"), Some(0.0));
    });
}

#[test]
fn b206_throttle_times_are_averaged() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        for millis in [100, 200, 300, 400] {
            let throttle = Fault::throttle(Duration::from_millis(millis));
            broker.inject(throttle.on(ApiKey::Fetch).times(1));
            assert!(poll(&mut consumer).await.is_empty());
        }
        let metrics = metrics(&consumer).await;
        let throttle = metrics.fetch.throttle;
        assert_eq!(throttle.max, Some(400.0));
        assert_eq!(throttle.sum, 1000.0);
        assert_eq!(value(&metrics, "fetch-throttle-time-max"), Some(400.0));
        assert_eq!(
            value(&metrics, "fetch-throttle-time-avg"),
            Some(1000.0 / throttle.count as f64)
        );
    });
}

/// The position is ahead of an end that a broker told before it was cut.
#[test]
fn f067_lag_is_never_below_zero() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 100);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 100).await;
        consumer.seek(&tp(0), 120).await.unwrap();
        let metrics = metrics(&consumer).await;
        assert_eq!(of_partition(&metrics, "records-lag", 0), Some(0.0));
    });
}

#[test]
fn f066_what_was_deleted_is_no_lag() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 1000);
        broker.delete_records("t", 0, 1000).unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign_at([(tp(0), 1000)]).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        consumer.seek(&tp(0), 10).await.unwrap();
        let metrics = metrics(&consumer).await;
        assert_eq!(of_partition(&metrics, "records-lag", 0), Some(0.0));
        assert_eq!(of_partition(&metrics, "records-lead", 0), Some(0.0));
    });
}

/// Neither consumed nor told: absent, and left out of the maximum.
#[test]
fn f065_an_unknown_lag_is_left_out() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 29);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "1")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        poll(&mut consumer).await;
        consumer.assign(partitions(2)).await.unwrap();
        let metrics = metrics(&consumer).await;
        assert_eq!(of_partition(&metrics, "records-lag", 1), None);
        assert_eq!(value(&metrics, "records-lag-max"), Some(28.0));
    });
}

/// Before the first connection, and after what was buffered was dropped by pause, seek and unassignment.
#[test]
fn f068_no_value_is_huge_and_memory_returns_to_zero() {
    run(async {
        let broker = broker(3);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "5")
            .spawn_local()
            .unwrap();
        let is_sane = |metrics: &Metrics| {
            for metric in metrics.iter() {
                let value = metric.value;
                let is_leader =
                    metric.definition.name() == "preferred-read-replica" && value == -1.0;
                assert!(is_leader || (0.0..1e15).contains(&value), "{metric:?}");
            }
        };
        is_sane(&metrics(&consumer).await);
        for partition in 0..3 {
            produce_batches(&broker, partition, 50, 1000);
        }
        consumer.assign(partitions(3)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(68);
        for _ in 0..1000 {
            let partition = tp(random.i32(0..3));
            let is_assigned = consumer.assignment().contains(&partition);
            match random.u8(0..6) {
                0 if is_assigned => consumer.pause([&partition]).await.unwrap(),
                1 if is_assigned => consumer.resume([&partition]).await.unwrap(),
                2 if is_assigned => {
                    let offset = random.i64(0..50);
                    consumer.seek(&partition, offset).await.unwrap();
                }
                3 => consumer
                    .assign((0..3).filter(|_| random.bool()).map(tp))
                    .await
                    .unwrap(),
                _ => {
                    let _ = consumer.poll(Duration::from_millis(1)).await;
                }
            }
            is_sane(&metrics(&consumer).await);
        }
        consumer.assign(None::<TopicPartition>).await.unwrap();
        // what the reader holds is dropped by its next poll
        let _ = consumer.poll(Duration::ZERO).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let metrics = metrics(&consumer).await;
        assert_eq!(value(&metrics, "buffer-memory-used"), Some(0.0));
        assert_eq!(
            value(&metrics, "buffer-memory-free"),
            Some(metrics.memory_limit as f64)
        );
    });
}

#[test]
fn the_time_without_memory_or_credit_is_told() {
    run(async {
        let broker = broker(1);
        produce_batches(&broker, 0, 200, 10_000);
        let mut consumer = builder(&broker)
            .set("max.partition.fetch.bytes", "100000")
            .set("max.poll.records", "1")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        poll(&mut consumer).await;
        let fresh = metrics(&consumer).await;
        tokio::time::sleep(Duration::from_secs(7)).await;
        let slept = metrics(&consumer).await;
        let name = "read-ahead-depleted-seconds-total";
        let rested = value(&slept, name).unwrap() - value(&fresh, name).unwrap();
        assert!((6.9..=7.1).contains(&rested), "{rested}");
        assert_eq!(slept.budget_depleted, Duration::ZERO);
        read(&mut consumer, 199).await;
        settle().await;
        let drained = metrics(&consumer).await;
        tokio::time::sleep(Duration::from_secs(7)).await;
        let after = metrics(&consumer).await;
        assert_eq!(after.credit_depleted, drained.credit_depleted);
    });
}

#[test]
fn the_time_without_memory_is_told() {
    run(async {
        let broker = broker(4);
        for partition in 0..4 {
            produce_batches(&broker, partition, 40, 100_000);
        }
        let mut consumer = builder(&broker)
            .set("buffer.memory", "1048576")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(4)).await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let full = metrics(&consumer).await;
        tokio::time::sleep(Duration::from_secs(7)).await;
        let slept = metrics(&consumer).await;
        let waited = slept.budget_depleted - full.budget_depleted;
        assert_eq!(waited, Duration::from_secs(7), "{slept:?}");
        read(&mut consumer, 160).await;
        settle().await;
        let drained = metrics(&consumer).await;
        tokio::time::sleep(Duration::from_secs(7)).await;
        let after = metrics(&consumer).await;
        assert_eq!(after.budget_depleted, drained.budget_depleted);
    });
}

#[test]
fn polls_are_timed() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(metrics(&consumer).await.polls.since_last, None);
        // half of each second in a poll
        for _ in 0..5 {
            let polled = consumer.poll(Duration::from_millis(500)).await.unwrap();
            assert!(polled.is_empty());
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        // a poll that is dropped while it waits counts as well
        tokio::select! {
            _ = consumer.poll(Duration::from_secs(60)) => panic!("nothing was produced"),
            () = tokio::time::sleep(Duration::from_millis(500)) => {}
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        let _ = consumer.poll(Duration::ZERO).await.unwrap();
        let metrics = metrics(&consumer).await;
        let group = "consumer-metrics";
        assert_eq!(metrics.polls.time_between.count, 6);
        assert_eq!(metrics.get(group, "time-between-poll-avg"), Some(1000.0));
        assert_eq!(metrics.get(group, "time-between-poll-max"), Some(1000.0));
        assert_eq!(metrics.get(group, "poll-idle-ratio-avg"), Some(0.5));
        assert_eq!(metrics.get(group, "last-poll-seconds-ago"), Some(0.0));
    });
}

/// B208: every name of the table has a value once there is something to say, and none has one that the table does not know.
#[test]
fn b208_the_values_are_those_of_the_table() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 10);
        let mut consumer = builder(&broker)
            .set("client.id", "billing")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        read(&mut consumer, 10).await;
        for _ in 0..2 {
            assert!(poll(&mut consumer).await.is_empty());
        }
        let metrics = metrics(&consumer).await;
        for definition in metric_definitions() {
            if definition.group() == "consumer-coordinator-metrics" {
                // there is no group
                continue;
            }
            let same =
                |other: &consumer_app::MetricValue<'_>| std::ptr::eq(other.definition, definition);
            let values: Vec<_> = metrics.iter().filter(same).collect();
            let expected = match definition.scope() {
                MetricScope::Client | MetricScope::Topic => 1,
                // nothing was given of the other one
                MetricScope::Partition if definition.name() == "records-lag-avg" => 1,
                MetricScope::Partition => 2,
            };
            assert_eq!(values.len(), expected, "{definition:?}");
            assert!(values.iter().all(|value| value.client_id == "billing"));
        }
        let coordinator = metrics
            .iter()
            .filter(|metric| metric.definition.group() == "consumer-coordinator-metrics");
        assert_eq!(coordinator.count(), 0);
    });
}
