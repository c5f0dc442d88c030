//! What a listener is told, when, and what it may do.

use std::sync::Arc;
use std::time::Duration;

use consumer_app::{Consumer, RebalanceContext, RebalanceListener, TopicPartition};
use test_broker::{ApiKey, Fault, TestBroker};
use tokio::sync::Semaphore;

use super::support::{
    Listener, Protocol, automatic, committed, each, each_of, joined, manual, member_id, members,
    owns, read,
};
use crate::support::{broker, offsets_of, produce, settle, tp};

const STEP: Duration = Duration::from_millis(100);

async fn subscribed(broker: &TestBroker, protocol: Protocol, listener: &Listener) -> Consumer {
    let builder = manual(broker, protocol).set("max.poll.records", "1");
    let builder = builder.rebalance_listener(listener.clone());
    let consumer = builder.spawn_local().unwrap();
    consumer.subscribe(["t"]).await.unwrap();
    consumer
}

#[test]
fn b174_b176_each_change_is_told_once_and_in_order() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(2);
        let told = Listener::default();
        let mut one = subscribed(&broker, protocol, &told).await;
        owns(&mut one, 2).await;
        one.poll(STEP).await.unwrap();
        assert_eq!(told.calls(), [("assigned", vec![0, 1])]);
        let others = Listener::default();
        let mut two = subscribed(&broker, protocol, &others).await;
        for _ in 0..100 {
            one.poll(STEP).await.unwrap();
            two.poll(STEP).await.unwrap();
        }
        let kept = one.assignment()[0].partition();
        let moved = two.assignment()[0].partition();
        assert_eq!(kept + moved, 1);
        // assigned is called with nothing, revoked is not
        let calls = told.calls();
        let told_of: Vec<_> = calls.iter().filter(|(_, all)| !all.is_empty()).collect();
        assert_eq!(told_of, [&("revoked", vec![moved])]);
        assert!(
            calls
                .iter()
                .all(|(what, all)| *what == "assigned" || !all.is_empty())
        );
        let calls = others.calls();
        assert_eq!(calls.last(), Some(&("assigned", vec![moved])), "{calls:?}");
        one.unsubscribe().await.unwrap();
        one.subscribe(["t"]).await.unwrap();
        settle().await;
        let _ = one.poll(STEP).await.unwrap();
        assert_eq!(told.calls()[0], ("revoked", vec![kept]));
        two.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(others.calls().last(), Some(&("revoked", vec![moved])));
        let mut all = Vec::new();
        for _ in 0..100 {
            one.poll(STEP).await.unwrap();
            all.extend(told.calls());
        }
        assert_eq!(one.assignment().len(), 2, "{all:?}");
    });
}

#[test]
fn b177_a_seek_in_assigned_comes_before_the_first_record() {
    for hurries in [false, true] {
        each(|protocol| async move {
            let broker = broker(2);
            produce(&broker, 0, 10);
            produce(&broker, 1, 10);
            let told = Listener {
                seeks_to: Some(7),
                hurries,
                ..Listener::default()
            };
            let mut consumer = subscribed(&broker, protocol, &told).await;
            let mut came = read(&mut consumer, 6).await;
            came.sort();
            let expected = [0, 1].map(|p| [7, 8, 9].map(|offset| (tp(p), offset)));
            assert_eq!(came, expected.concat());
            // what comes before was not even asked for
            let asked = crate::support::traffic::asked_offsets(&broker, &tp(0));
            assert!(asked.iter().all(|&offset| offset >= 7), "{asked:?}");
        });
    }
}

#[test]
fn b172_b179_a_pause_in_assigned_comes_before_the_first_record() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let told = Listener {
            pauses: true,
            ..Listener::default()
        };
        let mut consumer = subscribed(&broker, protocol, &told).await;
        for _ in 0..20 {
            assert!(consumer.poll(STEP).await.unwrap().is_empty());
        }
        assert_eq!(consumer.position(&tp(0)), Some(0));
        consumer.resume([&tp(0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 1).await, [(tp(0), 0)]);
    });
}

#[test]
fn what_revoked_commits_is_committed_though_it_does_not_wait_for_it() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 100);
        produce(&broker, 1, 100);
        let told = Listener {
            commits_on_revoke: true,
            hurries: true,
            ..Listener::default()
        };
        let mut one = subscribed(&broker, protocol, &told).await;
        read(&mut one, 40).await;
        let mut two = subscribed(&broker, protocol, &Listener::default()).await;
        while two.assignment().is_empty() {
            one.poll(STEP).await.unwrap();
            two.poll(STEP).await.unwrap();
        }
        let moved = two.assignment()[0].partition();
        let at = told.positions()[0].expect("a position");
        assert!(at > 0);
        assert_eq!(committed(&broker, moved), Some(at), "{protocol:?}");
    });
}

