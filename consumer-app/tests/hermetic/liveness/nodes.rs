//! Three nodes, one of which is idle, slow or frozen: the records of the others are not a moment late.

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::{ApiKey, Fault, TestBroker};
use tokio::time::{Instant, sleep};

use super::{AT_ONCE, longest_delay, warm_up};
use crate::support::{broker_of, consumer, partitions, poll, produce, run, tp};

/// A record each 10 ms for 20 s.
const RECORDS: usize = 2_000;

/// Partition 2 is led by node 3.
async fn world() -> (TestBroker, Consumer) {
    let broker = broker_of(3, 3);
    let leaders: Vec<_> = (0..3).map(|p| broker.leader("t", p).unwrap().0).collect();
    assert_eq!(leaders, [Some(1), Some(2), Some(3)]);
    let consumer = consumer(&broker);
    consumer.assign(partitions(3)).await.unwrap();
    (broker, consumer)
}

/// Waits for the records of partition 2; how long it takes.
async fn waits(consumer: &mut Consumer, count: usize) -> Duration {
    let begun = Instant::now();
    let mut came = 0;
    while came < count {
        let records = poll(consumer).await;
        assert!(records.iter().all(|record| record.partition() == 2));
        came += records.len();
        assert!(begun.elapsed() < Duration::from_secs(120), "{came} came");
    }
    begun.elapsed()
}

#[test]
fn an_idle_node_adds_nothing() {
    run(async {
        let (broker, mut consumer) = world().await;
        warm_up(&broker, &mut consumer, &[0, 1, 2]).await;
        let longest = longest_delay(&broker, &mut consumer, &[0, 1], RECORDS).await;
        assert!(longest <= AT_ONCE, "{longest:?}");
    });
}

#[test]
fn a_node_that_answers_after_5_s_adds_nothing() {
    run(async {
        let (broker, mut consumer) = world().await;
        warm_up(&broker, &mut consumer, &[0, 1, 2]).await;
        let slow = Fault::delay(Duration::from_secs(5)).on(ApiKey::Fetch);
        broker.inject(slow.node(3));
        let longest = longest_delay(&broker, &mut consumer, &[0, 1], RECORDS).await;
        assert!(longest <= AT_ONCE, "{longest:?}");
        produce(&broker, 2, 3);
        let waited = waits(&mut consumer, 3).await;
        // the request that was on its way, and the one that brings it
        assert!(waited <= Duration::from_secs(11), "{waited:?}");
    });
}

#[test]
fn a_node_that_answers_nothing_adds_nothing() {
    for frozen_from_the_beginning in [false, true] {
        run(async {
            let (broker, mut consumer) = world().await;
            if !frozen_from_the_beginning {
                warm_up(&broker, &mut consumer, &[2]).await;
            }
            broker.freeze_node(3).unwrap();
            warm_up(&broker, &mut consumer, &[0, 1]).await;
            produce(&broker, 2, 5);
            // longer than request.timeout.ms
            let longest = longest_delay(&broker, &mut consumer, &[0, 1], 2 * RECORDS).await;
            assert!(longest <= AT_ONCE, "{longest:?}");
            let metrics = consumer.metrics().await.unwrap();
            assert_eq!(metrics.unasked_partitions, 0);
            broker.unfreeze_node(3).unwrap();
            waits(&mut consumer, 5).await;
        });
    }
}

/// A seek, a pause and a resume of the slow node's partition do not touch the others.
#[test]
fn what_is_done_to_the_partition_of_a_slow_node_adds_nothing() {
    run(async {
        let (broker, mut consumer) = world().await;
        warm_up(&broker, &mut consumer, &[0, 1, 2]).await;
        let slow = Fault::delay(Duration::from_secs(5)).on(ApiKey::Fetch);
        broker.inject(slow.node(3));
        for round in 0..40 {
            match round % 3 {
                0 => consumer.pause(&[tp(2)]).await.unwrap(),
                1 => consumer.resume(&[tp(2)]).await.unwrap(),
                _ => consumer.seek(&tp(2), 1).await.unwrap(),
            }
            let longest = longest_delay(&broker, &mut consumer, &[0, 1], 50).await;
            assert!(longest <= AT_ONCE, "{longest:?}");
        }
        sleep(Duration::from_secs(1)).await;
    });
}
