//! What it costs to hand what was fetched to the application: a consumer on one thread with its actors and the embedded broker, which have
//! done their work when the measured poll begins. A budget is what was measured, the lower quartile on an AMD EPYC that had other things to do, and half
//! as much again.
//!
//! | stage | what it is | measured | budget |
//! |---|---|---|---|
//! | lease | one poll that asks for and gives one record of each of 500 partitions | 640 ns per partition | 960 |
//! | poll | one of 500 records, in batches of 625, out of a lease | 4.6 ns per record | 7 |
//! | iterate | key, value, offset and time of each of them | 4.1 ns per record | 6.3 |

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use consumer_app::{Consumer, Records, TopicPartition};
use stage_bench::{Per, Stages};
use test_broker::{ProducerRecord, TestBroker};
use tokio::runtime::Runtime;
use tokio::task::LocalSet;

/// Partitions that have data at a time.
const PARTITIONS: i32 = 500;

/// Records that a poll gives out of a lease: `max.poll.records`.
const RECORDS: u64 = 500;

struct Pipe(TestBroker);

impl Connect for Pipe {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let node = self.0.node_at(host, port).ok_or_else(refused)?;
            let stream = self.0.connect(node).map_err(|_| refused())?;
            Ok(Box::new(stream) as Stream)
        })
    }
}

/// A consumer of all partitions of topic `t`, and all that it needs.
struct World {
    consumer: Consumer,
    broker: TestBroker,
    local: LocalSet,
    runtime: Runtime,
}

impl World {
    fn new(partitions: i32, max_poll_records: u64) -> Self {
        // for jitter
        fastrand::seed(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let local = LocalSet::new();
        let (broker, consumer) = local.block_on(&runtime, async {
            // its port numbers and ids follow from it
            let broker = TestBroker::builder()
                .seed(1)
                .topic("t", partitions)
                .start_in_memory()
                .expect("a broker");
            let consumer = Consumer::builder()
                .bootstrap_servers(&broker.bootstrap_servers())
                .set("auto.offset.reset", "earliest")
                .set("max.poll.records", &max_poll_records.to_string())
                .connector(Arc::new(Pipe(broker.clone())))
                .spawn_local()
                .expect("a consumer");
            let all = (0..partitions).map(|partition| TopicPartition::new("t", partition));
            consumer.assign(all).await.expect("assigned");
            (broker, consumer)
        });
        Self {
            consumer,
            broker,
            local,
            runtime,
        }
    }

    /// Appends so many batches of as many records to each partition, and lets everybody do what can be done without a poll: they are fetched, and
    /// what comes behind them asked for.
    fn fetch(&self, partitions: i32, batches: u64, records: u64) {
        let record = |n| {
            ProducerRecord::new(format!("value {n}"))
                .key("key")
                .timestamp(1_700_000_000_000)
        };
        for _ in 0..batches {
            for partition in 0..partitions {
                let records = (0..records).map(record);
                self.broker
                    .produce("t", partition, records)
                    .expect("appended");
            }
        }
        let moment = async { tokio::time::sleep(Duration::from_secs(2)).await };
        self.local.block_on(&self.runtime, moment);
    }

    fn poll(&mut self) -> Records {
        let poll = self.consumer.poll(Duration::from_secs(1));
        self.local.block_on(&self.runtime, poll).expect("records")
    }
}

/// Looks at all of each record but its headers.
fn read(records: &Records) -> u64 {
    records.iter().fold(0, |sum: u64, record| {
        let lengths = record.key().map_or(0, <[u8]>::len) + record.value().map_or(0, <[u8]>::len);
        let at = record
            .offset()
            .wrapping_add(record.timestamp())
            .cast_unsigned();
        sum.wrapping_add(at).wrapping_add(lengths as u64)
    })
}

/// A lease of one completed fetch for each of many partitions goes from the buffer to the reader, and its records to the application.
fn handing_over(stages: &mut Stages) {
    let world = RefCell::new(World::new(PARTITIONS, RECORDS));
    let fetch = || world.borrow().fetch(PARTITIONS, 1, 1);
    // budget: 960 ns per partition
    stages.add("lease", Per::partition(PARTITIONS as u64), fetch, |()| {
        let records = world.borrow_mut().poll();
        assert_eq!(records.len(), PARTITIONS as usize);
        records
    });
}

/// A poll out of a lease, and the reading of what it gives.
fn polling(stages: &mut Stages) {
    const POLLS: u64 = 100;
    /// A poll ends in the midst of a batch.
    const BATCH: u64 = 625;
    let world = RefCell::new(World::new(1, RECORDS));
    let left = Cell::new(0);
    let fetch = || {
        if left.get() == 0 {
            world.borrow().fetch(1, POLLS * RECORDS / BATCH, BATCH);
            // takes the lease
            world.borrow_mut().poll();
            left.set(POLLS - 1);
        }
        left.set(left.get() - 1);
    };
    // budget: 7 ns per record
    stages.add("poll", Per::record(RECORDS), fetch, |()| {
        let records = world.borrow_mut().poll();
        assert_eq!(records.len() as u64, RECORDS);
        records
    });
    let records = {
        fetch();
        world.borrow_mut().poll()
    };
    // budget: 6.3 ns per record
    stages.add("iterate", Per::record(RECORDS), || (), |()| read(&records));
}

fn main() {
    stage_bench::run("consumer-app", |stages| {
        handing_over(stages);
        polling(stages);
    });
}
