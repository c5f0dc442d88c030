//! Ten thousand seeks back and forth: none leaves anything behind, and each costs a few messages.

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::TestBroker;

use crate::support::{broker_of, builder, partitions, poll, produce_batches, run, settle, tp};

const SEEKS: u64 = 10_000;

/// Of each partition.
const RECORDS: i64 = 400;

/// What is held while nothing happens, here and at the brokers.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    memory_used: u64,
    unasked_partitions: usize,
    fetch_connections: u64,
    sessions_lost: u64,
    connections_open: u64,
    fetch_sessions: usize,
    cached_partitions: usize,
    sessions_evicted: u64,
}

/// Everything was read, and what was asked for on the second lanes is in the sessions again.
async fn at_rest(consumer: &mut Consumer, broker: &TestBroker) -> Held {
    for partition in &consumer.assignment() {
        consumer.seek(partition, RECORDS).await.unwrap();
    }
    for _ in 0..3 {
        assert!(poll(consumer).await.is_empty());
    }
    let (own, theirs) = (consumer.metrics().await.unwrap(), broker.counters());
    Held {
        memory_used: own.memory_used,
        unasked_partitions: own.unasked_partitions,
        fetch_connections: own.fetch_connections,
        sessions_lost: own.sessions_lost,
        connections_open: theirs.connections_open,
        fetch_sessions: theirs.fetch_sessions,
        cached_partitions: theirs.cached_partitions,
        sessions_evicted: theirs.sessions_evicted,
    }
}

#[test]
fn f068_ten_thousand_seeks_within_and_out_of_what_is_buffered_leave_nothing_behind() {
    run(async {
        let broker = broker_of(2, 4);
        for partition in 0..4 {
            produce_batches(&broker, partition, RECORDS as usize, 1000);
        }
        let mut consumer = builder(&broker)
            .set("max.poll.records", "5")
            .set("max.partition.fetch.bytes", "20000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(4)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(10_000);
        let mut seek = async |consumer: &mut Consumer| {
            let partition = tp(random.i32(0..4));
            let position = consumer.position(&partition).unwrap();
            // 20 records are what one fetch brings, and twice that is read ahead
            let to = match random.u8(0..3) {
                0 => (position + random.i64(0..20)).min(RECORDS),
                1 => (position - random.i64(0..20)).max(0),
                _ => random.i64(0..=RECORDS),
            };
            consumer.seek(&partition, to).await.unwrap();
            match random.u8(0..4) {
                // while its fetch is out
                0 => {}
                // with its fetch done
                1 => settle().await,
                // with part of it in hand
                _ => {
                    let polled = poll(consumer).await;
                    let own = polled.iter().find(|r| *r.topic_partition() == partition);
                    assert!(own.is_none_or(|first| first.offset() == to), "to {to}");
                }
            }
        };
        // each lane has been opened, and knows how large batches are
        poll(&mut consumer).await;
        for _ in 0..100 {
            seek(&mut consumer).await;
        }
        let before = at_rest(&mut consumer, &broker).await;
        let counts = consumer.metrics().await.unwrap();
        for _ in 0..SEEKS {
            seek(&mut consumer).await;
        }
        let after = consumer.metrics().await.unwrap();
        let (messages, requests) = (
            after.messages - counts.messages,
            after.fetch_requests - counts.fetch_requests,
        );
        println!("seeks: {messages} messages and {requests} requests for {SEEKS}");
        assert_eq!(at_rest(&mut consumer, &broker).await, before);
        // the seek, the five of a response, and the take that empties it
        assert!(messages <= 7 * SEEKS, "{messages} messages");
        assert!(requests <= SEEKS, "{requests} requests");

        consumer.assign(partitions(0)).await.unwrap();
        // what the reader holds is dropped by its next poll
        let _ = consumer.poll(Duration::ZERO).await;
        settle().await;
        assert_eq!(consumer.metrics().await.unwrap().memory_used, 0);
    });
}
