//! Allocations, counted: how often a poll and the reading of what it gives allocate does not depend on how many records that are, and
//! what seeks leave allocated does not depend on how many they were. A target of its own, since it replaces the allocator.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use allocation_counter::measure;
use consumer_app::connect::{Connect, ConnectFuture, Stream};
use consumer_app::{Consumer, RebalanceListener, Records, TopicPartition};
use record_batch::Compression;
use test_broker::{ApiKey, ProducerRecord, TestBroker};
use tokio::task::LocalSet;

mod allocations {
    mod seeks;
}

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

/// A poll that finds its records in hand.
fn poll_ready(consumer: &mut Consumer) -> Records {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(consumer.poll(Duration::from_secs(1))).poll(&mut context) {
        Poll::Ready(records) => records.unwrap(),
        Poll::Pending => panic!("the lease is empty"),
    }
}

/// Reads all of every record.
fn read(records: &Records) -> usize {
    let mut read = 0;
    for record in records {
        assert!(record.offset() >= 0 && record.timestamp() > 0 && record.topic() == "t");
        let headers = record.headers();
        read += record.key().unwrap().len() + record.value().unwrap().len();
        read += headers
            .iter()
            .filter_map(|header| header.value())
            .map(<[u8]>::len)
            .sum::<usize>();
    }
    read
}

/// Hears of nothing while nothing changes.
struct Deaf;

impl RebalanceListener for Deaf {}

/// Allocations of a poll of so many records out of a lease, and of reading them: as a member of a group that commits by itself and
/// has a listener, or with partitions assigned by hand.
async fn allocations(codec: Compression, max_poll_records: usize, protocol: Option<&str>) -> u64 {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .start_in_memory()
        .unwrap();
    let records = (0..21_000).map(|n| {
        ProducerRecord::new(format!("value {n}"))
            .key("key")
            .header("trace", "12345678")
            .timestamp(1_700_000_000_000 + n)
    });
    broker.produce_compressed("t", 0, codec, records).unwrap();
    let builder = Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers())
        .set("auto.offset.reset", "earliest")
        .set("max.poll.records", &max_poll_records.to_string())
        .connector(Arc::new(Pipe(broker.clone())));
    let mut consumer = match protocol {
        None => builder,
        Some(protocol) => builder
            .group_id("g")
            .set("group.protocol", protocol)
            .rebalance_listener(Deaf),
    }
    .spawn_local()
    .unwrap();
    match protocol {
        None => consumer.assign([TopicPartition::new("t", 0)]).await,
        Some(_) => consumer.subscribe(["t"]).await,
    }
    .unwrap();
    let first = consumer.poll(Duration::from_secs(5)).await.unwrap();
    assert_eq!(first.len(), max_poll_records);
    // what follows is asked for, and everybody else waits
    let fetched = |requests: &[test_broker::RequestRecord]| {
        requests
            .iter()
            .filter(|request| request.api_key == ApiKey::Fetch)
            .count()
            >= 2
    };
    broker.wait_for_requests(fetched).await;
    let mut sum = 0;
    let counted = measure(|| {
        let records = poll_ready(&mut consumer);
        assert_eq!(records.len(), max_poll_records);
        sum = read(&records);
    });
    assert!(sum > max_poll_records * 15);
    counted.count_total
}

#[test]
fn polls_and_iteration_allocate_no_more_for_more_records() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let none = Compression::None;
    for (codec, protocol) in [
        (none, None),
        (Compression::Lz4, None),
        (Compression::Zstd, None),
        (none, Some("classic")),
        (none, Some("consumer")),
    ] {
        let counts: Vec<u64> = [1, 10, 1000, 10_000]
            .into_iter()
            .map(|records| {
                let counted = allocations(codec, records, protocol);
                LocalSet::new().block_on(&runtime, counted)
            })
            .collect();
        assert!(
            counts.iter().all(|&count| count == counts[0]),
            "{codec}, {protocol:?}: {counts:?}"
        );
        assert!(counts[0] <= 8, "{codec}, {protocol:?}: {counts:?}");
    }
}
