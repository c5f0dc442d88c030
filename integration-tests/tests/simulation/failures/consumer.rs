//! The consumer: reads all partitions from the beginning, and goes on whatever it is told.

use std::sync::Arc;
use std::time::Duration;

use consumer_app::{Consumer, Error, TopicPartition};
use tokio::time::sleep;

use super::{CONSUMER, Checker, NODES, PARTITIONS, TOPIC};
use crate::network::{Cuts, Dial, PORT, host_of};

/// What the consumer's host runs.
pub(super) async fn run(seed: u64, cuts: Cuts, checker: Checker) -> turmoil::Result {
    let mut random = fastrand::Rng::with_seed(seed ^ 0xc0);
    let servers: Vec<_> = (1..=NODES)
        .map(|node| format!("{}:{PORT}", host_of(node)))
        .collect();
    let settings = [
        ("client.id", CONSUMER.to_owned()),
        ("auto.offset.reset", "earliest".to_owned()),
        ("default.api.timeout.ms", "8000".to_owned()),
        ("socket.connection.setup.timeout.ms", "2000".to_owned()),
        ("request.timeout.ms", random.u32(2_000..6_000).to_string()),
        ("fetch.max.wait.ms", random.u32(10..1_000).to_string()),
        (
            "fetch.min.bytes",
            random.choice([1, 1, 1, 5_000]).unwrap_or(1).to_string(),
        ),
        ("fetch.max.bytes", (1 << random.u32(12..24)).to_string()),
        (
            "max.partition.fetch.bytes",
            (1 << random.u32(10..21)).to_string(),
        ),
        ("buffer.memory", (1 << random.u32(20..26)).to_string()),
        ("max.poll.records", random.u32(1..200).to_string()),
        (
            "isolation.level",
            random
                .choice(["read_committed", "read_uncommitted"])
                .unwrap_or_default()
                .to_owned(),
        ),
        // in half of the seeds followers are read from
        (
            "client.rack",
            random
                .choice(["", "", "", "a", "b", "c"])
                .unwrap_or_default()
                .to_owned(),
        ),
        ("metadata.max.age.ms", random.u32(1_000..20_000).to_string()),
    ];
    checker
        .borrow_mut()
        .journal
        .note(format_args!("{settings:?}"));
    let builder = Consumer::builder().bootstrap_servers(&servers.join(","));
    let builder = settings
        .iter()
        .fold(builder, |builder, (key, value)| builder.set(key, value));
    let dial = Dial {
        client: CONSUMER.to_owned(),
        cuts,
    };
    let mut consumer = builder.connector(Arc::new(dial)).spawn_local()?;
    let partitions = (0..PARTITIONS).map(|partition| TopicPartition::new(TOPIC, partition));
    consumer.assign(partitions).await?;
    let patience = Duration::from_millis(random.u64(5..400));
    loop {
        match consumer.poll(patience).await {
            Ok(records) => checker.borrow_mut().given(&records),
            Err(error) => {
                checker
                    .borrow_mut()
                    .journal
                    .note(format_args!("error: {error}"));
                match &error {
                    // on its way to us only: the next time it is sound
                    Error::CorruptBatch {
                        partition,
                        position,
                        ..
                    } => {
                        consumer.seek(partition, *position).await?;
                    }
                    error if error.is_retriable() => {}
                    error => checker.borrow_mut().journal.violation(error),
                }
            }
        }
        if random.u8(0..4) == 0 {
            sleep(Duration::from_millis(random.u64(0..100))).await;
        }
    }
}
