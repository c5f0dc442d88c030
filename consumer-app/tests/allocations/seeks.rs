//! Seeks leave no piece of memory allocated, whatever it belongs to.

use std::sync::Arc;
use std::time::Duration;

use allocation_counter::measure;
use consumer_app::{Consumer, TopicPartition};
use test_broker::TestBroker;
use tokio::runtime::{Builder, Runtime};
use tokio::task::LocalSet;

use crate::Pipe;

/// Batches of one record in each partition.
const RECORDS: i64 = 300;

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// So many seeks forth, back and far, with polls between them; then all is read, and nothing under way.
async fn seek(consumer: &mut Consumer, broker: &TestBroker, times: i64) {
    for time in 0..times {
        let partition = tp((time % 2) as i32);
        let to = match time % 3 {
            0 => time % RECORDS,
            1 => (time + 5) % RECORDS,
            _ => (time * 7) % RECORDS,
        };
        consumer.seek(&partition, to).await.unwrap();
        if time % 4 > 0 {
            consumer.poll(Duration::from_secs(5)).await.unwrap();
        }
        // the broker keeps a list of them
        broker.clear_requests();
    }
    for partition in 0..2 {
        consumer.seek(&tp(partition), RECORDS).await.unwrap();
    }
    for _ in 0..3 {
        let rest = consumer.poll(Duration::from_secs(5)).await.unwrap();
        assert!(rest.is_empty());
    }
    broker.clear_requests();
}

#[test]
fn f068_ten_thousand_seeks_leave_no_more_allocated_than_a_hundred() {
    let runtime: Runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let local = LocalSet::new();
    let (broker, mut consumer) = local.block_on(&runtime, async {
        let broker = TestBroker::builder()
            .topic("t", 2)
            .start_in_memory()
            .unwrap();
        for partition in 0..2 {
            for _ in 0..RECORDS {
                broker.produce("t", partition, [vec![b'x'; 500]]).unwrap();
            }
        }
        let consumer = Consumer::builder()
            .bootstrap_servers(&broker.bootstrap_servers())
            .set("max.poll.records", "5")
            .set("max.partition.fetch.bytes", "10000")
            .connector(Arc::new(Pipe(broker.clone())))
            .spawn_local()
            .unwrap();
        consumer
            .assign_at((0..2).map(|partition| (tp(partition), 0)))
            .await
            .unwrap();
        (broker, consumer)
    });
    let mut left_by = |times| {
        let counted = measure(|| {
            local.block_on(&runtime, seek(&mut consumer, &broker, times));
        });
        (counted.count_current, counted.bytes_current)
    };
    // whatever is made once, and pools that fill
    left_by(2_000);
    let few = left_by(100);
    let many = left_by(10_000);
    println!("seeks: {few:?} pieces and bytes are left by 100, {many:?} by 10,000");
    assert!(many.0 - few.0 <= 20, "{few:?} {many:?} pieces");
    assert!(many.1 - few.1 <= 64 * 1024, "{few:?} {many:?} bytes");
}
