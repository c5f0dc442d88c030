//! Reading from followers (KIP-392), and leaders that brokers tell of when they refuse (KIP-951).

use std::time::Duration;

use consumer_app::{Consumer, Metrics, TopicPartition};
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};

use crate::support::delivered::Delivered;
use crate::support::traffic::{asks, count, fetches};
use crate::support::{builder, poll, produce, read, run, settle, tp};

/// Three nodes in racks `a`, `b` and `c`, and a partition with a replica on each, led by node 1.
fn racks() -> TestBroker {
    let mut broker = TestBroker::builder()
        .nodes(3)
        .replication_factor(3)
        .rack_aware_replica_selector(true)
        .topic("t", 1);
    for (node, rack) in [(1, "a"), (2, "b"), (3, "c")] {
        broker = broker.rack(node, rack);
    }
    broker.start_in_memory().expect("a broker")
}

fn consumer_in(broker: &TestBroker, rack: &str, max_age_ms: &str) -> Consumer {
    builder(broker)
        .set("client.rack", rack)
        .set("metadata.max.age.ms", max_age_ms)
        .spawn_local()
        .expect("a consumer")
}

/// The nodes that were asked for the partition, in order, without repetitions.
fn asked_nodes(broker: &TestBroker) -> Vec<i32> {
    let all = fetches(broker);
    let named = all
        .iter()
        .filter(|(_, fetch)| asks(fetch, &tp(0)).is_some());
    let mut nodes: Vec<i32> = named.map(|(node, _)| *node).collect();
    nodes.dedup();
    nodes
}

/// Which node has sent records.
fn served(broker: &TestBroker) -> Vec<i32> {
    let nodes = broker.node_ids().into_iter();
    nodes
        .filter(|&node| broker.node_counters(node).unwrap().fetches_with_records > 0)
        .collect()
}

#[test]
fn b025_b028_a_consumer_reads_from_the_follower_in_its_rack() {
    run(async {
        let broker = racks();
        let mut consumer = consumer_in(&broker, "c", "300000");
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 1..=20 {
            produce(&broker, 0, 5);
            while delivered.records < 5 * round {
                delivered.take(&poll(&mut consumer).await);
            }
        }
        assert_eq!(served(&broker), [3]);
        assert_eq!(asked_nodes(&broker), [1, 3]);
        // positions are looked up at the leader
        assert_eq!(count(&broker, 3, ApiKey::ListOffsets), 0);
    });
}

#[test]
fn b028_without_a_rack_or_in_the_leaders_nobody_is_sent_away() {
    for rack in ["", "a", "nowhere"] {
        run(async {
            let broker = racks();
            let mut consumer = consumer_in(&broker, rack, "300000");
            consumer.assign([tp(0)]).await.unwrap();
            produce(&broker, 0, 5);
            read(&mut consumer, 5).await;
            assert_eq!(asked_nodes(&broker), [1], "{rack:?}");
        });
    }
}

/// The metric `preferred-read-replica`, as the Java client has it: -1 for the leader.
fn preferred_read_replicas(metrics: &Metrics) -> Vec<(Option<i32>, f64)> {
    let all = metrics.iter();
    let named = all.filter(|metric| metric.definition.name() == "preferred-read-replica");
    named
        .map(|metric| (metric.partition, metric.value))
        .collect()
}

/// B208: read from the leader, sent to its follower, and from there back by an error.
#[test]
fn b025_b027_b208_the_metrics_say_which_replica_is_read_from() {
    run(async {
        let broker = racks();
        let mut consumer = consumer_in(&broker, "b", "300000");
        consumer.assign([tp(0)]).await.unwrap();
        let replicas = async |consumer: &Consumer| {
            let metrics = consumer.metrics().await.unwrap();
            let shown = metrics.partitions[&tp(0)].preferred_read_replica;
            let values = preferred_read_replicas(&metrics);
            assert_eq!(values, [(Some(0), f64::from(shown.unwrap_or(-1)))]);
            shown
        };
        assert_eq!(replicas(&consumer).await, None);
        produce(&broker, 0, 5);
        read(&mut consumer, 5).await;
        assert_eq!(replicas(&consumer).await, Some(2));
        // it refuses, and before the leader sends the consumer there again, the leader leads nowhere
        broker.inject(
            Fault::error(ResponseError::ReplicaNotAvailable)
                .on(ApiKey::Fetch)
                .node(2)
                .partition("t", 0),
        );
        let silent = broker.inject(Fault::silence().on(ApiKey::Fetch).node(1));
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(replicas(&consumer).await, None);
        broker.remove_fault(silent);

        consumer.assign(None::<TopicPartition>).await.unwrap();
        let metrics = consumer.metrics().await.unwrap();
        assert_eq!(preferred_read_replicas(&metrics), []);
        // assigned anew it begins at the leader
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(replicas(&consumer).await, None);
    });
}

