//! Errors of single partitions: what they cost, what the application hears, and that the others do not notice.

use std::time::Duration;

use consumer_app::{Consumer, Error, PartitionError};
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};

use crate::support::delivered::Delivered;
use crate::support::traffic::{asked_at, asked_offsets, count, fetches, session_fetches};
use crate::support::{
    broker, builder, consumer, offsets, offsets_of, partitions, poll, poll_error, produce, read,
    run, tp,
};

/// Every code that Kafka has, and some that it has not.
fn all_codes() -> impl Iterator<Item = ResponseError> {
    (-1..=133_i16)
        .chain([-2, 999, i16::MIN, i16::MAX])
        .filter_map(ResponseError::try_from_code)
}

/// Polls for so long; the errors are those of partition 0.
async fn poll_for(
    consumer: &mut Consumer,
    time: Duration,
    delivered: &mut Delivered,
) -> Vec<Error> {
    let begun = tokio::time::Instant::now();
    let mut errors = Vec::new();
    while begun.elapsed() < time {
        match consumer.poll(Duration::from_secs(1)).await {
            Ok(records) => delivered.take(&records),
            Err(error) => errors.push(error),
        }
    }
    errors
}

/// A node whose partition 0 is in an error that lasts: at most 2 requests a pause for it, a few errors for the application,
/// and the long poll of the others goes on.
async fn costs_little(broker: &TestBroker, consumer: &mut Consumer, heard: bool) {
    // the pauses have grown to retry.backoff.max.ms
    let mut delivered = Delivered::default();
    delivered.seek(&tp(0), consumer.position(&tp(0)).unwrap_or(0));
    poll_for(consumer, Duration::from_secs(10), &mut delivered).await;
    broker.clear_requests();
    let errors = poll_for(consumer, Duration::from_secs(60), &mut delivered).await;
    assert!(errors.iter().all(|error| error.partition() == Some(&tp(0))));
    assert_eq!(!errors.is_empty(), heard);
    assert!(errors.len() <= 90, "{}", errors.len());
    let in_all = count(broker, 1, ApiKey::Fetch);
    let long_polls = session_fetches(broker).len();
    // 60 s at fetch.max.wait.ms 500
    assert!((118..=122).contains(&long_polls), "{long_polls} long polls");
    assert!(in_all - long_polls <= 2 * 60, "{in_all} requests");
    assert!(
        session_fetches(broker)
            .iter()
            .all(|(_, f)| f.forgotten.is_empty())
    );
    produce(broker, 1, 3);
    while delivered.next(&tp(1)) < 3 {
        if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
            delivered.take(&records);
        }
    }
}

#[test]
fn b109_out_of_range_without_a_policy_costs_little_and_lasts_until_the_application_seeks() {
    run(async {
        let broker = broker(4);
        produce(&broker, 0, 10);
        let mut consumer = builder(&broker)
            .set("auto.offset.reset", "none")
            .spawn_local()
            .unwrap();
        let starts = [(tp(0), 500), (tp(1), 0), (tp(2), 0), (tp(3), 0)];
        consumer.assign_at(starts).await.unwrap();
        let error = poll_error(&mut consumer).await;
        let told = PartitionError::OffsetOutOfRange {
            partition: tp(0),
            offset: 500,
        };
        assert!(
            matches!(&error, Error::Partition(found) if *found == told),
            "{error}"
        );
        assert!(!error.is_retriable());
        costs_little(&broker, &mut consumer, true).await;
        consumer.seek(&tp(0), 4).await.unwrap();
        let mut given = Vec::new();
        while given.len() < 6 {
            // one more may have been on its way
            if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                given.extend(offsets_of(&records, 0));
            }
        }
        assert_eq!(given, [4, 5, 6, 7, 8, 9]);
    });
}

