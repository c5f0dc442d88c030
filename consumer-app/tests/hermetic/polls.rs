//! Polls that are dropped, cut short or not waited for: nothing they saw is lost.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use consumer_app::{Consumer, Error, Records};
use futures_util::StreamExt;
use test_broker::{ApiKey, Fault, TestBroker};

use crate::support::delivered::Delivered;
use crate::support::pipes::{FarPipe, Pipe};
use crate::support::traffic::asked_at;
use crate::support::{
    broker, builder, consumer, offsets, partitions, poll, produce, produce_batches, run, settle, tp,
};

/// A consumer to which a fetch takes 20 ms.
fn far_consumer(broker: &TestBroker) -> Consumer {
    let far = FarPipe {
        pipe: Pipe(broker.clone()),
        delay: Duration::from_millis(20),
    };
    builder(broker)
        .connector(Arc::new(far))
        .spawn_local()
        .unwrap()
}

/// Looks at a poll so many times, each time after everybody else has had a turn, and then drops it.
async fn poll_times(consumer: &mut Consumer, looks: usize) -> Option<Records> {
    let mut poll = pin!(consumer.poll(Duration::from_secs(1)));
    for _ in 0..looks {
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(records) = poll.as_mut().poll(&mut context) {
            return Some(records.unwrap());
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Java's `poll(0)` gives what is buffered, however often it is called.
#[test]
fn polls_that_do_not_wait_read_a_topic_whole() {
    for batches in [false, true] {
        run(async {
            let broker = broker(3);
            for partition in 0..3 {
                produce_batches(&broker, partition, 100, 100);
            }
            let mut consumer = builder(&broker)
                .set("max.partition.fetch.bytes", "1000")
                .set("fetch.max.bytes", "2000")
                .spawn_local()
                .unwrap();
            consumer.assign(partitions(3)).await.unwrap();
            let (mut read, mut polls) = (0, 0);
            while read < 300 {
                read += if batches {
                    let batches = consumer.poll_batches(Duration::ZERO).await.unwrap();
                    let decoded = batches
                        .into_partitions()
                        .map(|one| one.decode().unwrap().len());
                    decoded.sum()
                } else {
                    consumer.poll(Duration::ZERO).await.unwrap().len()
                };
                polls += 1;
                assert!(polls < 300, "{read} records in {polls} polls");
                settle().await;
            }
        });
    }
}

#[test]
fn f060_b023_a_dropped_poll_has_consumed_nothing() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        // waits, is dropped, and the data comes afterwards
        assert!(poll_times(&mut consumer, 5).await.is_none());
        produce(&broker, 0, 5);
        asked_at(&broker, &tp(0), 5).await;
        // ready, and never looked at
        drop(consumer.poll(Duration::from_secs(1)));
        assert_eq!(consumer.position(&tp(0)), Some(0));
        assert_eq!(offsets(&poll(&mut consumer).await), [0, 1, 2, 3, 4]);
        assert_eq!(consumer.position(&tp(0)), Some(5));
    });
}

#[test]
fn f060_polls_in_a_select_with_a_10_ms_tick_over_a_20_ms_fetch_advance() {
    run(async {
        let broker = broker(3);
        let mut consumer = far_consumer(&broker);
        consumer.assign(partitions(3)).await.unwrap();
        let mut tick = tokio::time::interval(Duration::from_millis(10));
        let mut delivered = Delivered::default();
        let (mut ticks, mut produced) = (0, 0);
        while delivered.records < 3000 {
            tokio::select! {
                _ = tick.tick() => {
                    ticks += 1;
                    if produced < 3000 {
                        produce(&broker, ticks % 3, 10);
                        produced += 10;
                    }
                }
                records = consumer.poll(Duration::from_secs(5)) => delivered.take(&records.unwrap()),
            }
            assert!(ticks < 1000, "only {} came", delivered.records);
        }
        assert_eq!(consumer.position(&tp(0)), Some(delivered.next(&tp(0))));
    });
}

