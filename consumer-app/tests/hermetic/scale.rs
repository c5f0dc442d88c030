//! Many partitions: what is sent, asked and named does not grow with those that have nothing, and grows no faster than those that do.

use consumer_app::{Consumer, Metrics};
use test_broker::{ApiKey, RequestSummary, TestBroker};

use crate::support::traffic::fetches;
use crate::support::{broker_of, builder, partitions, poll, produce, run, settle, tp};

/// Partitions and nodes.
const SIZES: [(i32, i32); 6] = [
    (1, 1),
    (100, 1),
    (1_000, 1),
    (1_000, 6),
    (10_000, 1),
    (10_000, 6),
];

/// A consumer of all partitions that has asked for each, and its broker.
async fn idle(nodes: i32, count: i32) -> (TestBroker, Consumer) {
    let broker = broker_of(nodes, count);
    let mut consumer = builder(&broker)
        .set("max.poll.records", "10000")
        .spawn_local()
        .unwrap();
    consumer.assign(partitions(count)).await.unwrap();
    assert!(poll(&mut consumer).await.is_empty());
    (broker, consumer)
}

async fn metrics(consumer: &Consumer) -> Metrics {
    consumer.metrics().await.unwrap()
}

/// How many partitions all ListOffsets requests name.
fn looked_up(broker: &TestBroker) -> usize {
    let named = |summary| match summary {
        RequestSummary::ListOffsets { partitions, .. } => partitions.len(),
        _ => 0,
    };
    broker
        .requests_of(ApiKey::ListOffsets)
        .into_iter()
        .map(|request| named(request.summary))
        .sum()
}

#[test]
fn the_beginning_names_each_partition_once_and_takes_requests_per_node() {
    for (count, nodes) in SIZES {
        run(async {
            let (broker, consumer) = idle(nodes, count).await;
            let (count, nodes) = (count as usize, nodes as usize);
            assert_eq!(looked_up(&broker), count);
            let requests = |api| broker.requests_of(api).len();
            assert!(requests(ApiKey::ListOffsets) <= nodes.min(count));
            assert!(
                requests(ApiKey::Metadata) <= 2,
                "{}",
                requests(ApiKey::Metadata)
            );
            let named: usize = fetches(&broker)
                .iter()
                .map(|(_, fetch)| fetch.partitions.len())
                .sum();
            assert_eq!(named, count, "of {count} partitions on {nodes} nodes");
            let messages = metrics(&consumer).await.messages;
            let most = 30 + 5 * fetches(&broker).len() as u64;
            assert!(
                messages <= most,
                "{messages} messages for {count} partitions on {nodes} nodes"
            );
        });
    }
}

/// What 100 records cost that come one at a time to one partition of many: messages, requests, partitions named, bytes that came.
async fn cost_of_100(nodes: i32, count: i32) -> [u64; 4] {
    let (broker, mut consumer) = idle(nodes, count).await;
    broker.clear_requests();
    let before = metrics(&consumer).await;
    for round in 0..100 {
        let partition = round * 7919 % count;
        produce(&broker, partition, 1);
        let records = poll(&mut consumer).await;
        assert_eq!(records.len(), 1);
        drop(records);
        settle().await;
    }
    let after = metrics(&consumer).await;
    assert_eq!(
        after.data_bearing_responses - before.data_bearing_responses,
        100
    );
    let named: usize = fetches(&broker)
        .iter()
        .map(|(_, fetch)| fetch.partitions.len())
        .sum();
    [
        after.messages - before.messages,
        after.fetch_requests - before.fetch_requests,
        named as u64,
        after.bytes_received - before.bytes_received,
    ]
}

#[test]
fn a_record_costs_the_same_among_many_idle_partitions() {
    let alone = run(cost_of_100(1, 1));
    for (count, nodes) in SIZES {
        let cost = run(cost_of_100(nodes, count));
        // each of them is named once more when it has moved, and the pieces of time are not those of one node
        let most = alone.map(|alone| alone + alone / 10);
        let more = cost.iter().zip(most).any(|(&cost, most)| cost > most);
        assert!(
            !more,
            "{count} partitions on {nodes} nodes: {cost:?}, one partition: {alone:?}"
        );
    }
}

#[test]
fn a_record_in_each_of_many_partitions_takes_a_response_per_node() {
    for (count, nodes) in SIZES {
        run(async {
            let (broker, mut consumer) = idle(nodes, count).await;
            let before = metrics(&consumer).await;
            for partition in 0..count {
                produce(&broker, partition, 1);
            }
            let mut read = 0;
            while read < count as usize {
                let records = poll(&mut consumer).await;
                assert!(!records.is_empty(), "{read} records of {count}");
                read += records.len();
            }
            let after = metrics(&consumer).await;
            let responses = after.data_bearing_responses - before.data_bearing_responses;
            // a long poll ends with the first record, and the rest comes with the next
            assert!(
                responses <= 3 * nodes as u64,
                "{responses} responses for {count} partitions on {nodes} nodes"
            );
            for partition in (0..count).step_by(97) {
                assert_eq!(consumer.position(&tp(partition)), Some(1));
            }
        });
    }
}
