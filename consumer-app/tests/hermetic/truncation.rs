//! Positions are held against the logs of new leaders (KIP-320).

use std::time::Duration;

use consumer_app::{Consumer, EpochEnd, Error, OffsetAndMetadata, PartitionError};
use test_broker::{ApiKey, Fault, RequestRecord, ResponseError, TestBroker};

use crate::support::traffic::{asked_at, asked_offsets, asks, count, fetches};
use crate::support::{
    broker_of, builder, consumer, offsets, poll, poll_error, produce, read, run, tp,
};

const ENDS: ApiKey = ApiKey::OffsetForLeaderEpoch;

/// A leader that lacks what is behind `end` takes the place of the one before.
fn elect_uncleanly(broker: &TestBroker, node: i32, end: i64) {
    broker.truncate("t", 0, end).unwrap();
    broker.move_leader("t", 0, node).unwrap();
}

fn without_a_policy(broker: &TestBroker) -> Consumer {
    builder(broker)
        .set("auto.offset.reset", "none")
        .spawn_local()
        .unwrap()
}

fn truncated(offset: i64, end: Option<(i32, i64)>) -> PartitionError {
    PartitionError::LogTruncated {
        partition: tp(0),
        offset,
        leader_epoch: Some(0),
        end: end.map(|(leader_epoch, offset)| EpochEnd {
            leader_epoch,
            offset,
        }),
    }
}

fn partition_error(error: Error) -> PartitionError {
    match error {
        Error::Partition(error) => error,
        other => panic!("{other}"),
    }
}

/// In which order: the leader is asked about the epoch before it is asked for records.
#[test]
fn b115_a_new_leader_with_all_of_the_log_is_read_on_after_one_question() {
    run(async {
        let broker = broker_of(2, 1);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 10).await;
        broker.clear_requests();
        broker.move_leader("t", 0, 2).unwrap();
        produce(&broker, 0, 5);
        assert_eq!(read(&mut consumer, 5).await, (10..15).collect::<Vec<_>>());
        assert_eq!((count(&broker, 1, ENDS), count(&broker, 2, ENDS)), (0, 1));
        let at_2: Vec<ApiKey> = broker
            .requests()
            .iter()
            .filter(|request| request.node == 2)
            .map(|request| request.api_key)
            .filter(|api| [ENDS, ApiKey::Fetch].contains(api))
            .collect();
        assert_eq!(at_2[..2], [ENDS, ApiKey::Fetch]);
    });
}

/// Where the records at those offsets are others now, none of them is missed, and none is taken for one that was read.
#[test]
fn b113_with_a_policy_a_truncated_log_is_read_on_from_where_the_logs_part() {
    for reset in ["earliest", "latest"] {
        run(async {
            let broker = broker_of(2, 1);
            for _ in 0..10 {
                produce(&broker, 0, 1);
            }
            let mut consumer = builder(&broker)
                .set("auto.offset.reset", reset)
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            consumer.seek(&tp(0), 0).await.unwrap();
            read(&mut consumer, 10).await;
            elect_uncleanly(&broker, 2, 7);
            broker
                .produce("t", 0, ["new 7", "new 8", "new 9", "new 10"])
                .unwrap();
            let mut values = Vec::new();
            while values.len() < 4 {
                for record in &poll(&mut consumer).await {
                    let value = record.value().map(<[u8]>::to_vec);
                    values.push((record.offset(), value.unwrap_or_default()));
                }
            }
            let expected: Vec<_> = (7..11)
                .map(|offset| (offset, format!("new {offset}").into_bytes()))
                .collect();
            assert_eq!(values, expected, "{reset}");
            assert_eq!(consumer.position(&tp(0)), Some(11));
            // nothing was looked up
            assert_eq!(count(&broker, 2, ApiKey::ListOffsets), 0);
        });
    }
}

