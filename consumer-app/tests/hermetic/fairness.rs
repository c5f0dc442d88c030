//! No partition waits for another: in requests, in polls, and behind one that is never read fast enough.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use consumer_app::Records;

use crate::support::pipes::{FarPipe, Pipe};
use crate::support::{
    broker, builder, offsets_of, partitions, poll, produce, produce_batches, run, tp,
};

fn count(records: &Records, counts: &mut BTreeMap<i32, usize>) {
    for record in records {
        *counts.entry(record.partition()).or_default() += 1;
    }
}

#[test]
fn b012_responses_that_fit_one_partition_turn_over_all_of_them() {
    run(async {
        let broker = broker(8);
        for partition in 0..8 {
            produce_batches(&broker, partition, 50, 1000);
        }
        let mut consumer = builder(&broker)
            .set("fetch.max.bytes", "1100")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(8)).await.unwrap();
        let mut counts: BTreeMap<i32, usize> = (0..8).map(|partition| (partition, 0)).collect();
        while counts.values().sum::<usize>() < 400 {
            count(&poll(&mut consumer).await, &mut counts);
            let (most, least) = (counts.values().max(), counts.values().min());
            // one ahead, and one in the lease
            assert!(most.unwrap() - least.unwrap() <= 2, "{counts:?}");
        }
    });
}

#[test]
fn polls_turn_over_the_partitions_that_have_records() {
    run(async {
        let broker = broker(8);
        for partition in 0..8 {
            produce(&broker, partition, 100);
        }
        let mut consumer = builder(&broker)
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(8)).await.unwrap();
        let mut turns: Vec<Vec<i32>> = Vec::new();
        for _ in 0..10 {
            let mut turn = Vec::new();
            for _ in 0..8 {
                let records = poll(&mut consumer).await;
                assert_eq!(records.len(), 10);
                turn.extend(records.iter().next().map(|record| record.partition()));
            }
            turns.push(turn);
        }
        for turn in turns {
            let mut once = turn.clone();
            once.sort_unstable();
            assert_eq!(once, (0..8).collect::<Vec<_>>(), "{turn:?}");
        }
    });
}

/// Lane 1 rests while the hot partition is at its read-ahead; lane 2 waits for the others' records.
#[test]
fn b033_a_hot_partition_at_its_credit_does_not_delay_a_quiet_ones_record() {
    run(async {
        let broker = broker(3);
        produce_batches(&broker, 0, 200, 50_000);
        let round_trip = Duration::from_millis(50);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "1")
            .connector(Arc::new(FarPipe {
                pipe: Pipe(broker.clone()),
                delay: round_trip,
            }))
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(3)).await.unwrap();
        poll(&mut consumer).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let busy = Duration::from_millis(10);
        for round in 0..40 {
            let quiet = 1 + round % 2;
            produce(&broker, quiet, 1);
            let produced = tokio::time::Instant::now();
            loop {
                let records = poll(&mut consumer).await;
                assert!(!records.is_empty());
                tokio::time::sleep(busy).await;
                if !offsets_of(&records, quiet).is_empty() {
                    break;
                }
                // an answer that was on its way, the one that brings it, and the poll in progress
                let waited = produced.elapsed();
                assert!(
                    waited <= 2 * round_trip + 2 * busy,
                    "round {round}: {waited:?}"
                );
            }
        }
    });
}

/// A request takes as much from each partition as its limits allow, and what one gives another does not lose.
#[test]
fn b033_a_partition_with_endless_data_leaves_the_others_their_share() {
    run(async {
        let broker = broker(8);
        let mut consumer = builder(&broker)
            .set("fetch.max.bytes", "20000")
            .set("max.partition.fetch.bytes", "20000")
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(8)).await.unwrap();
        produce_batches(&broker, 0, 2000, 1000);
        let mut counts = BTreeMap::new();
        for round in 0..100 {
            for partition in 1..8 {
                produce(&broker, partition, 1);
            }
            // one poll for the hot one, at most 7 for the others
            for _ in 0..8 {
                count(&poll(&mut consumer).await, &mut counts);
            }
            if round > 2 {
                let least = (1..8).map(|p| counts.get(&p).copied().unwrap_or(0)).min();
                assert!(least.unwrap() + 3 >= round, "round {round}: {counts:?}");
            }
        }
        let position = consumer.position(&tp(0)).unwrap();
        assert!(position >= 100, "{position}");
    });
}
