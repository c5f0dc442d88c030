//! Where reading begins, and what an offset that is not there leads to.

use std::time::Duration;

use consumer_app::{Error, PartitionError};
use test_broker::{ApiKey, Fault, ResponseError};

use crate::support::traffic::{asked_at, asked_offsets, count};
use crate::support::{
    broker, broker_of, builder, consumer, partitions, poll, poll_error, produce, read, run, tp,
};

#[test]
fn b104_each_policy_begins_where_it_says() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 10);
        broker.delete_records("t", 0, 4).unwrap();
        for (policy, begins) in [("earliest", 4), ("latest", 11)] {
            let mut consumer = builder(&broker)
                .set("auto.offset.reset", policy)
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            assert_eq!(consumer.await_position(&tp(0)).await.unwrap(), begins);
            produce(&broker, 0, 1);
            assert_eq!(read(&mut consumer, 1).await[0], begins);
            consumer.close(Duration::from_secs(1)).await.unwrap();
        }
        let mut consumer = builder(&broker)
            .set("auto.offset.reset", "none")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        for _ in 0..2 {
            let error = poll_error(&mut consumer).await;
            let told = PartitionError::NoOffsetForPartition { partition: tp(0) };
            assert!(
                matches!(&error, Error::Partition(found) if *found == told),
                "{error}"
            );
        }
        assert_eq!(
            asked_offsets(&broker, &tp(0))
                .iter()
                .filter(|&&o| o < 4)
                .count(),
            0
        );
        consumer.seek(&tp(0), 6).await.unwrap();
        assert_eq!(read(&mut consumer, 6).await, (6..12).collect::<Vec<_>>());
    });
}

/// The log moved on below, or ends above, the position.
#[test]
fn b104_b109_f032_out_of_range_resets_by_the_policy() {
    for (policy, position, begins) in [
        ("earliest", 2, 4),
        ("earliest", 50, 4),
        ("latest", 2, 10),
        ("latest", 50, 10),
    ] {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 10);
            broker.delete_records("t", 0, 4).unwrap();
            let mut consumer = builder(&broker)
                .set("auto.offset.reset", policy)
                .spawn_local()
                .unwrap();
            consumer
                .assign_at([(tp(0), position), (tp(1), 0)])
                .await
                .unwrap();
            asked_at(&broker, &tp(0), begins).await;
            produce(&broker, 0, 1);
            let records = read(&mut consumer, usize::try_from(11 - begins).unwrap()).await;
            assert_eq!(
                records,
                (begins..11).collect::<Vec<_>>(),
                "{policy} at {position}"
            );
            assert_eq!(asked_offsets(&broker, &tp(0))[0], position);
            // no error was told, and the other partition's session is whole
            produce(&broker, 1, 1);
            assert_eq!(read(&mut consumer, 1).await, [0]);
        });
    }
}

/// A position inside the log that is refused once is not out of range.
#[test]
fn f032_an_offset_that_is_refused_once_and_exists_is_read_on_after_the_reset() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 100);
        broker.inject(
            Fault::error(ResponseError::OffsetOutOfRange)
                .on(ApiKey::Fetch)
                .partition("t", 0)
                .times(1),
        );
        let mut consumer = consumer(&broker);
        consumer.assign_at([(tp(0), 50)]).await.unwrap();
        // Java's policies know no "nearest": earliest goes to the start, and nothing is skipped
        assert_eq!(read(&mut consumer, 100).await, (0..100).collect::<Vec<_>>());
    });
}

/// Only the broker's word resets a position; a connection that breaks does not.
#[test]
fn f031_connections_that_break_in_a_lookup_do_not_move_a_position() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 20);
        broker.inject(Fault::close().on(ApiKey::ListOffsets).times(5));
        let mut consumer = builder(&broker)
            .set("auto.offset.reset", "latest")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(consumer.await_position(&tp(0)).await.unwrap(), 20);
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [20]);
        assert_eq!(count(&broker, 1, ApiKey::ListOffsets), 6);
        for _ in 0..5 {
            broker.inject(Fault::close().on(ApiKey::Fetch).times(1));
            produce(&broker, 0, 1);
            read(&mut consumer, 1).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        assert_eq!(consumer.position(&tp(0)), Some(26));
        assert_eq!(count(&broker, 1, ApiKey::ListOffsets), 6);
    });
}