#[test]
fn b113_without_a_policy_a_truncation_is_told_with_all_that_is_known_of_it() {
    run(async {
        let broker = broker_of(2, 1);
        for _ in 0..10 {
            produce(&broker, 0, 1);
        }
        let mut consumer = without_a_policy(&broker);
        consumer.assign_at([(tp(0), 0)]).await.unwrap();
        read(&mut consumer, 10).await;
        elect_uncleanly(&broker, 2, 7);
        produce(&broker, 0, 20);
        let expected = truncated(10, Some((0, 7)));
        // it comes again, and the position stays
        for _ in 0..3 {
            let error = poll_error(&mut consumer).await;
            assert!(!error.is_retriable());
            assert_eq!(partition_error(error), expected);
        }
        assert_eq!(consumer.position(&tp(0)), Some(10));
        assert_eq!(
            expected.to_string(),
            "t-0: the log was truncated below the position, offset 10: the records read before it of leader epoch 0 end at offset 7 in \
             the leader's log (epoch 0); seek to offset 7 to go on with those that took their place"
        );
        consumer.seek(&tp(0), 7).await.unwrap();
        assert_eq!(read(&mut consumer, 20).await, (7..27).collect::<Vec<_>>());
    });
}

/// The epoch is gone from the leader's log, and with it all records.
#[test]
fn b114_an_epoch_that_the_leader_does_not_know_resets_or_is_told_without_an_end() {
    for reset in ["earliest", "none"] {
        run(async {
            let broker = broker_of(2, 1);
            let mut consumer = builder(&broker)
                .set("auto.offset.reset", reset)
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            broker.produce("t", 0, ["old 0", "old 1"]).unwrap();
            consumer.seek_with_epoch(&tp(0), 2, 77).await.unwrap();
            if reset == "none" {
                let expected = PartitionError::LogTruncated {
                    partition: tp(0),
                    offset: 2,
                    leader_epoch: Some(77),
                    end: None,
                };
                assert_eq!(partition_error(poll_error(&mut consumer).await), expected);
            } else {
                assert_eq!(read(&mut consumer, 2).await, [0, 1]);
            }
        });
    }
}

#[test]
fn what_was_buffered_is_given_before_the_truncation_is_acted_upon() {
    for reset in ["earliest", "none"] {
        run(async {
            let broker = broker_of(2, 1);
            for _ in 0..10 {
                produce(&broker, 0, 1);
            }
            let mut consumer = builder(&broker)
                .set("auto.offset.reset", reset)
                .set("max.poll.records", "3")
                .spawn_local()
                .unwrap();
            consumer.assign_at([(tp(0), 0)]).await.unwrap();
            asked_at(&broker, &tp(0), 10).await;
            elect_uncleanly(&broker, 2, 7);
            produce(&broker, 0, 2);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(read(&mut consumer, 10).await, (0..10).collect::<Vec<_>>());
            if reset == "none" {
                let error = poll_error(&mut consumer).await;
                assert_eq!(partition_error(error), truncated(10, Some((0, 7))));
            } else {
                assert_eq!(read(&mut consumer, 2).await, [7, 8]);
            }
        });
    }
}

/// Until the leader has answered, it is not asked for records.
#[test]
fn b117_a_partition_whose_validation_fails_is_not_fetched_and_not_reset() {
    run(async {
        let broker = broker_of(2, 1);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 10).await;
        let fault = broker.inject(
            Fault::error(ResponseError::FencedLeaderEpoch)
                .on(ENDS)
                .times(3),
        );
        broker.move_leader("t", 0, 2).unwrap();
        broker.clear_requests();
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [10]);
        assert_eq!(broker.fault_hits(fault), 3);
        let requests = broker.requests();
        let index = |wanted: &dyn Fn(&RequestRecord) -> bool| requests.iter().position(wanted);
        let fetched = index(&|request| request.node == 2 && request.api_key == ApiKey::Fetch);
        let validated = requests.iter().rposition(|request| request.api_key == ENDS);
        assert!(validated < fetched, "{validated:?} {fetched:?}");
        assert_eq!(count(&broker, 2, ApiKey::ListOffsets), 0);
    });
}

#[test]
fn b117_a_refused_validation_is_told_and_goes_on_when_it_is_allowed() {
    run(async {
        let broker = broker_of(2, 1);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 10).await;
        let fault = broker.inject(Fault::error(ResponseError::TopicAuthorizationFailed).on(ENDS));
        broker.move_leader("t", 0, 2).unwrap();
        produce(&broker, 0, 1);
        let error = partition_error(poll_error(&mut consumer).await);
        assert!(
            matches!(error, PartitionError::TopicAuthorizationFailed { .. }),
            "{error}"
        );
        broker.remove_fault(fault);
        loop {
            match consumer.poll(Duration::from_secs(5)).await {
                Ok(records) if records.is_empty() => {}
                Ok(records) => break assert_eq!(offsets(&records), [10]),
                Err(error) => assert!(matches!(
                    partition_error(error),
                    PartitionError::TopicAuthorizationFailed { .. }
                )),
            }
        }
    });
}

