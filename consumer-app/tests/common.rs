//! A consumer and the embedded broker on one paused clock, joined by in-memory pipes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use consumer_app::{Consumer, ConsumerBuilder, Records, TopicPartition};
use test_broker::TestBroker;
use tokio::task::LocalSet;

/// Connects to the nodes of a broker in this process.
pub struct Pipe(pub TestBroker);

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

/// A builder that is set up for `broker`.
pub fn builder(broker: &TestBroker) -> ConsumerBuilder {
    Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers())
        .set("auto.offset.reset", "earliest")
        .connector(Arc::new(Pipe(broker.clone())))
}

/// Runs a test on one thread with a paused clock, in a `LocalSet`: time passes only when everybody waits.
pub fn run<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

/// Partition `partition` of topic `t`.
pub fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// Offsets of the records, in the order in which they were given.
pub fn offsets(records: &Records) -> Vec<i64> {
    records.iter().map(|record| record.offset()).collect()
}

/// One poll, long enough for anything that needs no pause.
pub async fn poll(consumer: &mut Consumer) -> Records {
    consumer
        .poll(Duration::from_secs(5))
        .await
        .expect("records")
}
