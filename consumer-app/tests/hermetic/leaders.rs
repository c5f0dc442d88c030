//! Leaders that move, die, freeze and come back; what metadata says of them, and says wrongly.

use std::time::Duration;

use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{BrokerId, MetadataResponse};
use kafka_protocol::protocol::StrBytes;
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};

use crate::support::crafted;
use crate::support::delivered::Delivered;
use crate::support::traffic::{asked_at, asks, count, fetches, sessions};
use crate::support::{
    broker, broker_of, builder, consumer, partitions, poll, produce, read, run, settle, tp,
};

/// Reads until so many records have come.
async fn read_to(consumer: &mut consumer_app::Consumer, delivered: &mut Delivered, records: usize) {
    let begun = tokio::time::Instant::now();
    while delivered.records < records {
        delivered.take(&poll(consumer).await);
        assert!(begun.elapsed() < Duration::from_secs(300), "{delivered:?}");
    }
}

#[test]
fn b030_b185_records_flow_on_when_a_leader_moves() {
    run(async {
        let broker = broker_of(3, 6);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(6)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(30);
        let mut delivered = Delivered::default();
        let mut produced = 0;
        for _ in 0..100 {
            let moved = random.i32(0..6);
            broker.move_leader("t", moved, random.i32(1..4)).unwrap();
            for _ in 0..random.usize(1..5) {
                produce(&broker, random.i32(0..6), 3);
                produced += 3;
            }
            let begun = tokio::time::Instant::now();
            read_to(&mut consumer, &mut delivered, produced).await;
            assert!(
                begun.elapsed() < Duration::from_secs(1),
                "{:?}",
                begun.elapsed()
            );
        }
        assert_eq!(consumer.metrics().await.unwrap().discarded_replies, 0);
    });
}

/// Data read from the old leader stays; what was in flight to it is void; nothing is asked for twice in vain.
#[test]
fn what_was_buffered_from_the_old_leader_is_given() {
    run(async {
        let broker = broker_of(2, 2);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 10).await;
        broker.move_leader("t", 0, 2).unwrap();
        produce(&broker, 0, 5);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(read(&mut consumer, 15).await, (0..15).collect::<Vec<_>>());
        let asked: Vec<_> = fetches(&broker)
            .iter()
            .filter_map(|(node, fetch)| Some((*node, asks(fetch, &tp(0))?)))
            .collect();
        assert_eq!(asked[..2], [(1, 0), (1, 10)]);
        assert!(
            asked[2..].iter().all(|&(_, offset)| offset >= 10),
            "{asked:?}"
        );
        // once more perhaps, before metadata tells
        assert!(asked[3..].iter().all(|&(node, _)| node == 2), "{asked:?}");
    });
}

#[test]
fn b031_requests_carry_the_leader_epoch_of_metadata() {
    run(async {
        let broker = broker(1);
        for _ in 0..99 {
            broker.bump_leader_epoch("t", 0).unwrap();
        }
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        let epochs = |broker: &TestBroker| -> Vec<i32> {
            let all = fetches(broker);
            let named = all.iter().flat_map(|(_, fetch)| fetch.partitions.clone());
            named.map(|named| named.current_leader_epoch).collect()
        };
        assert!(epochs(&broker).iter().all(|&epoch| epoch == 99));
        // elected again: fenced once, then the new epoch, and no record missed
        broker.bump_leader_epoch("t", 0).unwrap();
        produce(&broker, 0, 3);
        assert_eq!(read(&mut consumer, 3).await, [1, 2, 3]);
        assert_eq!(epochs(&broker).last(), Some(&100));
        assert!(count(&broker, 1, ApiKey::Metadata) <= 3);
    });
}