#[test]
fn b120_a_deleted_topic_costs_little_and_the_application_hears_of_it() {
    run(async {
        let broker = TestBroker::builder()
            .topic("gone", 1)
            .topic("t", 4)
            .auto_create_topics(false)
            .start_in_memory()
            .unwrap();
        broker.produce("gone", 0, ["x"]).unwrap();
        let gone = consumer_app::TopicPartition::new("gone", 0);
        let mut consumer = consumer(&broker);
        let all = partitions(4).into_iter().chain([gone.clone()]);
        consumer.assign(all).await.unwrap();
        assert_eq!(read(&mut consumer, 1).await, [0]);
        broker.delete_topic("gone").unwrap();
        let error = poll_error(&mut consumer).await;
        let told = matches!(&error, Error::Partition(PartitionError::UnknownPartition { partition }) if *partition == gone);
        assert!(told, "{error}");
        broker.clear_requests();
        let begun = tokio::time::Instant::now();
        let (mut errors, mut next) = (0, 0);
        while begun.elapsed() < Duration::from_secs(60) {
            produce(&broker, 1, 1);
            match consumer.poll(Duration::from_secs(1)).await {
                Ok(records) => {
                    for offset in offsets(&records) {
                        assert_eq!(offset, next);
                        next += 1;
                    }
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Err(error) => {
                    assert_eq!(error.partition(), Some(&gone));
                    errors += 1;
                }
            }
        }
        assert!(next >= 50, "{next}");
        assert!((8..=14).contains(&errors), "{errors}");
        let of_gone = fetches(&broker);
        let of_gone = of_gone.iter().filter(|(_, f)| {
            f.partitions
                .iter()
                .any(|named| named.partition.topic() != "t")
        });
        let of_gone = of_gone.count();
        assert!(of_gone <= 2 * 60, "{of_gone}");
        let metadata = count(&broker, 1, ApiKey::Metadata);
        assert!(metadata <= 2 * 60, "{metadata}");
        // it is created again: the same assignment goes on
        assert_eq!(broker.counters().fetch_sessions, 1);
    });
}

#[test]
fn f058_b187_authorization_is_reported_and_its_return_noticed() {
    run(async {
        let broker = broker(4);
        produce(&broker, 0, 3);
        let refused = broker.inject(
            Fault::error(ResponseError::TopicAuthorizationFailed)
                .on(ApiKey::Fetch)
                .partition("t", 0),
        );
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        let error = poll_error(&mut consumer).await;
        let told = matches!(
            &error,
            Error::Partition(PartitionError::TopicAuthorizationFailed { partition }) if *partition == tp(0)
        );
        assert!(told && error.to_string().contains("READ"), "{error}");
        costs_little(&broker, &mut consumer, true).await;
        broker.remove_fault(refused);
        let mut given = Vec::new();
        while given.len() < 3 {
            if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                given.extend(offsets_of(&records, 0));
            }
        }
        assert_eq!(given, [0, 1, 2]);
    });
}

/// Whatever a broker answers for a partition: a clear error or quiet repetition, and nothing is lost when it ends.
#[test]
fn b185_b186_b188_every_code_of_a_partition_in_a_fetch() {
    // what Java hides as well: it passes by itself, and metadata is asked for
    let quiet = [-1, 1, 3, 6, 9, 56, 74, 75, 78, 100, 103];
    for code in all_codes() {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 3);
            let fault = broker.inject(Fault::error(code).on(ApiKey::Fetch).partition("t", 0));
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            let mut delivered = Delivered::default();
            produce(&broker, 1, 2);
            let errors = poll_for(&mut consumer, Duration::from_secs(20), &mut delivered).await;
            assert_eq!(delivered.next(&tp(0)), 0, "{code:?}");
            assert_eq!(delivered.next(&tp(1)), 2, "{code:?}");
            let is_quiet = quiet.contains(&code.code());
            assert_eq!(errors.is_empty(), is_quiet, "{code:?}: {errors:?}");
            for error in errors {
                assert_eq!(error.partition(), Some(&tp(0)), "{code:?}");
                let Error::Partition(error) = error else {
                    panic!("{code:?}: {error}");
                };
                match error {
                    PartitionError::TopicAuthorizationFailed { .. } => assert_eq!(code.code(), 29),
                    PartitionError::CorruptMessage { offset: 0, .. } => assert_eq!(code.code(), 2),
                    PartitionError::UnexpectedError {
                        error_code,
                        offset: 0,
                        ..
                    } => {
                        assert_eq!(code.code(), error_code);
                    }
                    other => panic!("{code:?}: {other}"),
                }
            }
            let requests = count(&broker, 1, ApiKey::Fetch);
            assert!(requests <= 40 + 2 * 20 + 10, "{code:?}: {requests}");
            broker.remove_fault(fault);
            while delivered.next(&tp(0)) < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    delivered.take(&records);
                }
            }
        });
    }
}

#[test]
fn every_code_at_the_top_of_a_fetch_is_survived() {
    for code in all_codes() {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 3);
            broker.inject(Fault::error(code).on(ApiKey::Fetch).times(3));
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            assert_eq!(read(&mut consumer, 3).await, [0, 1, 2], "{code:?}");
            let requests = count(&broker, 1, ApiKey::Fetch);
            assert!(requests <= 6, "{code:?}: {requests}");
        });
    }
}

/// A broker that refuses every request at the top is not asked at full speed.
#[test]
fn an_error_at_the_top_of_every_fetch_does_not_spin() {
    for code in all_codes() {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 3);
            let fault = broker.inject(Fault::error(code).on(ApiKey::Fetch));
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            let mut delivered = Delivered::default();
            poll_for(&mut consumer, Duration::from_secs(20), &mut delivered).await;
            let requests = count(&broker, 1, ApiKey::Fetch);
            assert!(requests <= 60, "{code:?}: {requests}");
            broker.remove_fault(fault);
            while delivered.records < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    delivered.take(&records);
                }
            }
        });
    }
}

