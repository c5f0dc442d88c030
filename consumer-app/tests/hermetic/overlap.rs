//! Fetching goes on while the application works. On the paused clock a fetch takes what it is told to and work takes what it says, so
//! the time that reading takes follows from how they overlap, and from nothing else.

use std::time::Duration;

use consumer_app::Policy;
use test_broker::{ApiKey, Fault};

use crate::support::{broker, builder, partitions, poll, produce_batches, run};

const PARTITIONS: i32 = 4;
const BUFFERS: usize = 20;
/// How long a fetch takes. It brings a batch of each partition: a buffer.
const FETCH: Duration = Duration::from_millis(20);
/// The work on one record; a poll gives one, a buffer is four polls. So the work on a buffer takes as long as fetching it.
const WORK: Duration = Duration::from_millis(5);

/// Reads everything and works on each record; returns how long that took, without the first fetch, which has no work to overlap with.
fn time_to_read(policy: Policy) -> Duration {
    run(async move {
        let broker = broker(PARTITIONS);
        for partition in 0..PARTITIONS {
            produce_batches(&broker, partition, BUFFERS, 1_000);
        }
        broker.inject(Fault::delay(FETCH).on(ApiKey::Fetch));
        let mut consumer = builder(&broker)
            .fetch_policy(policy)
            .set("max.poll.records", "1")
            // no two batches fit
            .set("max.partition.fetch.bytes", "1500")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(PARTITIONS)).await.unwrap();
        let mut begun = None;
        for _ in 0..BUFFERS * PARTITIONS as usize {
            assert_eq!(poll(&mut consumer).await.len(), 1);
            begun.get_or_insert_with(tokio::time::Instant::now);
            tokio::time::sleep(WORK).await;
        }
        begun.map(|begun| begun.elapsed()).unwrap()
    })
}

#[test]
fn fetching_and_work_take_as_long_as_one_of_them() {
    let work = WORK * BUFFERS as u32 * PARTITIONS as u32;
    let ours = time_to_read(Policy::ReadAhead);
    // timers have a grain of 1 ms: at worst one for each fetch
    let grain = Duration::from_millis(BUFFERS as u64);
    assert!((work..=work + grain).contains(&ours), "{ours:?}");
}

/// What Java does from 4.0 on: nothing is asked for until the last of a buffer is in the application's hands. A fetch overlaps with the
/// last of four polls.
#[test]
fn with_javas_rule_a_fetch_overlaps_with_the_last_poll_alone() {
    let work = WORK * BUFFERS as u32 * PARTITIONS as u32;
    let waits = (FETCH - WORK) * (BUFFERS as u32 - 1);
    let rule = time_to_read(Policy::SkipNode);
    assert!(rule >= work + waits, "{rule:?}");
}