/// A broker that lags behind tells of an older leader, or of fewer partitions than there are.
#[test]
fn b031_b032_stale_metadata_brings_no_old_leader_back() {
    run(async {
        const VERSION: i16 = 9;
        let broker = TestBroker::builder()
            .nodes(2)
            .topic("t", 2)
            .api_versions(ApiKey::Metadata, 0..=VERSION)
            .start_in_memory()
            .unwrap();
        broker.move_leader("t", 0, 2).unwrap();
        let mut consumer = builder(&broker)
            .set("metadata.max.age.ms", "2000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        settle().await;
        let stale = MetadataResponse::default()
            .with_brokers(
                (1..3)
                    .map(|node| {
                        MetadataResponseBroker::default()
                            .with_node_id(BrokerId(node))
                            .with_host(StrBytes::from_string(format!("node-{node}")))
                            .with_port(9092)
                    })
                    .collect(),
            )
            .with_topics(vec![
                MetadataResponseTopic::default()
                    .with_name(Some(crafted::topic_name("t")))
                    .with_partitions(vec![
                        MetadataResponsePartition::default()
                            .with_partition_index(0)
                            .with_leader_id(BrokerId(1))
                            .with_leader_epoch(0),
                    ]),
            ]);
        broker.inject(
            Fault::answer_body(crafted::body(&stale, VERSION))
                .on(ApiKey::Metadata)
                .times(3),
        );
        broker.clear_requests();
        let mut delivered = Delivered::default();
        delivered.seek(&tp(0), 1);
        for round in 1..20 {
            produce(&broker, 0, 1);
            produce(&broker, 1, 1);
            read_to(&mut consumer, &mut delivered, 2 * round).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(count(&broker, 1, ApiKey::Metadata) + count(&broker, 2, ApiKey::Metadata) >= 3);
        let wrong = fetches(&broker)
            .iter()
            .any(|(node, f)| *node == 1 && asks(f, &tp(0)).is_some());
        assert!(!wrong, "the old leader was asked");
    });
}

/// Brokers without epochs: they are not compared, and a leader that moves is followed all the same.
#[test]
fn f035_all_epochs_are_missing() {
    run(async {
        let broker = TestBroker::builder()
            .nodes(2)
            .topic("t", 2)
            .api_versions(ApiKey::Metadata, 0..=6)
            .api_versions(ApiKey::Fetch, 4..=8)
            .api_versions(ApiKey::ListOffsets, 1..=3)
            .start_in_memory()
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 1..=10 {
            broker
                .move_leader("t", 0, 1 + i32::try_from(round % 2).unwrap())
                .unwrap();
            produce(&broker, 0, 1);
            produce(&broker, 1, 1);
            let begun = tokio::time::Instant::now();
            read_to(&mut consumer, &mut delivered, 2 * round).await;
            assert!(
                begun.elapsed() < Duration::from_secs(1),
                "{:?}",
                begun.elapsed()
            );
        }
        let all = fetches(&broker);
        let mut named = all.iter().flat_map(|(_, fetch)| &fetch.partitions);
        assert!(named.all(|named| named.current_leader_epoch == -1));
    });
}

#[test]
fn b032_partitions_that_are_added_can_be_assigned() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        // assigned, and not there yet
        let told = consumer.poll(Duration::from_secs(8)).await;
        assert!(
            matches!(&told, Err(error) if error.partition() == Some(&tp(1))),
            "{told:?}"
        );
        broker.add_partitions("t", 3).unwrap();
        produce(&broker, 1, 2);
        produce(&broker, 2, 2);
        let mut delivered = Delivered::default();
        delivered.seek(&tp(0), 1);
        while delivered.records < 2 {
            if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                delivered.take(&records);
            }
        }
        consumer.assign(partitions(3)).await.unwrap();
        read_to(&mut consumer, &mut delivered, 4).await;
        assert_eq!(consumer.partitions_for("t").await.unwrap().len(), 3);
    });
}

/// Each code that says "not here, or not now": metadata is asked again, and nothing is lost.
#[test]
fn b185_b186_not_leader_fenced_and_unknown_epoch_pass() {
    for error in [
        ResponseError::NotLeaderOrFollower,
        ResponseError::ReplicaNotAvailable,
        ResponseError::KafkaStorageError,
        ResponseError::FencedLeaderEpoch,
        ResponseError::UnknownLeaderEpoch,
        ResponseError::OffsetNotAvailable,
        ResponseError::UnknownServerError,
        ResponseError::UnknownTopicOrPartition,
        ResponseError::UnknownTopicId,
        ResponseError::InconsistentTopicId,
    ] {
        run(async {
            let broker = broker(2);
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            let mut delivered = Delivered::default();
            for round in 1..=10 {
                broker.inject(
                    Fault::error(error)
                        .on(ApiKey::Fetch)
                        .partition("t", 0)
                        .times(2),
                );
                produce(&broker, 0, 1);
                produce(&broker, 1, 1);
                let begun = tokio::time::Instant::now();
                read_to(&mut consumer, &mut delivered, 2 * round).await;
                let waited = begun.elapsed();
                assert!(waited < Duration::from_secs(4), "{error:?}: {waited:?}");
                settle().await;
                broker.clear_faults();
            }
            assert!(sessions(&broker)[&1].full_requests == 1, "{error:?}");
        });
    }
}

