//! Offsets that are asked for at the brokers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use consumer_app::{Error, ErrorCode, ListedOffset, OffsetSpec, TopicPartition};
use test_broker::{ApiKey, BatchBuilder, Fault, ProducerRecord, ResponseError, TestBroker};
use tokio::time::Instant;

use crate::support::pipes::{FarPipe, Pipe};
use crate::support::traffic::count;
use crate::support::{
    broker, broker_of, builder, consumer, partitions, produce, produce_batches, read, run, settle,
    tp,
};

const ROUND_TRIP: Duration = Duration::from_millis(40);

/// Times 20, 40, 60, 80 at offsets 0 to 3 of partition 0, in batches of two.
fn timed(broker: &TestBroker) {
    for times in [[20, 40], [60, 80]] {
        let records = times.map(|time| ProducerRecord::new("v").timestamp(time));
        broker.produce("t", 0, records).unwrap();
    }
}

#[test]
fn f072_b103_offsets_for_times_exact_between_future_and_of_an_empty_partition() {
    run(async {
        let broker = broker(2);
        timed(&broker);
        let consumer = consumer(&broker);
        for (time, expected) in [
            (0, Some((0, 20))),
            (20, Some((0, 20))),
            (21, Some((1, 40))),
            (60, Some((2, 60))),
            (80, Some((3, 80))),
            (81, None),
            (i64::MAX, None),
        ] {
            let found = consumer
                .offsets_for_times([(tp(0), time), (tp(1), time)])
                .await
                .unwrap();
            let expected = expected.map(|(offset, timestamp)| ListedOffset {
                offset,
                timestamp: Some(timestamp),
                leader_epoch: Some(0),
            });
            assert_eq!(found[&tp(0)], expected, "{time}");
            assert_eq!(found[&tp(1)], None, "{time}");
        }
        let error = consumer.offsets_for_times([(tp(0), -1)]).await.unwrap_err();
        assert!(
            matches!(error, Error::NegativeTimestamp { timestamp: -1, .. }),
            "{error}"
        );
    });
}

#[test]
fn each_place_of_a_log_can_be_asked_for() {
    run(async {
        let broker = broker(1);
        timed(&broker);
        let records = [ProducerRecord::new("late").timestamp(70)];
        broker.produce("t", 0, records).unwrap();
        broker.delete_records("t", 0, 1).unwrap();
        let consumer = consumer(&broker);
        for (spec, expected) in [
            (OffsetSpec::Earliest, Some((1, None))),
            (OffsetSpec::EarliestLocal, Some((1, None))),
            (OffsetSpec::Latest, Some((5, None))),
            (OffsetSpec::MaxTimestamp, Some((3, Some(80)))),
            (OffsetSpec::Timestamp(61), Some((3, Some(80)))),
            (OffsetSpec::LatestTiered, None),
        ] {
            let found = consumer.list_offsets([(tp(0), spec)]).await.unwrap()[&tp(0)];
            let found = found.map(|found| (found.offset, found.timestamp));
            assert_eq!(found, expected, "{spec:?}");
        }
    });
}

#[test]
fn both_ends_of_partitions_on_several_nodes_are_told_by_isolation() {
    run(async {
        let broker = broker_of(3, 6);
        for partition in 0..6 {
            produce(&broker, partition, 3 + usize::try_from(partition).unwrap());
        }
        broker.delete_records("t", 2, 2).unwrap();
        let open = BatchBuilder::new().producer(7, 0, 0).transactional();
        let open = open.base_offset(8).record("not committed yet");
        broker.append_raw("t", 5, &open.build()).unwrap();
        for (isolation, end_of_5) in [("read_uncommitted", 9), ("read_committed", 8)] {
            let consumer = builder(&broker)
                .set("isolation.level", isolation)
                .spawn_local()
                .unwrap();
            let all = partitions(6);
            let begins = consumer.beginning_offsets(&all).await.unwrap();
            assert_eq!(begins.into_values().collect::<Vec<_>>(), [0, 0, 2, 0, 0, 0]);
            let ends = consumer.end_offsets(&all).await.unwrap();
            assert_eq!(
                ends.into_values().collect::<Vec<_>>(),
                [3, 4, 5, 6, 7, end_of_5]
            );
        }
    });
}

#[test]
fn b101_a_question_about_nothing_asks_nobody() {
    run(async {
        let broker = broker(1);
        let consumer = consumer(&broker);
        let nothing: [&TopicPartition; 0] = [];
        assert!(consumer.end_offsets(nothing).await.unwrap().is_empty());
        assert!(consumer.list_offsets([]).await.unwrap().is_empty());
        settle().await;
        assert!(broker.requests().is_empty());
        let blank = TopicPartition::new(" ", 0);
        let error = consumer.end_offsets([&blank]).await.unwrap_err();
        assert!(matches!(error, Error::BlankTopic), "{error}");
    });
}