/// When the lease is over the leader is asked, which sends the consumer there again.
#[test]
fn b026_a_lease_ends_after_metadata_max_age() {
    run(async {
        let broker = racks();
        let mut consumer = consumer_in(&broker, "b", "10000");
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 1..=35 {
            produce(&broker, 0, 1);
            while delivered.records < round {
                delivered.take(&poll(&mut consumer).await);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(asked_nodes(&broker), [1, 2, 1, 2, 1, 2, 1, 2]);
        assert_eq!(served(&broker), [2]);
    });
}

/// Leader 0..100, follower from 50 on held back: what it does not have the leader gives, and nothing is reset.
#[test]
fn f033_b027_b028_a_follower_that_lags_behind_does_not_reset_the_position() {
    run(async {
        let broker = racks();
        for _ in 0..10 {
            produce(&broker, 0, 10);
        }
        let mut consumer = consumer_in(&broker, "b", "300000");
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        while delivered.records < 100 {
            delivered.take(&poll(&mut consumer).await);
        }
        assert_eq!(served(&broker), [2]);
        settle().await;
        // it lost what the consumer has read: the offset is out of its range
        broker.hold_follower("t", 0, 2, Some(50)).unwrap();
        broker.clear_requests();
        produce(&broker, 0, 10);
        while delivered.records < 110 {
            delivered.take(&poll(&mut consumer).await);
        }
        assert_eq!(served(&broker), [1, 2]);
        let lookups = [1, 2, 3].map(|node| count(&broker, node, ApiKey::ListOffsets));
        assert_eq!(lookups, [0, 0, 0], "a position was reset");
        // it catches up, and the leader sends the consumer there again
        broker.hold_follower("t", 0, 2, None).unwrap();
        broker.clear_requests();
        produce(&broker, 0, 10);
        while delivered.records < 120 {
            delivered.take(&poll(&mut consumer).await);
        }
        produce(&broker, 0, 10);
        while delivered.records < 130 {
            delivered.take(&poll(&mut consumer).await);
        }
        assert_eq!(asked_nodes(&broker).last(), Some(&2));
    });
}

#[test]
fn b027_errors_of_a_follower_lead_back_to_the_leader() {
    for error in [
        ResponseError::OffsetNotAvailable,
        ResponseError::NotLeaderOrFollower,
        ResponseError::ReplicaNotAvailable,
        ResponseError::UnknownTopicId,
    ] {
        run(async {
            let broker = racks();
            let mut consumer = consumer_in(&broker, "b", "300000");
            consumer.assign([tp(0)]).await.unwrap();
            produce(&broker, 0, 5);
            let mut delivered = Delivered::default();
            while delivered.records < 5 {
                delivered.take(&poll(&mut consumer).await);
            }
            broker.clear_requests();
            let fault = Fault::error(error)
                .on(ApiKey::Fetch)
                .node(2)
                .partition("t", 0);
            broker.inject(fault.times(1));
            produce(&broker, 0, 5);
            while delivered.records < 10 {
                delivered.take(&poll(&mut consumer).await);
            }
            // the request that was waiting brought these; the next one is refused
            produce(&broker, 0, 5);
            while delivered.records < 15 {
                delivered.take(&poll(&mut consumer).await);
            }
            let asked = asked_nodes(&broker);
            assert!(asked.contains(&1), "{error:?}: {asked:?}");
        });
    }
}

/// The follower dies: what is in flight to it is lost, and the leader gives the records.
#[test]
fn b028_a_follower_that_dies_is_left_and_found_again() {
    run(async {
        let broker = racks();
        let mut consumer = consumer_in(&broker, "b", "300000");
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        let mut produced = 0;
        for round in 0..10 {
            if round % 2 == 0 {
                broker.kill_node(2).await.unwrap();
            } else {
                broker.restart_node(2).await.unwrap();
            }
            for _ in 0..5 {
                produce(&broker, 0, 2);
                produced += 2;
                let begun = tokio::time::Instant::now();
                while delivered.records < produced {
                    delivered.take(&poll(&mut consumer).await);
                }
                let waited = begun.elapsed();
                assert!(waited < Duration::from_secs(3), "round {round}: {waited:?}");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        assert_eq!(served(&broker), [1, 2]);
        assert_eq!(asked_nodes(&broker).last(), Some(&2));
    });
}

/// A leader goes on naming a follower that does not answer until it counts it as out of sync.
#[test]
fn b028_a_follower_that_freezes_is_left_when_the_leader_has_noticed() {
    run(async {
        let broker = racks();
        let mut consumer = builder(&broker)
            .set("client.rack", "b")
            .set("request.timeout.ms", "5000")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 5);
        let mut delivered = Delivered::default();
        while delivered.records < 5 {
            delivered.take(&poll(&mut consumer).await);
        }
        settle().await;
        broker.clear_requests();
        broker.freeze_node(2).unwrap();
        produce(&broker, 0, 5);
        for _ in 0..6 {
            delivered.take(&poll(&mut consumer).await);
        }
        // it is not asked without end
        let asked = count(&broker, 1, ApiKey::Fetch);
        assert!((1..=20).contains(&asked), "{asked}");
        broker.kill_node(2).await.unwrap();
        let begun = tokio::time::Instant::now();
        while delivered.records < 10 {
            delivered.take(&poll(&mut consumer).await);
        }
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(7), "{waited:?}");
    });
}

/// The leader changes: its followers are others, and the new one is asked who they are.
#[test]
fn b028_a_leader_that_moves_is_asked_before_its_followers() {
    run(async {
        let broker = racks();
        let mut consumer = consumer_in(&broker, "c", "300000");
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        for (round, leader) in [2, 1, 2, 3, 1].into_iter().enumerate() {
            broker.move_leader("t", 0, leader).unwrap();
            for batch in 1..=3 {
                produce(&broker, 0, 5);
                while delivered.records < 15 * round + 5 * batch {
                    delivered.take(&poll(&mut consumer).await);
                }
            }
        }
        assert_eq!(served(&broker), [3]);
    });
}

/// B029: the refusal says who leads and where that is, and no metadata is waited for.
#[test]
fn b029_a_leader_named_by_a_refusal_is_asked_at_once() {
    for version in [15, 17] {
        run(async {
            let broker = TestBroker::builder()
                .nodes(3)
                .topic("t", 2)
                .api_versions(ApiKey::Fetch, 4..=version)
                .start_in_memory()
                .unwrap();
            let mut consumer = builder(&broker).spawn_local().unwrap();
            consumer
                .assign(crate::support::partitions(2))
                .await
                .unwrap();
            produce(&broker, 0, 1);
            read(&mut consumer, 1).await;
            settle().await;
            // nobody answers questions about the cluster any more
            let silent = broker.inject(Fault::silence().on(ApiKey::Metadata));
            broker.clear_requests();
            broker.move_leader("t", 0, 3).unwrap();
            produce(&broker, 0, 3);
            let begun = tokio::time::Instant::now();
            let polled = consumer.poll(Duration::from_secs(1)).await.unwrap();
            if version < 16 {
                assert!(polled.is_empty());
                broker.remove_fault(silent);
                return;
            }
            assert_eq!(crate::support::offsets(&polled), [1, 2, 3]);
            assert_eq!(begun.elapsed(), Duration::ZERO);
            // the request that waited at node 1 was answered at once
            assert_eq!(asked_nodes(&broker), [3]);
            // a refresh is asked for all the same, after the pause since the last one
            tokio::time::sleep(Duration::from_secs(1)).await;
            let asked = [1, 2, 3].map(|node| count(&broker, node, ApiKey::Metadata));
            assert!(asked.iter().sum::<usize>() >= 1);
        });
    }
}

/// Fenced: the same leader, elected again, says so itself.
#[test]
fn b029_a_new_epoch_named_by_a_refusal_is_used_at_once() {
    run(async {
        let broker = crate::support::broker(1);
        let mut consumer = builder(&broker).spawn_local().unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        settle().await;
        broker.inject(Fault::silence().on(ApiKey::Metadata));
        broker.bump_leader_epoch("t", 0).unwrap();
        produce(&broker, 0, 3);
        let begun = tokio::time::Instant::now();
        assert_eq!(read(&mut consumer, 3).await, [1, 2, 3]);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    });
}
