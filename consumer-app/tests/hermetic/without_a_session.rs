//! A broker that has no slot for a session: each request names every partition, so there should be few of them, and nothing may be later
//! for it.

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::{SessionCacheConfig, TestBroker};

use crate::support::traffic::{asks, fetches};
use crate::support::{builder, offsets_of, partitions, poll, produce, run, settle, tp};

const PARTITIONS: i32 = 24;

/// A broker with so many slots for sessions.
fn broker(slots: usize) -> TestBroker {
    let mut cache = SessionCacheConfig::default();
    cache.slots = slots;
    cache.shards = 1;
    TestBroker::builder()
        .topic("t", PARTITIONS)
        .session_cache(cache)
        .start_in_memory()
        .unwrap()
}

/// A consumer that has read a record of each partition but the last, and was refused a session long ago.
async fn refused(broker: &TestBroker, keys: &[(&str, &str)]) -> Consumer {
    let mut builder = builder(broker);
    for (key, value) in keys {
        builder = builder.set(key, value);
    }
    let mut consumer = builder.spawn_local().unwrap();
    consumer.assign(partitions(PARTITIONS)).await.unwrap();
    for partition in 0..PARTITIONS - 1 {
        produce(broker, partition, 1);
    }
    let mut read = 0;
    while read < PARTITIONS - 1 {
        read += poll(&mut consumer).await.len() as i32;
    }
    tokio::time::sleep(Duration::from_secs(100)).await;
    broker.clear_requests();
    consumer
}

/// Two minutes at `fetch.max.wait.ms` 500 were 240 requests of 24 partitions.
#[test]
fn an_application_that_is_busy_for_long_costs_few_requests() {
    run(async {
        let broker = broker(0);
        let mut consumer = refused(&broker, &[("max.poll.records", "1")]).await;
        for partition in 0..PARTITIONS {
            produce(&broker, partition, 1);
        }
        settle().await;
        broker.clear_requests();
        let mut read = 0;
        for _ in 0..PARTITIONS {
            read += poll(&mut consumer).await.len();
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        assert_eq!(read, PARTITIONS as usize);
        let asked = fetches(&broker);
        // one each 10 s, and what comes of the attempts at a session, a minute apart
        assert!(asked.len() <= 12 + 2 * 2 + 1, "{} requests", asked.len());
    });
}

#[test]
fn what_comes_is_given_at_once() {
    run(async {
        let broker = broker(0);
        let mut consumer = refused(&broker, &[]).await;
        for round in 0..20 {
            tokio::time::sleep(Duration::from_millis(1_370)).await;
            let begun = tokio::time::Instant::now();
            let partition = round % (PARTITIONS - 1);
            produce(&broker, partition, 1);
            assert_eq!(offsets_of(&poll(&mut consumer).await, partition).len(), 1);
            assert!(begun.elapsed() <= Duration::from_millis(2));
        }
    });
}

/// It waits neither for lane 1, which is out for long, nor for long at all when it is empty at first.
#[test]
fn what_becomes_fetchable_does_not_wait_for_lane_1() {
    run(async {
        let broker = broker(0);
        let mut consumer = refused(&broker, &[]).await;
        for round in 0..10 {
            let partition = round % 5;
            tokio::time::sleep(Duration::from_millis(3_700)).await;
            consumer.pause([&tp(partition)]).await.unwrap();
            consumer.seek_to_end(&tp(partition)).await.unwrap();
            consumer.resume([&tp(partition)]).await.unwrap();
            // lane 2 has asked and was told that there is nothing
            tokio::time::sleep(Duration::from_millis(20)).await;
            let begun = tokio::time::Instant::now();
            produce(&broker, partition, 1);
            assert_eq!(offsets_of(&poll(&mut consumer).await, partition).len(), 1);
            assert!(begun.elapsed() <= Duration::from_millis(2), "{round}");
        }
        // and lane 1 takes it back: lane 2 has nothing to ask for in the end
        tokio::time::sleep(Duration::from_secs(60)).await;
        broker.clear_requests();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let asked = fetches(&broker);
        assert!(asked.len() <= 10, "{} requests", asked.len());
        assert!(asked.iter().all(|(_, fetch)| asks(fetch, &tp(0)).is_some()));
    });
}

#[test]
fn a_session_is_had_as_soon_as_there_is_a_slot_at_the_next_attempt() {
    run(async {
        let broker = broker(1);
        let mut first = builder(&broker).spawn_local().unwrap();
        first.assign(partitions(PARTITIONS)).await.unwrap();
        settle().await;
        let mut second = refused(&broker, &[]).await;
        first.close(Duration::from_secs(1)).await.unwrap();
        broker.clear_requests();
        // attempts are a minute apart by now
        tokio::time::sleep(Duration::from_secs(61)).await;
        let asked = fetches(&broker);
        let given = asked.iter().any(|(_, fetch)| fetch.session_epoch > 0);
        assert!(given, "{} requests, none in a session", asked.len());
        assert!(poll(&mut second).await.is_empty());
        second.close(Duration::from_secs(1)).await.unwrap();
    });
}

/// With `fetch.min.bytes` above 1, the end of the wait is what brings a few bytes.
#[test]
fn a_broker_that_is_to_collect_bytes_waits_no_longer_than_it_is_told() {
    run(async {
        let broker = broker(0);
        let mut consumer = refused(&broker, &[("fetch.min.bytes", "100000")]).await;
        let begun = tokio::time::Instant::now();
        produce(&broker, 3, 1);
        assert_eq!(offsets_of(&poll(&mut consumer).await, 3).len(), 1);
        assert!(begun.elapsed() <= Duration::from_millis(502));
    });
}