/// A lookup that fails goes on until it succeeds; the other partition does not wait for it.
#[test]
fn b100_every_code_of_a_lookup() {
    let heard = [29, 43, 35];
    for code in all_codes() {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 3);
            produce(&broker, 1, 3);
            let fault = broker.inject(Fault::error(code).on(ApiKey::ListOffsets).partition("t", 0));
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            let mut delivered = Delivered::default();
            let errors = poll_for(&mut consumer, Duration::from_secs(10), &mut delivered).await;
            assert_eq!(
                (delivered.next(&tp(0)), delivered.next(&tp(1))),
                (0, 3),
                "{code:?}"
            );
            assert_eq!(
                !errors.is_empty(),
                heard.contains(&code.code()),
                "{code:?}: {errors:?}"
            );
            let lookups = count(&broker, 1, ApiKey::ListOffsets);
            assert!((8..=20).contains(&lookups), "{code:?}: {lookups}");
            let metadata = count(&broker, 1, ApiKey::Metadata);
            assert!(metadata <= 20, "{code:?}: {metadata}");
            broker.remove_fault(fault);
            while delivered.next(&tp(0)) < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    delivered.take(&records);
                }
            }
        });
    }
}

/// What metadata says of a topic: asked again until it is good, told if it is about the topic.
#[test]
fn every_code_of_a_topic_in_metadata() {
    let heard = [3, 17, 29, 100];
    for code in all_codes() {
        run(async {
            let broker = TestBroker::builder()
                .topic("t", 1)
                .topic("u", 1)
                .start_in_memory()
                .unwrap();
            produce(&broker, 0, 3);
            broker.produce("u", 0, ["other"]).unwrap();
            let fault = broker.inject(Fault::error(code).on(ApiKey::Metadata).topic("t"));
            let mut consumer = consumer(&broker);
            let u = consumer_app::TopicPartition::new("u", 0);
            consumer.assign([tp(0), u.clone()]).await.unwrap();
            let mut delivered = Delivered::default();
            let errors = poll_for(&mut consumer, Duration::from_secs(16), &mut delivered).await;
            if delivered.next(&tp(0)) == 0 {
                assert_eq!(
                    !errors.is_empty(),
                    heard.contains(&code.code()),
                    "{code:?}: {errors:?}"
                );
            }
            assert_eq!(delivered.next(&u), 1, "{code:?}");
            let metadata = count(&broker, 1, ApiKey::Metadata);
            assert!(metadata <= 30, "{code:?}: {metadata}");
            broker.remove_fault(fault);
            while delivered.next(&tp(0)) < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    delivered.take(&records);
                }
            }
        });
    }
}

/// The version handshake is refused: the brokers cannot be used, the application hears it, and it passes.
#[test]
fn every_code_of_the_version_handshake() {
    for code in all_codes() {
        run(async {
            let broker = broker(1);
            produce(&broker, 0, 3);
            let fault = broker.inject(Fault::error(code).on(ApiKey::ApiVersions));
            let mut consumer = builder(&broker)
                .set("default.api.timeout.ms", "10000")
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            let mut delivered = Delivered::default();
            let errors = poll_for(&mut consumer, Duration::from_secs(21), &mut delivered).await;
            assert_eq!(delivered.records, 0);
            assert!((1..=3).contains(&errors.len()), "{code:?}: {errors:?}");
            assert!(
                errors
                    .iter()
                    .all(|error| matches!(error, Error::Unreachable { .. }))
            );
            let attempts = count(&broker, 1, ApiKey::ApiVersions);
            assert!(attempts <= 120, "{code:?}: {attempts}");
            broker.remove_fault(fault);
            while delivered.records < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    delivered.take(&records);
                }
            }
        });
    }
}

#[test]
fn b189_b191_records_before_the_error_of_another_partition_come_first() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 3);
        let mut consumer = builder(&broker)
            .set("auto.offset.reset", "none")
            .spawn_local()
            .unwrap();
        consumer.assign_at([(tp(0), 0), (tp(1), 7)]).await.unwrap();
        asked_at(&broker, &tp(0), 3).await;
        let (mut given, mut errors) = (Vec::new(), 0);
        for _ in 0..2 {
            match consumer.poll(Duration::from_secs(1)).await {
                Ok(records) => given.extend(offsets(&records)),
                Err(error) => {
                    assert_eq!(error.partition(), Some(&tp(1)));
                    errors += 1;
                }
            }
        }
        assert_eq!((given, errors), (vec![0, 1, 2], 1));
        assert_eq!(consumer.position(&tp(0)), Some(3));
        assert_eq!(consumer.position(&tp(1)), Some(7));
    });
}

/// An out-of-range answer for an offset that the application has left by a seek means nothing.
#[test]
fn b110_an_error_of_before_a_seek_is_not_told() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 10);
        broker.inject(
            Fault::delay(Duration::from_millis(100))
                .on(ApiKey::Fetch)
                .after_applying()
                .times(1),
        );
        let mut consumer = builder(&broker)
            .set("auto.offset.reset", "none")
            .spawn_local()
            .unwrap();
        consumer.assign_at([(tp(0), 500)]).await.unwrap();
        asked_at(&broker, &tp(0), 500).await;
        consumer.seek(&tp(0), 1).await.unwrap();
        assert_eq!(read(&mut consumer, 9).await, (1..10).collect::<Vec<_>>());
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(asked_offsets(&broker, &tp(0))[0], 500);
    });
}
