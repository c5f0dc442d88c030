//! Progress that does not stop: what one node, partition or poll does adds nothing to the delay of the others' records, whoever
//! waits has a reason, and who has nothing to do does nothing.

mod idle;
mod lone_records;
mod nodes;
mod random;
mod storm;

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::TestBroker;
use tokio::time::{Instant, sleep};

use crate::support::{produce, settle};

/// Longer than anything takes that does not wait: the clock has a resolution of 1 ms.
const AT_ONCE: Duration = Duration::from_millis(2);

/// A record alone in a partition: how long after the broker has it a poll gives it.
async fn delay_of_a_lone_record(
    broker: &TestBroker,
    consumer: &mut Consumer,
    partition: i32,
) -> Duration {
    produce(broker, partition, 1);
    let begun = Instant::now();
    let records = consumer.poll(Duration::from_secs(60)).await.unwrap();
    let delay = begun.elapsed();
    let given: Vec<i32> = records.iter().map(|record| record.partition()).collect();
    assert_eq!(given, [partition]);
    delay
}

/// The first records of partitions come, and their long polls begin.
async fn warm_up(broker: &TestBroker, consumer: &mut Consumer, partitions: &[i32]) {
    for &partition in partitions {
        delay_of_a_lone_record(broker, consumer, partition).await;
    }
    settle().await;
}

/// A record each 10 ms, in turn to these partitions; the longest delay.
async fn longest_delay(
    broker: &TestBroker,
    consumer: &mut Consumer,
    partitions: &[i32],
    records: usize,
) -> Duration {
    let mut longest = Duration::ZERO;
    for partition in partitions.iter().cycle().take(records) {
        longest = longest.max(delay_of_a_lone_record(broker, consumer, *partition).await);
        sleep(Duration::from_millis(10)).await;
    }
    longest
}