#[test]
fn f020_b151_b171_b177_revoked_sees_and_commits_where_the_next_owner_starts() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 100);
        produce(&broker, 1, 100);
        let told = Listener {
            commits_on_revoke: true,
            ..Listener::default()
        };
        let mut one = subscribed(&broker, protocol, &told).await;
        read(&mut one, 40).await;
        let mut two = subscribed(&broker, protocol, &Listener::default()).await;
        let mut came = [Vec::new(), Vec::new()];
        for _ in 0..400 {
            for (member, came) in [&mut one, &mut two].into_iter().zip(&mut came) {
                let records = member.poll(STEP).await.unwrap();
                came.extend(records.iter().map(|r| (r.partition(), r.offset())));
            }
        }
        let moved = two.assignment()[0].partition();
        let at = told.positions()[0].expect("a position");
        assert_eq!(told.commits(), [Ok(())]);
        assert_eq!(committed(&broker, moved), Some(at));
        let others: Vec<_> = (at..100).map(|offset| (moved, offset)).collect();
        assert_eq!(came[1], others);
        // nothing of it after it was revoked, and no gap in what stays
        let own: Vec<_> = came[0].iter().filter(|(p, _)| *p != moved).collect();
        assert!(own.iter().map(|(_, offset)| *offset).is_sorted());
        assert!(
            came[0]
                .iter()
                .all(|(p, offset)| *p != moved || *offset < at)
        );
        assert_eq!(one.position(&tp(1 - moved)), Some(100));
    });
}

/// KIP-62's session: whoever is expelled lost its partitions, and can commit nothing of them.
#[test]
fn b174_lost_after_the_session_is_over() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let told = Listener {
            commits_on_revoke: true,
            ..Listener::default()
        };
        let mut consumer = subscribed(&broker, protocol, &told).await;
        read(&mut consumer, 2).await;
        told.calls();
        assert!(broker.expel_member("g", &member_id(&broker)));
        // the next heartbeat says so, and nothing is given before the listener has heard of it
        tokio::time::sleep(Duration::from_secs(6)).await;
        let records = consumer.poll(Duration::from_secs(5)).await.unwrap();
        assert_eq!(told.calls(), [("lost", vec![0]), ("assigned", vec![0])]);
        assert_eq!(told.positions(), [Some(2)]);
        let result = told.commits().remove(0);
        assert!(result.unwrap_err().contains("not in the group any more"));
        assert_eq!(committed(&broker, 0), None);
        assert_eq!(offsets_of(&records, 0), [0]);
    });
}

#[test]
fn f060_b143_a_callback_goes_on_over_polls_that_are_dropped() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let gate = Arc::new(Semaphore::new(0));
        let told = Listener {
            gate: Some(Arc::clone(&gate)),
            ..Listener::default()
        };
        let mut consumer = subscribed(&broker, protocol, &told).await;
        let mut ticks = 0;
        let first = loop {
            tokio::select! {
                records = consumer.poll(Duration::from_secs(60)) => break records.unwrap(),
                () = tokio::time::sleep(Duration::from_millis(10)) => {
                    ticks += 1;
                    if ticks == 500 {
                        gate.add_permits(1);
                    }
                    assert!(ticks < 600);
                }
            }
        };
        assert!(ticks >= 500);
        assert_eq!(told.calls(), [("assigned", vec![0])]);
        assert_eq!(offsets_of(&first, 0), [0]);
        gate.add_permits(10);
    });
}

#[test]
fn b198_close_calls_revoked_and_what_it_commits_is_committed() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let told = Listener {
            commits_on_revoke: true,
            ..Listener::default()
        };
        let mut consumer = subscribed(&broker, protocol, &told).await;
        read(&mut consumer, 3).await;
        told.calls();
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(told.calls(), [("revoked", vec![0])]);
        assert_eq!(told.commits(), [Ok(())]);
        assert_eq!(committed(&broker, 0), Some(3));
        assert!(members(&broker) == 0);
    });
}

/// The coordinator does not answer, so what was given is not committed in time: whoever works on it hears that it is lost.
#[test]
fn b198_close_calls_lost_when_its_time_is_over() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let told = Listener::default();
        let builder = automatic(&broker, protocol).rebalance_listener(told.clone());
        let mut consumer = joined(builder, 1).await;
        read(&mut consumer, 3).await;
        told.calls();
        broker.inject(Fault::silence().on(ApiKey::OffsetCommit));
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(told.calls(), [("lost", vec![0])]);
    });
}