#[test]
fn f060_100_000_records_through_polls_dropped_at_random_times() {
    for seed in 0..10 {
        run(async {
            let broker = broker(2);
            let mut random = fastrand::Rng::with_seed(seed);
            broker.inject(Fault::delay(Duration::from_micros(700)).on(ApiKey::Fetch));
            let mut consumer = builder(&broker)
                .set("max.poll.records", &random.u16(1..2000).to_string())
                .set("max.partition.fetch.bytes", "20000")
                .spawn_local()
                .unwrap();
            consumer.assign(partitions(2)).await.unwrap();
            for _ in 0..50 {
                produce(&broker, 0, 100);
                produce(&broker, 1, 100);
            }
            let mut delivered = Delivered::default();
            let mut dropped = 0;
            while delivered.records < 10_000 {
                let records = if random.bool() {
                    let timer = Duration::from_micros(random.u64(0..2000));
                    tokio::select! {
                        biased;
                        () = tokio::time::sleep(timer) => None,
                        records = consumer.poll(Duration::from_secs(5)) => Some(records.unwrap()),
                    }
                } else {
                    poll_times(&mut consumer, random.usize(0..4)).await
                };
                match records {
                    Some(records) => delivered.take(&records),
                    None => dropped += 1,
                }
                for partition in partitions(2) {
                    let position = consumer.position(&partition).unwrap_or(0);
                    assert_eq!(position, delivered.next(&partition), "seed {seed}");
                }
                assert!(dropped < 100_000, "seed {seed}");
            }
            assert!(dropped > 0);
        });
    }
}

/// A poll that was dropped asked for records until its own deadline; the next one waits no longer than it says.
#[test]
fn a_poll_waits_no_longer_than_it_says_after_one_that_would_have() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        assert!(poll_times(&mut consumer, 5).await.is_none());
        for wait in [0, 1, 7, 30] {
            let begun = tokio::time::Instant::now();
            let records = consumer.poll(Duration::from_millis(wait)).await.unwrap();
            assert!(records.is_empty());
            let waited = begun.elapsed();
            let wait = Duration::from_millis(wait);
            // tokio's timers have a resolution of 1 ms
            assert!(
                wait <= waited && waited <= wait + Duration::from_millis(2),
                "{waited:?}"
            );
        }
    });
}

#[test]
fn a_poll_of_no_time_gives_what_is_there() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 5);
        asked_at(&broker, &tp(0), 5).await;
        settle().await;
        let records = consumer.poll(Duration::ZERO).await.unwrap();
        assert_eq!(offsets(&records), [0, 1, 2, 3, 4]);
        assert!(consumer.poll(Duration::ZERO).await.unwrap().is_empty());
        let longest = consumer.poll(Duration::MAX);
        produce(&broker, 0, 1);
        assert_eq!(offsets(&longest.await.unwrap()), [5]);
    });
}

#[test]
fn a_consumer_is_a_stream_of_records_and_errors_that_ends_when_it_is_closed() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let consumer = consumer(&broker);
        let handle = consumer.handle();
        let mut stream = std::pin::pin!(consumer.into_stream());
        let error = stream.next().await.unwrap().unwrap_err();
        assert!(matches!(error, Error::NothingAssigned), "{error}");
        handle.assign([tp(0)]).await.unwrap();
        assert_eq!(offsets(&stream.next().await.unwrap().unwrap()), [0, 1, 2]);
        // a wait that is given up loses nothing
        let waited = tokio::time::timeout(Duration::from_secs(90), stream.next()).await;
        assert!(waited.is_err());
        produce(&broker, 0, 2);
        assert_eq!(offsets(&stream.next().await.unwrap().unwrap()), [3, 4]);
        let closed = tokio::task::spawn_local(handle.close(Duration::from_secs(1)));
        assert!(stream.next().await.is_none());
        assert!(stream.next().await.is_none());
        closed.await.unwrap().unwrap();
    });
}