/// A partition without a leader does not stop the rest, and is read as soon as it has one.
#[test]
fn f043_a_leaderless_partition_stops_nobody() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        produce(&broker, 0, 1);
        let mut delivered = Delivered::default();
        read_to(&mut consumer, &mut delivered, 1).await;
        broker.remove_leader("t", 1).unwrap();
        broker.clear_requests();
        for round in 1..=30 {
            produce(&broker, 0, 1);
            read_to(&mut consumer, &mut delivered, 1 + round).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let asked = fetches(&broker)
            .iter()
            .filter(|(_, f)| asks(f, &tp(1)).is_some())
            .count();
        assert!(asked <= 40, "{asked}");
        broker.move_leader("t", 1, 1).unwrap();
        produce(&broker, 1, 1);
        let begun = tokio::time::Instant::now();
        read_to(&mut consumer, &mut delivered, 32).await;
        assert!(
            begun.elapsed() <= Duration::from_millis(2500),
            "{:?}",
            begun.elapsed()
        );
    });
}

/// The node that has the refresh, and the leader, does not answer; both have moved.
#[test]
fn f038_f043_a_node_that_vanishes_in_the_middle_of_a_fetch() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = builder(&broker)
            .set("request.timeout.ms", "10000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        produce(&broker, 0, 3);
        let mut delivered = Delivered::default();
        read_to(&mut consumer, &mut delivered, 3).await;
        settle().await;
        broker.freeze_node(1).unwrap();
        broker.move_leader("t", 0, 2).unwrap();
        produce(&broker, 0, 3);
        produce(&broker, 1, 3);
        let begun = tokio::time::Instant::now();
        read_to(&mut consumer, &mut delivered, 9).await;
        // one request.timeout.ms for the fetch, a refresh that tries the frozen node first, a backoff
        assert!(
            begun.elapsed() <= Duration::from_secs(13),
            "{:?}",
            begun.elapsed()
        );
        broker.unfreeze_node(1).unwrap();
        produce(&broker, 0, 1);
        read_to(&mut consumer, &mut delivered, 10).await;
    });
}

#[test]
fn a_node_that_freezes_for_a_while_costs_time_and_nothing_else() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 0..6 {
            let seconds = [1, 5, 20, 40, 90, 2][round];
            broker.freeze_node(1).unwrap();
            produce(&broker, 0, 2);
            produce(&broker, 1, 2);
            let other = 4 * round + 2;
            read_to(&mut consumer, &mut delivered, other).await;
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            broker.unfreeze_node(1).unwrap();
            read_to(&mut consumer, &mut delivered, other + 2).await;
        }
    });
}

/// With another replica the partition goes on elsewhere; without one it waits for its node.
#[test]
fn b037_nodes_are_killed_and_restarted() {
    for replicas in [1, 2] {
        run(async {
            let broker = TestBroker::builder()
                .nodes(3)
                .replication_factor(replicas)
                .topic("t", 6)
                .start_in_memory()
                .unwrap();
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(6)).await.unwrap();
            let mut random = fastrand::Rng::with_seed(37);
            let mut delivered = Delivered::default();
            let mut produced = 0;
            for round in 0..30 {
                let node = random.i32(1..4);
                broker.kill_node(node).await.unwrap();
                for partition in 0..6 {
                    produce(&broker, partition, 2);
                    produced += 2;
                }
                if replicas == 2 {
                    let begun = tokio::time::Instant::now();
                    read_to(&mut consumer, &mut delivered, produced).await;
                    assert!(
                        begun.elapsed() < Duration::from_secs(3),
                        "{:?}",
                        begun.elapsed()
                    );
                } else {
                    delivered.take(&consumer.poll(Duration::from_secs(1)).await.unwrap());
                }
                tokio::time::sleep(Duration::from_millis(random.u64(0..3000))).await;
                broker.restart_node(node).await.unwrap();
                if replicas == 2 {
                    // the leaders spread again
                    for partition in 0..6 {
                        broker
                            .move_leader("t", partition, 1 + (partition + round) % 3)
                            .unwrap();
                    }
                }
            }
            read_to(&mut consumer, &mut delivered, produced).await;
            assert!(poll(&mut consumer).await.is_empty());
        });
    }
}
