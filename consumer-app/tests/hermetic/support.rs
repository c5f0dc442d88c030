//! A consumer and the embedded broker on one paused clock, joined by in-memory pipes, and what tests ask of them.

pub(crate) mod crafted;
pub(crate) mod delivered;
pub(crate) mod log;
pub(crate) mod pipes;
pub(crate) mod serving;
pub(crate) mod traffic;
pub(crate) mod vectors;

use std::sync::Arc;
use std::time::Duration;

use consumer_app::{Consumer, ConsumerBuilder, Error, Records, TopicPartition};
use test_broker::TestBroker;
use tokio::task::LocalSet;

use self::pipes::Pipe;

/// A builder that is set up for `broker`.
pub(crate) fn builder(broker: &TestBroker) -> ConsumerBuilder {
    Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers())
        .set("auto.offset.reset", "earliest")
        .connector(Arc::new(Pipe(broker.clone())))
}

/// A consumer with the defaults, reading from the beginning.
pub(crate) fn consumer(broker: &TestBroker) -> Consumer {
    builder(broker).spawn_local().expect("a consumer")
}

/// A broker with one node and topic `t` of so many partitions.
pub(crate) fn broker(partitions: i32) -> TestBroker {
    broker_of(1, partitions)
}

/// A broker with so many nodes and topic `t` of so many partitions, whose leaders go round robin.
pub(crate) fn broker_of(nodes: i32, partitions: i32) -> TestBroker {
    TestBroker::builder()
        .nodes(nodes)
        .topic("t", partitions)
        .start_in_memory()
        .expect("a broker")
}

/// Runs a test on one thread with a paused clock, in a `LocalSet`: time passes only when everybody waits. Jitter follows from
/// `SEED` in the environment, 1 if it is not there, so that a run can be repeated.
pub(crate) fn run<F: Future>(test: F) -> F::Output {
    let seed = std::env::var("SEED").ok();
    fastrand::seed(seed.map_or(1, |seed| seed.parse().expect("SEED is a number")));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

/// Lets everybody do what can be done without a wait, and a millisecond pass.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Partition `partition` of topic `t`.
pub(crate) fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// The first partitions of topic `t`.
pub(crate) fn partitions(count: i32) -> Vec<TopicPartition> {
    (0..count).map(tp).collect()
}

/// Appends so many small records to a partition of topic `t`, as one batch.
pub(crate) fn produce(broker: &TestBroker, partition: i32, count: usize) {
    let values = (0..count).map(|value| format!("value {value}"));
    broker.produce("t", partition, values).expect("appended");
}

/// Appends so many batches of one record of so many bytes each to a partition of topic `t`.
pub(crate) fn produce_batches(broker: &TestBroker, partition: i32, batches: usize, size: usize) {
    for _ in 0..batches {
        broker
            .produce("t", partition, [vec![b'x'; size]])
            .expect("appended");
    }
}

/// Offsets of the records, in the order in which they were given.
pub(crate) fn offsets(records: &Records) -> Vec<i64> {
    records.iter().map(|record| record.offset()).collect()
}

/// Offsets of the records of one partition of topic `t`.
pub(crate) fn offsets_of(records: &Records, partition: i32) -> Vec<i64> {
    let own = records.iter().filter(|r| r.partition() == partition);
    own.map(|record| record.offset()).collect()
}

/// One poll, long enough for anything that needs no pause.
pub(crate) async fn poll(consumer: &mut Consumer) -> Records {
    consumer
        .poll(Duration::from_secs(5))
        .await
        .expect("records")
}

/// Polls until an error comes; no more than 20 polls, which give no record.
pub(crate) async fn poll_error(consumer: &mut Consumer) -> Error {
    for _ in 0..20 {
        match consumer.poll(Duration::from_secs(5)).await {
            Err(error) => return error,
            Ok(records) => assert!(records.is_empty(), "records in place of an error"),
        }
    }
    panic!("no error came");
}

/// Polls until `count` offsets have come, and gives them. Fails after 40 polls of 5 s in a row that gave nothing.
pub(crate) async fn read(consumer: &mut Consumer, count: usize) -> Vec<i64> {
    let mut read = Vec::new();
    let mut empty = 0;
    while read.len() < count {
        let records = poll(consumer).await;
        empty = if records.is_empty() { empty + 1 } else { 0 };
        assert!(empty < 40, "only {} of {count} records came", read.len());
        read.extend(offsets(&records));
    }
    read
}
