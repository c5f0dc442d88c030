//! The consumer of assigned partitions, which reads all of the topic.

use std::time::Duration;

use anyhow::Result;
use consumer_app::{Consumer, ConsumerBuilder, ConsumerHandle, Error, TopicPartition};
use fastrand::Rng;
use tokio::time::{sleep, timeout};

use super::clients::{Common, Phase, Shared};
use super::exactly_once::ExactlyOnce;
use super::setup::{PARTITIONS, TOPIC};

/// With settings drawn at random, as far as they have to do with fetching.
pub(crate) fn builder(common: &Common, random: &mut Rng) -> ConsumerBuilder {
    let mut draw = |from: &[&'static str]| random.choice(from).copied().unwrap_or_default();
    let settings = [
        ("auto.offset.reset", "earliest"),
        ("request.timeout.ms", draw(&["2000", "4000"])),
        ("default.api.timeout.ms", draw(&["8000", "60000"])),
        ("socket.connection.setup.timeout.ms", "2000"),
        ("fetch.max.wait.ms", draw(&["20", "500", "1000"])),
        // no more than a partition may give: or each fetch takes all of its time
        ("fetch.min.bytes", draw(&["1", "1", "2000"])),
        (
            "max.partition.fetch.bytes",
            draw(&["4096", "65536", "1048576"]),
        ),
        ("buffer.memory", draw(&["1048576", "67108864"])),
        ("max.poll.records", draw(&["5", "50", "500"])),
        (
            "isolation.level",
            draw(&["read_uncommitted", "read_committed"]),
        ),
    ];
    tracing::info!("settings: {settings:?}");
    let builder = Consumer::builder().bootstrap_servers(&common.servers);
    settings
        .iter()
        .fold(builder, |builder, (key, value)| builder.set(key, value))
}

/// Reads until the end; what is wrong is the checker's to say.
pub(crate) async fn run(common: Common, checker: Shared<ExactlyOnce>) -> Result<()> {
    let mut random = common.seed.rng(1);
    let builder = builder(&common, &mut random).client_id("reader");
    let mut consumer = builder.build().await?;
    let all: Vec<_> = (0..PARTITIONS)
        .map(|partition| TopicPartition::new(TOPIC, partition))
        .collect();
    consumer.assign(all.clone()).await?;
    loop {
        let phase = *common.phase.borrow();
        if phase == Phase::End {
            break;
        }
        let patience = Duration::from_millis(random.u64(1..300));
        let polled = if random.bool() {
            Some(consumer.poll(patience).await)
        } else {
            // dropped wherever it is
            let polled = timeout(patience, consumer.poll(10 * patience));
            polled.await.ok()
        };
        match polled {
            None => {}
            Some(Ok(records)) => checker.lock().given(&records),
            Some(Err(error)) => {
                tracing::info!("the reader's poll: {error}");
                if !error.is_retriable() {
                    checker.lock().violations.push(format!("poll: {error}"));
                }
            }
        }
        if phase == Phase::Finish {
            consumer.resume(&all).await?;
        } else {
            at_times(&consumer, &all, &checker, &mut random).await?;
        }
    }
    consumer.close(Duration::from_secs(10)).await?;
    Ok(())
}

/// Pauses some, resumes some, seeks to where it is, or rests.
async fn at_times(
    consumer: &ConsumerHandle,
    all: &[TopicPartition],
    checker: &Shared<ExactlyOnce>,
    random: &mut Rng,
) -> Result<(), Error> {
    let some: Vec<_> = all.iter().filter(|_| random.bool()).collect();
    match random.u8(..20) {
        0 => consumer.pause(some).await,
        1 | 2 => consumer.resume(some).await,
        3 => {
            for partition in some {
                let next = checker.lock().next(partition.partition());
                consumer.seek(partition, next).await?;
            }
            Ok(())
        }
        4 => {
            sleep(Duration::from_millis(random.u64(..500))).await;
            Ok(())
        }
        _ => Ok(()),
    }
}