#[test]
fn b116_a_broker_that_consumers_cannot_ask_about_epochs_is_believed() {
    for versions in [None, Some(0..=2)] {
        run(async {
            let broker = TestBroker::builder().nodes(2).topic("t", 1);
            let broker = match versions {
                Some(versions) => broker.api_versions(ENDS, versions),
                None => broker.without_api(ENDS),
            };
            let broker = broker.start_in_memory().unwrap();
            produce(&broker, 0, 10);
            let mut consumer = consumer(&broker);
            consumer.assign([tp(0)]).await.unwrap();
            read(&mut consumer, 10).await;
            broker.move_leader("t", 0, 2).unwrap();
            produce(&broker, 0, 5);
            assert_eq!(read(&mut consumer, 5).await, (10..15).collect::<Vec<_>>());
            assert_eq!(count(&broker, 2, ENDS), 0);
        });
    }
}

/// One question for all partitions that moved to a node, not one each.
#[test]
fn b118_partitions_that_move_together_are_asked_about_together() {
    run(async {
        let broker = broker_of(2, 40);
        let mut consumer = consumer(&broker);
        consumer
            .assign(crate::support::partitions(40))
            .await
            .unwrap();
        for partition in 0..40 {
            produce(&broker, partition, 1);
        }
        read(&mut consumer, 40).await;
        broker.clear_requests();
        for partition in 0..40 {
            broker.move_leader("t", partition, 2).unwrap();
            produce(&broker, partition, 1);
        }
        read(&mut consumer, 40).await;
        let questions = count(&broker, 2, ENDS);
        // those that node 2 led before hear of their new epochs on their own
        assert!((1..=4).contains(&questions), "{questions}");
        assert_eq!(count(&broker, 1, ENDS), 0);
    });
}

#[test]
fn b113_a_stored_offset_is_validated_before_the_first_record_is_given() {
    run(async {
        let broker = broker_of(2, 1);
        for _ in 0..10 {
            produce(&broker, 0, 1);
        }
        elect_uncleanly(&broker, 2, 5);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        consumer.seek_with_epoch(&tp(0), 10, 0).await.unwrap();
        assert_eq!(read(&mut consumer, 10).await, (5..15).collect::<Vec<_>>());
        // the seek may come before the leader is known; whichever came first, 10 was never asked for
        assert!(!asked_offsets(&broker, &tp(0)).contains(&10));
        // of the same epoch and with all of the log nothing changes
        consumer.seek_with_epoch(&tp(0), 8, 1).await.unwrap();
        assert_eq!(read(&mut consumer, 7).await, (8..15).collect::<Vec<_>>());
        let refused = consumer.seek_with_epoch(&tp(0), -1, 1).await;
        assert!(matches!(refused, Err(Error::NegativeOffset { .. })));
    });
}

