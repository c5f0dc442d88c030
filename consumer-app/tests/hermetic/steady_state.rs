//! What a consumer does when nothing happens but data: messages between its actors, and none of them for a poll.

use std::time::Duration;

use consumer_app::{Consumer, Metrics};
use test_broker::ApiKey;

use crate::support::delivered::Delivered;
use crate::support::traffic::asked_at;
use crate::support::{
    broker, broker_of, builder, consumer, partitions, poll, produce, produce_batches, run, settle,
    tp,
};

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

/// Reserve, its grant, the fetch, its result, idle. The take that empties it is left for the result to find, but for one where the reader
/// was away for long.
#[test]
fn a_response_with_data_costs_5_messages() {
    run(async {
        let broker = broker_of(2, 8);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(8)).await.unwrap();
        produce(&broker, 0, 1);
        poll(&mut consumer).await;
        settle().await;
        let before = metrics(&consumer).await;
        let mut delivered = 1;
        for round in 0..500 {
            produce(&broker, round % 8, 10);
            delivered += 10;
            while poll(&mut consumer).await.is_empty() {}
        }
        let after = metrics(&consumer).await;
        let responses = after.data_bearing_responses - before.data_bearing_responses;
        let messages = after.messages - before.messages;
        assert_eq!(responses, 500);
        assert!(messages <= 5 * responses + 5, "{messages} for {responses}");
        let held: i64 = partitions(8)
            .iter()
            .filter_map(|p| consumer.position(p))
            .sum();
        assert_eq!(held, delivered);
    });
}

/// A backlog: several responses for each poll, or several polls for each response.
#[test]
fn a_backlog_costs_no_more() {
    for (max_poll_records, limit) in [("500", "100000"), ("7", "10000"), ("100000", "1000000")] {
        run(async {
            let broker = broker_of(2, 4);
            for partition in 0..4 {
                produce_batches(&broker, partition, 400, 1000);
            }
            let mut consumer = builder(&broker)
                .set("max.poll.records", max_poll_records)
                .set("max.partition.fetch.bytes", limit)
                .spawn_local()
                .unwrap();
            consumer.assign(partitions(4)).await.unwrap();
            let mut delivered = Delivered::default();
            delivered.take(&poll(&mut consumer).await);
            let before = metrics(&consumer).await;
            while delivered.records < 1600 {
                delivered.take(&poll(&mut consumer).await);
            }
            let after = metrics(&consumer).await;
            let responses = after.data_bearing_responses - before.data_bearing_responses;
            let messages = after.messages - before.messages;
            // at the end, each node's answer without data: its fetch is not over yet
            let allowed = 6 * responses + 2 * 6;
            assert!(
                messages <= allowed,
                "{max_poll_records}: {messages} for {responses}"
            );
        });
    }
}

#[test]
fn polls_cost_no_message_while_a_lease_lasts() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 5000);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 5000).await;
        assert_eq!(poll(&mut consumer).await.len(), 10);
        let before = metrics(&consumer).await;
        for _ in 0..490 {
            assert_eq!(poll(&mut consumer).await.len(), 10);
        }
        let after = metrics(&consumer).await;
        assert_eq!(after.messages, before.messages);
        assert_eq!(after.fetch_requests, before.fetch_requests);
    });
}

#[test]
fn an_idle_consumer_costs_one_request_and_its_messages_per_max_wait() {
    run(async {
        let broker = broker(4);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        broker.clear_requests();
        let before = metrics(&consumer).await;
        for _ in 0..20 {
            assert!(poll(&mut consumer).await.is_empty());
        }
        let after = metrics(&consumer).await;
        let requests = after.fetch_requests - before.fetch_requests;
        assert!((199..=201).contains(&requests), "{requests}");
        // and the polls' own, which time out
        assert!(after.messages - before.messages <= 5 * requests + 3 * 20);
        assert!(broker.requests_of(ApiKey::Metadata).is_empty());
        assert_eq!(after.fetch_connections, 1);
        assert_eq!(after.memory_used, before.memory_used);
    });
}

/// B034: what a request says does not grow with the partitions that are quiet.
#[test]
fn b033_b034_2000_idle_partitions_and_a_hot_one() {
    run(async {
        let broker = broker(2001);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2001)).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        broker.clear_requests();
        let mut random = fastrand::Rng::with_seed(34);
        let mut delivered = Delivered::default();
        let mut produced = 0;
        let mut waiting: Vec<i32> = Vec::new();
        for _ in 0..300 {
            produce(&broker, 0, 50);
            produced += 50;
            if random.bool() {
                let quiet = random.i32(1..2001);
                produce(&broker, quiet, 1);
                produced += 1;
                waiting.push(quiet);
            }
            let records = poll(&mut consumer).await;
            delivered.take(&records);
            // a quiet partition's record comes with one of the next two polls
            let came: Vec<i32> = records.iter().map(|record| record.partition()).collect();
            waiting.retain(|quiet| !came.contains(quiet));
            assert!(waiting.len() <= 1, "{waiting:?}");
        }
        while delivered.records < produced {
            delivered.take(&poll(&mut consumer).await);
        }
        let requests = broker.requests_of(ApiKey::Fetch);
        let named = requests
            .iter()
            .filter_map(|request| Some(request.fetch()?.partitions.len()));
        assert!(named.max().unwrap() <= 3);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(broker.counters().fetch_sessions, 1);
        assert_eq!(broker.counters().cached_partitions, 2001);
    });
}
