//! Our members, as the suites here need them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use consumer_app::{
    Consumer, ConsumerBuilder, RebalanceContext, RebalanceListener, TopicPartition,
};
use integration_tests::kafka::Cluster;

/// Longer than anything takes that is not broken.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) const PROTOCOLS: [&str; 2] = ["classic", "consumer"];

pub(crate) fn builder(kafka: &Cluster, group: &str, settings: &[(&str, &str)]) -> ConsumerBuilder {
    let builder = Consumer::builder()
        .bootstrap_servers(kafka.bootstrap_servers())
        .group_id(group)
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "false");
    let settings = settings.iter();
    settings.fold(builder, |builder, (key, value)| builder.set(key, value))
}

/// Polls until `is_enough`, handing each poll's partitions and offsets to `each`.
pub(crate) async fn poll_until(
    consumer: &mut Consumer,
    mut each: impl FnMut(i32, i64),
    mut is_enough: impl FnMut(&Consumer) -> bool,
) -> Result<()> {
    let begin = Instant::now();
    while !is_enough(consumer) {
        ensure!(begin.elapsed() < LIMIT, "not enough after {LIMIT:?}");
        let records = consumer.poll(Duration::from_millis(200)).await?;
        for record in &records {
            each(record.partition(), record.offset());
        }
    }
    Ok(())
}

/// Commits what was given before it goes, and notes what should not happen where all changes are in order.
#[derive(Clone, Default)]
pub(crate) struct CommitOnRevoke(Arc<Mutex<Vec<String>>>);

impl CommitOnRevoke {
    fn note(&self, fault: String) {
        self.0.lock().expect("nobody panics with it").push(fault);
    }

    pub(crate) fn check(&self) -> Result<()> {
        let faults = self.0.lock().expect("nobody panics with it");
        ensure!(faults.is_empty(), "{faults:?}");
        Ok(())
    }
}

impl RebalanceListener for CommitOnRevoke {
    async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        if let Err(error) = context.commit().await {
            self.note(format!("not committed: {error}: {partitions:?}"));
        }
    }

    async fn lost(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.note(format!("lost: {partitions:?}"));
    }
}