/// Java's `seek(TopicPartition, OffsetAndMetadata)`: what `committed` gave can be given back, with its epoch.
#[test]
fn b106_b113_a_committed_offset_that_is_sought_is_validated() {
    run(async {
        let broker = broker_of(2, 1);
        for _ in 0..10 {
            produce(&broker, 0, 1);
        }
        let mut consumer = builder(&broker).set("group.id", "g").spawn_local().unwrap();
        consumer.assign_at([(tp(0), 0)]).await.unwrap();
        read(&mut consumer, 10).await;
        let stored = OffsetAndMetadata {
            offset: 10,
            leader_epoch: Some(0),
            metadata: "of Tuesday".into(),
        };
        let offsets = [(tp(0), stored.clone())];
        consumer.commit_offsets(offsets).await.unwrap();
        let committed = consumer.committed([&tp(0)]).await.unwrap();
        let committed = committed[&tp(0)].clone().unwrap();
        assert_eq!(committed, stored);
        consumer.seek(&tp(0), 3).await.unwrap();
        let sought = consumer.seek_with_metadata(&tp(0), &committed);
        sought.await.unwrap();
        assert_eq!(consumer.position(&tp(0)), Some(10));
        // the epoch is that of the position from now on, the metadata is not
        consumer.commit().await.unwrap();
        let again = consumer.committed([&tp(0)]).await.unwrap();
        let again = again[&tp(0)].clone().unwrap();
        assert_eq!((again.offset, again.leader_epoch), (10, Some(0)));
        assert_eq!(again.metadata, "");

        elect_uncleanly(&broker, 2, 5);
        produce(&broker, 0, 10);
        assert_eq!(read(&mut consumer, 10).await, (5..15).collect::<Vec<_>>());
        broker.clear_requests();
        let sought = consumer.seek_with_metadata(&tp(0), &committed);
        sought.await.unwrap();
        assert_eq!(read(&mut consumer, 10).await, (5..15).collect::<Vec<_>>());
        assert_eq!(count(&broker, 2, ENDS), 1);
        assert!(!asked_offsets(&broker, &tp(0)).contains(&10));
        // without an epoch there is nothing to ask
        let plain = OffsetAndMetadata::from(10);
        let sought = consumer.seek_with_metadata(&tp(0), &plain);
        sought.await.unwrap();
        assert_eq!(read(&mut consumer, 5).await, (10..15).collect::<Vec<_>>());
        assert_eq!(count(&broker, 2, ENDS), 1);

        let before_all = OffsetAndMetadata::from(-1);
        let refused = consumer.seek_with_metadata(&tp(0), &before_all).await;
        assert!(matches!(refused, Err(Error::NegativeOffset { .. })));
        let unassigned = consumer.seek_with_metadata(&tp(1), &plain).await;
        assert!(matches!(unassigned, Err(Error::NoPosition { .. })));
    });
}

/// Java's client asks under the epoch that metadata told, and so does this one.
#[test]
fn a_seek_while_the_leader_is_asked_wins() {
    run(async {
        let broker = broker_of(2, 1);
        for _ in 0..10 {
            produce(&broker, 0, 1);
        }
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 10).await;
        broker.inject(Fault::delay(Duration::from_secs(3)).on(ENDS));
        elect_uncleanly(&broker, 2, 5);
        broker
            .wait_for_requests(|requests| requests.iter().any(|request| request.api_key == ENDS))
            .await;
        consumer.seek(&tp(0), 2).await.unwrap();
        assert_eq!(read(&mut consumer, 3).await, [2, 3, 4]);
        tokio::time::sleep(Duration::from_secs(5)).await;
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [5]);
        let again = fetches(&broker);
        let again = again
            .iter()
            .filter(|(_, fetch)| asks(fetch, &tp(0)) == Some(5));
        assert!(again.count() >= 1);
    });
}

/// The commit has the epoch of the last record, and whoever goes on there has the leader asked about it before the first fetch.
#[test]
fn f034_b119_a_committed_position_in_a_truncated_log_is_not_trusted() {
    for reset in ["earliest", "none"] {
        run(async {
            let broker = broker_of(2, 1);
            for _ in 0..10 {
                produce(&broker, 0, 1);
            }
            let member = || {
                builder(&broker)
                    .set("group.id", "g")
                    .set("auto.offset.reset", reset)
                    .spawn_local()
                    .unwrap()
            };
            let mut first = member();
            first.assign_at([(tp(0), 0)]).await.unwrap();
            read(&mut first, 10).await;
            first.commit().await.unwrap();
            first.close(Duration::from_secs(1)).await.unwrap();
            let committed = broker.committed("g", "t", 0).unwrap();
            assert_eq!((committed.offset, committed.leader_epoch), (10, 0));

            elect_uncleanly(&broker, 2, 9);
            produce(&broker, 0, 5);
            broker.clear_requests();
            let mut second = member();
            second.assign([tp(0)]).await.unwrap();
            if reset == "none" {
                let error = poll_error(&mut second).await;
                assert_eq!(partition_error(error), truncated(10, Some((0, 9))));
                assert_eq!(asked_offsets(&broker, &tp(0)), [0; 0]);
            } else {
                assert_eq!(read(&mut second, 5).await, (9..14).collect::<Vec<_>>());
                assert_eq!(asked_offsets(&broker, &tp(0))[0], 9);
            }
            // nothing was reset
            assert_eq!(count(&broker, 2, ApiKey::ListOffsets), 0);
        });
    }
}