#[test]
fn b200_close_from_another_task_lets_the_poll_in_progress_call_the_listener() {
    each(|protocol| async move {
        let broker = broker(1);
        let told = Listener::default();
        let mut consumer = subscribed(&broker, protocol, &told).await;
        owns(&mut consumer, 1).await;
        consumer.poll(STEP).await.unwrap();
        told.calls();
        let handle = consumer.handle();
        let poll = tokio::task::spawn_local(async move {
            let result = consumer.poll(Duration::from_secs(600)).await.map(drop);
            (result, consumer)
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        let begun = tokio::time::Instant::now();
        handle.close(Duration::from_secs(5)).await.unwrap();
        assert!(begun.elapsed() < Duration::from_secs(2));
        let (result, _consumer) = poll.await.unwrap();
        assert!(
            matches!(result, Err(consumer_app::Error::Closed)),
            "{result:?}"
        );
        assert_eq!(told.calls(), [("revoked", vec![0])]);
        assert!(members(&broker) == 0);
    });
}

/// The callback never ends: whoever closes waits no longer than it said.
#[test]
fn b200_close_ends_in_time_with_a_listener_that_does_not() {
    each(|protocol| async move {
        let broker = broker(1);
        let gate = Arc::new(Semaphore::new(1));
        let told = Listener {
            gate: Some(gate),
            ..Listener::default()
        };
        let mut consumer = subscribed(&broker, protocol, &told).await;
        owns(&mut consumer, 1).await;
        consumer.poll(STEP).await.unwrap();
        let begun = tokio::time::Instant::now();
        let closed = tokio::time::timeout(
            Duration::from_secs(30),
            consumer.close(Duration::from_secs(3)),
        );
        closed.await.expect("it ends").unwrap();
        assert!(
            begun.elapsed() <= Duration::from_millis(3_600),
            "{:?}",
            begun.elapsed()
        );
    });
}

struct Panics(std::sync::atomic::AtomicBool);

impl RebalanceListener for Panics {
    async fn assigned(&self, _: &RebalanceContext, _: &[TopicPartition]) {
        let is_first = !self.0.swap(true, std::sync::atomic::Ordering::Relaxed);
        assert!(!is_first, "the listener is broken");
    }
}

/// Whoever catches the panic of a poll can go on: that call of the listener is over.
#[test]
fn b173_a_listener_that_panics_leaves_a_consumer_that_works() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let builder = manual(&broker, protocol).rebalance_listener(Panics(false.into()));
        let consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        let consumer = Arc::new(tokio::sync::Mutex::new(consumer));
        let polling = Arc::clone(&consumer);
        let polled = async move { polling.lock().await.poll(Duration::from_secs(5)).await };
        let unwound = tokio::task::spawn_local(polled).await;
        let mut consumer = consumer.lock().await;
        assert!(unwound.unwrap_err().is_panic());
        assert_eq!(read(&mut consumer, 3).await.len(), 3);
        consumer.commit().await.unwrap();
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(committed(&broker, 0), Some(3));
    });
}

/// KIP-429: nobody else waits longer than max.poll.interval.ms, and the slow one gives no record of it meanwhile.
#[test]
fn b175_a_slow_revoked_holds_nobody_up_for_longer_than_the_rebalance_timeout() {
    each(|protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 1000);
        produce(&broker, 1, 1000);
        let gate = Arc::new(Semaphore::new(1));
        let told = Listener {
            gate: Some(gate),
            ..Listener::default()
        };
        let builder = manual(&broker, protocol)
            .set("max.poll.interval.ms", "10000")
            .set("max.poll.records", "1")
            .rebalance_listener(told.clone());
        let mut slow = builder.spawn_local().unwrap();
        slow.subscribe(["t"]).await.unwrap();
        read(&mut slow, 1).await;
        let polls = tokio::task::spawn_local(async move {
            let mut given = 0;
            for _ in 0..300 {
                given += slow.poll(STEP).await.unwrap().len();
            }
            given
        });
        let mut quick = manual(&broker, protocol).spawn_local().unwrap();
        quick.subscribe(["t"]).await.unwrap();
        let begun = tokio::time::Instant::now();
        while quick.assignment().is_empty() {
            quick.poll(STEP).await.unwrap();
            assert!(begun.elapsed() < Duration::from_secs(30));
        }
        polls.abort();
    });
}
