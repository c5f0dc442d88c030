//! How it ends: sessions are closed at the brokers, connections are closed, nothing is left.

use std::sync::Arc;
use std::time::Duration;

use consumer_app::connect::Connect;
use consumer_app::{Consumer, Error};
use test_broker::{ApiKey, Fault, TestBroker};

use crate::support::pipes::Pipe;
use crate::support::traffic::{asked_at, session_fetches};
use crate::support::{
    broker_of, builder, consumer, offsets, partitions, poll, produce, run, settle, tp,
};

/// A consumer of two partitions on two nodes that has read a record, and its way to the brokers: whoever holds that besides
/// the test is an actor.
async fn reading(broker: &TestBroker) -> (Consumer, Arc<dyn Connect>) {
    let connector: Arc<dyn Connect> = Arc::new(Pipe(broker.clone()));
    let mut consumer = builder(broker)
        .connector(Arc::clone(&connector))
        .spawn_local()
        .unwrap();
    consumer.assign(partitions(2)).await.unwrap();
    produce(broker, 0, 1);
    produce(broker, 1, 1);
    let mut read = 0;
    while read < 2 {
        read += poll(&mut consumer).await.len();
    }
    settle().await;
    (consumer, connector)
}

fn nothing_is_left(broker: &TestBroker, connector: &Arc<dyn Connect>) {
    assert_eq!(broker.counters().connections_open, 0);
    assert_eq!(Arc::strong_count(connector), 1, "an actor lives on");
}

#[test]
fn b051_b201_b202_close_ends_the_sessions_and_leaves_nothing() {
    run(async {
        let broker = broker_of(2, 2);
        let (mut consumer, connector) = reading(&broker).await;
        assert_eq!(broker.counters().fetch_sessions, 2);
        let ids: Vec<i32> = (1..3)
            .filter_map(|node| {
                let all = session_fetches(&broker).into_iter();
                let last = all.filter(|(at, _)| *at == node).last()?;
                Some(last.1.session_id)
            })
            .collect();
        broker.clear_requests();
        let begun = tokio::time::Instant::now();
        consumer.close(Duration::from_secs(30)).await.unwrap();
        // the close waits behind each node's long poll, and no longer than it is worth
        assert!(begun.elapsed() <= Duration::from_millis(501));
        settle().await;
        assert_eq!(broker.counters().fetch_sessions, 0);
        nothing_is_left(&broker, &connector);
        let mut last = session_fetches(&broker);
        last.sort_by_key(|(node, _)| *node);
        let closed: Vec<_> = last
            .iter()
            .map(|(_, f)| {
                (
                    f.session_id,
                    f.session_epoch,
                    f.partitions.len() + f.forgotten.len(),
                )
            })
            .collect();
        assert_eq!(
            closed,
            ids.iter().map(|&id| (id, -1, 0)).collect::<Vec<_>>()
        );
        consumer.close(Duration::from_secs(30)).await.unwrap();
        consumer.handle().close(Duration::ZERO).await.unwrap();
        assert_eq!(
            session_fetches(&broker).len(),
            2,
            "a second close sends nothing"
        );
    });
}

/// A member leaves its group first, and has no partition then: the lanes that end for that are waited for as well.
#[test]
fn b202_a_member_that_closes_ends_its_sessions() {
    run(async {
        for protocol in ["classic", "consumer"] {
            let broker = broker_of(2, 2);
            let mut consumer = builder(&broker)
                .set("group.id", "g")
                .set("group.protocol", protocol)
                .spawn_local()
                .unwrap();
            consumer.subscribe(["t"]).await.unwrap();
            while broker.counters().fetch_sessions < 2 {
                assert!(poll(&mut consumer).await.is_empty());
            }
            consumer.close(Duration::from_secs(30)).await.unwrap();
            settle().await;
            assert_eq!(broker.counters().fetch_sessions, 0, "{protocol}");
            assert_eq!(broker.counters().connections_open, 0, "{protocol}");
        }
    });
}

#[test]
fn b024_every_call_after_close_is_an_error() {
    run(async {
        let broker = broker_of(2, 2);
        let (mut consumer, _) = reading(&broker).await;
        let handle = consumer.handle();
        consumer.close(Duration::from_secs(1)).await.unwrap();
        fn closed<T: std::fmt::Debug>(result: Result<T, Error>) {
            assert!(matches!(result, Err(Error::Closed)), "{result:?}");
        }
        closed(consumer.poll(Duration::from_secs(1)).await);
        closed(consumer.poll_batches(Duration::from_secs(1)).await);
        closed(handle.assign([tp(0)]).await);
        closed(handle.assign_at([(tp(0), 3)]).await);
        closed(handle.seek(&tp(0), 0).await);
        closed(handle.seek_to_beginning(&tp(0)).await);
        closed(handle.seek_to_end(&tp(0)).await);
        closed(handle.pause([&tp(0)]).await);
        closed(handle.resume([&tp(0)]).await);
        closed(handle.await_position(&tp(0)).await);
        closed(handle.partitions_for("t").await);
        closed(handle.metrics().await);
    });
}

