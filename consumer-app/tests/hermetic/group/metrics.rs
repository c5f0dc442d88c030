//! What the coordinator counts, by all protocols.

use std::time::Duration;

use consumer_app::{Consumer, GroupCounts, Metrics};
use test_broker::{ApiKey, Fault, ResponseError};

use super::support::{Listener, Protocol, asked, each, each_of, heartbeats, joined, manual, owns};
use crate::support::{broker, produce, run};

const COORDINATOR: &str = "consumer-coordinator-metrics";

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

#[test]
fn joins_heartbeats_and_commits_are_counted_as_the_broker_counts_them() {
    each(|protocol| async move {
        let broker = broker(2);
        let consumer = joined(manual(&broker, protocol), 2).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let metrics = metrics(&consumer).await;
        let group: GroupCounts = metrics.group.unwrap();
        assert_eq!(group.heartbeats.total, heartbeats(&broker) as u64);
        assert!(group.heartbeats.total >= 4, "{group:?}");
        let classic = u64::from(protocol != Protocol::Consumer);
        // the first JoinGroup is answered with an id (KIP-394)
        assert_eq!(group.joins.total, classic);
        assert_eq!(group.syncs.total, classic);
        assert_eq!(group.rebalances.total, 1);
        assert_eq!(group.failed_rebalances, 0);
        assert_eq!(metrics.get(COORDINATOR, "assigned-partitions"), Some(2.0));
        let since = metrics.get(COORDINATOR, "last-rebalance-seconds-ago");
        assert!((20.0..25.0).contains(&since.unwrap()), "{since:?}");
        let beat = metrics.get(COORDINATOR, "last-heartbeat-seconds-ago");
        assert!(beat.unwrap() <= 5.0, "{beat:?}");
    });
}

#[test]
fn commits_are_counted_and_timed() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        for delay in [100, 300] {
            consumer.poll(Duration::from_secs(1)).await.unwrap();
            let slow = Fault::delay(Duration::from_millis(delay));
            broker.inject(slow.on(ApiKey::OffsetCommit).times(1));
            consumer.commit().await.unwrap();
        }
        let metrics = metrics(&consumer).await;
        assert_eq!(metrics.get(COORDINATOR, "commit-total"), Some(2.0));
        assert_eq!(asked(&broker, ApiKey::OffsetCommit), 2);
        let avg = metrics.get(COORDINATOR, "commit-latency-avg").unwrap();
        let max = metrics.get(COORDINATOR, "commit-latency-max").unwrap();
        assert!((200.0..210.0).contains(&avg), "{avg}");
        assert!((300.0..310.0).contains(&max), "{max}");
    });
}

#[test]
fn a_second_member_makes_a_rebalance() {
    each(|protocol| async move {
        let broker = broker(2);
        let mut one = joined(manual(&broker, protocol), 2).await;
        let before = metrics(&one).await.group.unwrap().rebalances.total;
        let mut two = manual(&broker, protocol).spawn_local().unwrap();
        two.subscribe(["t"]).await.unwrap();
        for _ in 0..200 {
            one.poll(Duration::from_millis(50)).await.unwrap();
            two.poll(Duration::from_millis(50)).await.unwrap();
        }
        let metrics = metrics(&one).await;
        let group = metrics.group.unwrap();
        assert!(group.rebalances.total > before, "{group:?}");
        assert_eq!(
            metrics.get(COORDINATOR, "rebalance-total"),
            Some(group.rebalances.total as f64)
        );
        assert_eq!(metrics.get(COORDINATOR, "assigned-partitions"), Some(1.0));
    });
}

#[test]
fn a_refused_join_is_a_failed_rebalance() {
    each_of(&Protocol::CLASSIC, |protocol| async move {
        let broker = broker(1);
        let refusal = Fault::error(ResponseError::CoordinatorLoadInProgress);
        broker.inject(refusal.on(ApiKey::SyncGroup).times(2));
        let consumer = joined(manual(&broker, protocol), 1).await;
        let group = metrics(&consumer).await.group.unwrap();
        assert_eq!(group.failed_rebalances, 2);
        assert_eq!((group.rebalances.total, group.syncs.total), (1, 1));
        // the pauses between the attempts are a part of it
        let longest = group.rebalances.recent.max.unwrap();
        assert!(longest >= 100.0, "{group:?}");
        assert_eq!(group.rebalance_time.as_secs_f64() * 1000.0, longest);
    });
}

#[test]
fn calls_of_the_listener_are_timed() {
    run(async {
        let broker = broker(1);
        let gate = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        let told = Listener {
            gate: Some(std::sync::Arc::clone(&gate)),
            ..Listener::default()
        };
        let builder = manual(&broker, Protocol::Cooperative).rebalance_listener(told);
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(Duration::from_secs(2)).await;
            gate.add_permits(1);
        });
        owns(&mut consumer, 1).await;
        for _ in 0..50 {
            let _ = consumer.poll(Duration::from_millis(100)).await.unwrap();
        }
        let metrics = metrics(&consumer).await;
        assert_eq!(metrics.listener.assigned.count, 1);
        let took = metrics.get(COORDINATOR, "partition-assigned-latency-max");
        assert!((500.0..=2000.0).contains(&took.unwrap()), "{took:?}");
        assert_eq!(metrics.get(COORDINATOR, "partition-lost-latency-max"), None);
    });
}