#[test]
fn b102_what_cannot_be_told_names_partition_and_reason() {
    run(async {
        let broker = broker(1);
        let consumer = builder(&broker)
            .set("default.api.timeout.ms", "20000")
            .set("allow.auto.create.topics", "false")
            .spawn_local()
            .unwrap();
        let unknown = [TopicPartition::new("none", 0), tp(1)];
        for partition in unknown {
            let error = consumer.end_offsets([&partition]).await.unwrap_err();
            let Error::OffsetsUnknown { partitions, error } = error else {
                panic!("{error}");
            };
            assert_eq!(partitions, [partition]);
            assert_eq!(error, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        }
        broker.freeze_node(1).unwrap();
        let begin = Instant::now();
        let error = consumer.end_offsets([&tp(0)]).await.unwrap_err();
        assert_eq!(begin.elapsed().as_secs(), 20);
        assert!(matches!(error, Error::Unreachable { .. }), "{error}");
    });
}

/// Over a connection of their own, so never behind a long poll, nor held up by a full buffer.
#[test]
fn with_a_full_buffer_and_a_long_poll_going_on_offsets_are_told_at_once() {
    run(async {
        let broker = broker(2);
        produce_batches(&broker, 0, 40, 100_000);
        let mut consumer = builder(&broker)
            .set("fetch.max.wait.ms", "30000")
            .set("buffer.memory", "1048576")
            .connector(Arc::new(FarPipe {
                pipe: Pipe(broker.clone()),
                delay: ROUND_TRIP,
            }))
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        read(&mut consumer, 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = count(&broker, 1, ApiKey::ListOffsets);
        for _ in 0..5 {
            let begin = Instant::now();
            assert_eq!(consumer.end_offsets([&tp(0)]).await.unwrap()[&tp(0)], 40);
            consumer.offsets_for_times([(tp(1), 5)]).await.unwrap();
            assert!(begin.elapsed() <= 2 * (ROUND_TRIP + Duration::from_millis(5)));
        }
        assert_eq!(
            count(&broker, 1, ApiKey::ListOffsets),
            asked + 10,
            "one round trip each"
        );
    });
}

#[test]
fn a_leader_that_moved_is_asked_where_it_is_now() {
    run(async {
        let broker = broker_of(2, 1);
        produce(&broker, 0, 3);
        let consumer = consumer(&broker);
        assert_eq!(consumer.end_offsets([&tp(0)]).await.unwrap()[&tp(0)], 3);
        broker.move_leader("t", 0, 2).unwrap();
        assert_eq!(consumer.end_offsets([&tp(0)]).await.unwrap()[&tp(0)], 3);
        broker.inject(
            Fault::error(ResponseError::OffsetNotAvailable)
                .on(ApiKey::ListOffsets)
                .times(3),
        );
        assert_eq!(consumer.end_offsets([&tp(0)]).await.unwrap()[&tp(0)], 3);
    });
}

/// KIP-1106. A record is as old as its timestamp says.
#[test]
fn b097_a_reset_by_duration_begins_at_the_first_record_that_is_not_older() {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap();
    let now = i64::try_from(now.as_millis()).unwrap();
    let hour = 3_600_000;
    for (duration, begins) in [("P2D", 0), ("PT90M", 1), ("PT30M", 2), ("PT1M", 3)] {
        run(async {
            let broker = broker(1);
            let ages = [24 * hour, hour, hour / 6];
            let records = ages.map(|age| ProducerRecord::new("v").timestamp(now - age));
            broker.produce("t", 0, records).unwrap();
            let reset = format!("by_duration:{duration}");
            let consumer = builder(&broker)
                .set("auto.offset.reset", &reset)
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            assert_eq!(
                consumer.await_position(&tp(0)).await.unwrap(),
                begins,
                "{duration}"
            );
        });
    }
}

#[test]
fn all_topics_are_listed_with_their_leaders_and_copies() {
    run(async {
        let broker = broker_of(2, 2);
        broker.create_topic("u", 1).unwrap();
        broker.remove_leader("u", 0).unwrap();
        let consumer = consumer(&broker);
        let topics = consumer.list_topics().await.unwrap();
        let names: Vec<_> = topics.keys().map(|name| &**name).collect();
        assert_eq!(names, ["t", "u"]);
        let leaders: Vec<_> = topics["t"]
            .partitions
            .values()
            .map(|info| info.leader)
            .collect();
        assert_eq!(leaders, [Some(1), Some(2)]);
        assert_eq!(topics["u"].partitions[&0].leader, None);
        assert!(!topics["t"].internal);
        assert!(topics["t"].partitions[&0].replicas.contains(&1));
        // it was a question, not an interest
        broker.clear_requests();
        tokio::time::sleep(Duration::from_secs(900)).await;
        assert_eq!(broker.requests().len(), 0);
        broker.create_topic("v", 1).unwrap();
        assert_eq!(consumer.list_topics().await.unwrap().len(), 3);
    });
}