#[test]
fn b098_a_seek_wins_over_a_lookup_that_is_out() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 300);
        broker.inject(
            Fault::delay(Duration::from_millis(200))
                .on(ApiKey::ListOffsets)
                .after_applying(),
        );
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let asked = |requests: &[test_broker::RequestRecord]| {
            requests
                .iter()
                .any(|request| request.api_key == ApiKey::ListOffsets)
        };
        broker.wait_for_requests(asked).await;
        consumer.seek(&tp(0), 237).await.unwrap();
        assert_eq!(read(&mut consumer, 63).await[0], 237);
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.position(&tp(0)), Some(300));
        assert!(!asked_offsets(&broker, &tp(0)).contains(&0));
    });
}

#[test]
fn f030_b111_two_seeks_and_a_seek_to_the_end_hold() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 10);
        produce(&broker, 1, 10);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        consumer.seek(&tp(0), 5).await.unwrap();
        consumer.seek(&tp(1), 7).await.unwrap();
        let mut given = read(&mut consumer, 8).await;
        given.sort_unstable();
        assert_eq!(given, [5, 6, 7, 7, 8, 8, 9, 9]);
        assert_eq!(consumer.seek_to_end(&tp(0)).await.unwrap(), 10);
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [10]);
        assert_eq!(consumer.seek_to_beginning(&tp(1)).await.unwrap(), 0);
        assert_eq!(read(&mut consumer, 10).await, (0..10).collect::<Vec<_>>());
        let negative = consumer.seek(&tp(0), -1).await;
        assert!(matches!(
            negative,
            Err(Error::NegativeOffset { offset: -1, .. })
        ));
        let stranger = consumer.seek(&tp(7), 0).await;
        assert!(
            matches!(stranger, Err(Error::NoPosition(_))),
            "{stranger:?}"
        );
    });
}

/// One request a leader, whatever the number of partitions.
#[test]
fn b097_lookups_are_grouped_by_leader_and_wait_for_no_long_poll() {
    run(async {
        let broker = broker_of(3, 30);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(30)).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        for node in 1..4 {
            assert_eq!(count(&broker, node, ApiKey::ListOffsets), 1);
        }
        let begun = tokio::time::Instant::now();
        consumer.seek_to_end(&tp(0)).await.unwrap();
        assert!(
            begun.elapsed() < Duration::from_millis(10),
            "it waited behind a fetch"
        );
    });
}

/// A position that is not found is waited for no longer than the limit; asking for what is known waits for nothing.
#[test]
fn b101_a_lookup_ends_at_its_deadline() {
    run(async {
        let broker = broker(1);
        broker.inject(Fault::error(ResponseError::OffsetNotAvailable).on(ApiKey::ListOffsets));
        let consumer = builder(&broker)
            .set("default.api.timeout.ms", "3000")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let begun = tokio::time::Instant::now();
        for ask in 1..=2 {
            let found = match ask {
                1 => consumer.await_position(&tp(0)).await,
                _ => consumer.seek_to_end(&tp(0)).await,
            };
            let error = found.expect_err("no position can be found");
            assert!(matches!(error, Error::NoPosition(_)), "{error}");
            assert!(error.is_retriable());
            let waited = begun.elapsed();
            assert!(waited >= ask * Duration::from_secs(3), "{waited:?}");
            assert!(waited <= ask * Duration::from_millis(3002), "{waited:?}");
        }
        assert_eq!(consumer.position(&tp(0)), None);
        broker.clear_faults();
        assert_eq!(consumer.await_position(&tp(0)).await.unwrap(), 0);
        let stranger = consumer.await_position(&tp(9)).await;
        assert!(!stranger.expect_err("not assigned").is_retriable());
    });
}