#[test]
fn f063_b201_a_consumer_that_is_dropped_closes_by_itself() {
    run(async {
        let broker = broker_of(2, 2);
        let (consumer, connector) = reading(&broker).await;
        let handle = consumer.handle();
        drop(consumer);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(broker.counters().fetch_sessions, 0);
        nothing_is_left(&broker, &connector);
        assert!(matches!(handle.seek(&tp(0), 0).await, Err(Error::Closed)));
        handle.close(Duration::from_secs(1)).await.unwrap();
    });
}

#[test]
fn f064_b200_close_in_any_state_ends_within_its_time() {
    // before anything, while connecting, in a lookup, in a fetch, in a long poll, and long after
    for wait in [0, 1, 5, 30, 120, 700, 5000] {
        for timeout in [0, 100, 5000] {
            run(async {
                let broker = broker_of(2, 2);
                produce(&broker, 0, 10);
                broker.inject(Fault::delay(Duration::from_millis(20)));
                let connector: Arc<dyn Connect> = Arc::new(Pipe(broker.clone()));
                let mut consumer = builder(&broker)
                    .connector(Arc::clone(&connector))
                    .spawn_local()
                    .unwrap();
                consumer.assign(partitions(2)).await.unwrap();
                if wait > 0 {
                    consumer.poll(Duration::from_millis(wait)).await.unwrap();
                }
                let begun = tokio::time::Instant::now();
                consumer
                    .close(Duration::from_millis(timeout))
                    .await
                    .unwrap();
                assert!(begun.elapsed() <= Duration::from_millis(timeout + 2));
                tokio::time::sleep(Duration::from_secs(1)).await;
                nothing_is_left(&broker, &connector);
            });
        }
    }
}

#[test]
fn f061_b200_close_does_not_wait_for_brokers_that_are_frozen_or_gone() {
    for dead in [false, true] {
        run(async {
            let broker = broker_of(2, 2);
            let (mut consumer, connector) = reading(&broker).await;
            for node in 1..3 {
                if dead {
                    broker.kill_node(node).await.unwrap();
                } else {
                    broker.freeze_node(node).unwrap();
                }
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
            let begun = tokio::time::Instant::now();
            consumer.close(Duration::from_secs(5)).await.unwrap();
            assert!(
                begun.elapsed() <= Duration::from_millis(5002),
                "dead: {dead}"
            );
            assert_eq!(Arc::strong_count(&connector), 1);
        });
    }
}

#[test]
fn a_poll_in_progress_ends_when_another_task_closes() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let handle = consumer.handle();
        let polling = tokio::task::spawn_local(async move {
            let ended = consumer.poll(Duration::from_secs(3600)).await;
            (consumer, ended)
        });
        asked_at(&broker, &tp(1), 0).await;
        handle.close(Duration::from_secs(5)).await.unwrap();
        let (mut consumer, ended) = polling.await.unwrap();
        assert!(matches!(ended, Err(Error::Closed)), "{ended:?}");
        consumer.close(Duration::ZERO).await.unwrap();
    });
}

#[test]
fn f063_records_outlive_their_consumer() {
    run(async {
        let broker = broker_of(1, 1);
        produce(&broker, 0, 100);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        consumer.close(Duration::from_secs(1)).await.unwrap();
        drop(consumer);
        assert_eq!(offsets(&records), (0..100).collect::<Vec<_>>());
        assert!(
            records
                .iter()
                .all(|record| record.value().unwrap().starts_with(b"value"))
        );
    });
}

/// A close that nobody waits for happens all the same.
#[test]
fn b199_a_close_that_is_dropped_goes_on() {
    run(async {
        let broker = broker_of(2, 2);
        let (consumer, connector) = reading(&broker).await;
        drop(consumer.handle().close(Duration::from_secs(5)));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(broker.counters().fetch_sessions, 0);
        nothing_is_left(&broker, &connector);
        let closes = broker.requests_of(ApiKey::Fetch);
        let closes = closes
            .iter()
            .filter(|r| r.fetch().is_some_and(|f| f.session_epoch == -1));
        assert_eq!(closes.count(), 2);
    });
}
