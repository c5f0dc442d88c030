//! Pauses, resumes, seeks and records at random, by seed. At rest every partition that is not paused has a request in flight: its
//! next record is given at once.

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::TestBroker;
use tokio::time::sleep;

use super::{AT_ONCE, delay_of_a_lone_record};
use crate::support::delivered::Delivered;
use crate::support::traffic::fetches;
use crate::support::{broker_of, consumer, partitions, produce, run, tp};

const SEEDS: u64 = 300;
const PARTITIONS: i32 = 6;

struct World {
    broker: TestBroker,
    consumer: Consumer,
    random: fastrand::Rng,
    delivered: Delivered,
    paused: [bool; PARTITIONS as usize],
    produced: usize,
}

impl World {
    async fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let broker = broker_of(random.i32(1..=3), PARTITIONS);
        let consumer = consumer(&broker);
        consumer.assign(partitions(PARTITIONS)).await.unwrap();
        Self {
            broker,
            consumer,
            random,
            delivered: Delivered::default(),
            paused: [false; PARTITIONS as usize],
            produced: 0,
        }
    }

    async fn poll(&mut self, millis: u64) {
        let wait = Duration::from_millis(millis);
        let records = self.consumer.poll(wait).await.unwrap();
        let is_paused = |record: consumer_app::Record<'_>| self.paused[record.partition() as usize];
        assert!(
            !records.iter().any(is_paused),
            "a paused partition's record"
        );
        self.delivered.take(&records);
    }

    async fn step(&mut self) {
        let partition = self.random.i32(0..PARTITIONS);
        let name = tp(partition);
        match self.random.u8(0..10) {
            0..3 => {
                self.consumer.pause(&[name]).await.unwrap();
                self.paused[partition as usize] = true;
            }
            3..6 => {
                self.consumer.resume(&[name]).await.unwrap();
                self.paused[partition as usize] = false;
            }
            6 => {
                // where the application is, so that every record comes once
                let here = self.delivered.next(&name);
                self.consumer.seek(&name, here).await.unwrap();
            }
            _ => {
                let count = self.random.usize(1..4);
                produce(&self.broker, partition, count);
                self.produced += count;
            }
        }
        if self.random.bool() {
            let millis = self.random.u64(0..200);
            self.poll(millis).await;
        }
    }

    /// Takes what is there of the partitions that are not paused, and lets every long poll begin anew.
    async fn rest(&mut self) {
        for _ in 0..8 {
            self.poll(200).await;
        }
    }

    async fn check_rest(&mut self, seed: u64) {
        for partition in 0..PARTITIONS {
            if self.paused[partition as usize] {
                continue;
            }
            let next = self.delivered.next(&tp(partition));
            let delay = delay_of_a_lone_record(&self.broker, &mut self.consumer, partition).await;
            self.delivered.seek(&tp(partition), next + 1);
            self.delivered.records += 1;
            self.produced += 1;
            assert!(delay <= AT_ONCE, "seed {seed}, {partition}: {delay:?}");
        }
    }
}

#[test]
fn i8_at_rest_every_partition_that_is_not_paused_has_a_request_in_flight() {
    for seed in 0..SEEDS {
        run(async {
            let mut world = World::new(seed).await;
            for _ in 0..3 {
                for _ in 0..20 {
                    world.step().await;
                }
                world.rest().await;
                world.check_rest(seed).await;
            }
            for partition in 0..PARTITIONS {
                world.consumer.resume(&[tp(partition)]).await.unwrap();
            }
            world.paused = [false; PARTITIONS as usize];
            world.rest().await;
            assert_eq!(world.delivered.records, world.produced, "seed {seed}");
            world.check_rest(seed).await;
            world.broker.clear_requests();
            sleep(Duration::from_secs(10)).await;
            let (requests, nodes) = (fetches(&world.broker).len(), world.broker.node_ids().len());
            assert!(requests <= 21 * nodes, "seed {seed}: {requests} requests");
            let metrics = world.consumer.metrics().await.unwrap();
            assert_eq!(metrics.unasked_partitions, 0, "seed {seed}");
        });
    }
}
