//! Our members and Java's in one group: Kafka's own console consumer, whose lines are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use consumer_app::{Consumer, TopicPartition};
use integration_tests::kafka::{Cluster, Jars, Partitioning, ProduceSpec};

use super::member::{CommitOnRevoke, LIMIT, builder, poll_until};

const RECORDS: u64 = 6_000;

/// Killed when dropped.
struct JavaMember {
    child: Child,
    output: tempfile::TempDir,
}

impl JavaMember {
    fn start(kafka: &Cluster, group: &str, properties: &[(&str, &str)]) -> Result<Self> {
        let output = tempfile::tempdir()?;
        let mut command = Jars::fetch()?.java();
        command
            .arg("org.apache.kafka.tools.consumer.ConsoleConsumer")
            .args(["--bootstrap-server", kafka.bootstrap_servers()])
            .args(["--topic", group, "--group", group])
            .args(["--command-property", "auto.offset.reset=earliest"])
            .args(["--formatter-property", "print.partition=true"])
            .args(["--formatter-property", "print.offset=true"]);
        for (key, value) in properties {
            command.args(["--command-property", &format!("{key}={value}")]);
        }
        let child = command
            .stdout(File::create(output.path().join("records"))?)
            .stderr(Stdio::null())
            .spawn()
            .context("java does not start")?;
        Ok(Self { child, output })
    }

    /// Partition and offset of each record that it has printed so far.
    fn records(&self) -> Result<Vec<(i32, i64)>> {
        let text = std::fs::read_to_string(self.output.path().join("records"))?;
        // the last line may not be whole
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().filter_map(|line| {
            let (partition, offset) = line.strip_prefix("Partition:")?.split_once("\tOffset:")?;
            Some((
                partition.parse().ok()?,
                offset.split('\t').next()?.parse().ok()?,
            ))
        });
        Ok(lines.collect())
    }

    /// Has it commit, leave and end.
    fn leave(&mut self) -> Result<()> {
        let id = self.child.id().to_string();
        let told = std::process::Command::new("kill").arg(id).status()?;
        ensure!(told.success(), "it has ended before");
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for JavaMember {
    fn drop(&mut self) {
        // one that has ended is no matter
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whatever came, from whichever member.
#[derive(Default)]
struct Came(BTreeMap<(i32, i64), u32>);

impl Came {
    fn add(&mut self, record: (i32, i64)) {
        *self.0.entry(record).or_default() += 1;
    }

    fn check(&self, group: &str, produced: u64) -> Result<()> {
        let twice = self.0.values().filter(|count| **count > 1).count();
        println!(
            "{group}: {} of {produced} records, {twice} twice",
            self.0.len()
        );
        ensure!(self.0.len() == usize::try_from(produced)? && twice == 0);
        Ok(())
    }
}

fn produce(kafka: &Cluster, topic: &str) -> Result<()> {
    kafka.produce(ProduceSpec {
        topic: topic.into(),
        records: RECORDS,
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    Ok(())
}

/// Ours leaves in order, comes back, and then Java's does; each time the others go on where it was.
async fn share(
    kafka: &Cluster,
    group: &str,
    ours: &[(&str, &str)],
    java: &[(&str, &str)],
) -> Result<()> {
    kafka.create_topic(group, 6, 1, &[])?;
    let mut member = JavaMember::start(kafka, group, java)?;
    let listener = CommitOnRevoke::default();
    let start = || async {
        let builder = builder(kafka, group, ours).rebalance_listener(listener.clone());
        let consumer = builder.build().await?;
        consumer.subscribe([group]).await?;
        anyhow::Ok(consumer)
    };
    let mut came = Came::default();
    let has_half = |consumer: &Consumer| consumer.assignment().len() == 3;

    let mut consumer = start().await?;
    let mut by_ours = 0;
    poll_until(&mut consumer, |_, _| by_ours += 1, has_half).await?;
    ensure!(by_ours == 0, "nothing was produced yet");
    produce(kafka, group)?;
    let half = usize::try_from(RECORDS / 2)?;
    poll_until(
        &mut consumer,
        |partition, offset| {
            by_ours += 1;
            came.add((partition, offset));
        },
        |_| member.records().is_ok_and(|java| java.len() == half),
    )
    .await?;
    while by_ours < half {
        for record in &consumer.poll(Duration::from_secs(10)).await? {
            by_ours += 1;
            came.add((record.partition(), record.offset()));
        }
    }
    consumer.close(Duration::from_secs(5)).await?;

    // Java's has all of them now
    produce(kafka, group)?;
    let begin = Instant::now();
    while member.records()?.len() < half + 2 * half {
        ensure!(
            begin.elapsed() < LIMIT,
            "{group}: {} by Java",
            member.records()?.len()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    let mut consumer = start().await?;
    let mut add = |partition, offset| came.add((partition, offset));
    poll_until(&mut consumer, &mut add, has_half).await?;
    produce(kafka, group)?;
    member.leave()?;
    let has_all = |consumer: &Consumer| {
        let there = kafka.end_offsets(group).unwrap_or_default();
        let positions = there.iter().map(|(partition, end)| {
            let partition = TopicPartition::new(group, *partition);
            consumer.position(&partition) == Some(*end)
        });
        consumer.assignment().len() == 6 && positions.min() == Some(true)
    };
    poll_until(&mut consumer, &mut add, has_all).await?;
    consumer.close(Duration::from_secs(5)).await?;
    for record in member.records()? {
        came.add(record);
    }
    listener.check()?;
    came.check(group, 3 * RECORDS)
}

#[tokio::test]
async fn ours_and_javas_share_a_classic_group() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    for (ours, java) in [
        ("range", "RangeAssignor"),
        ("roundrobin", "RoundRobinAssignor"),
        ("sticky", "StickyAssignor"),
        ("cooperative-sticky", "CooperativeStickyAssignor"),
    ] {
        let java = format!("org.apache.kafka.clients.consumer.{java}");
        let key = "partition.assignment.strategy";
        share(&kafka, ours, &[(key, ours)], &[(key, &java)]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn ours_and_javas_share_a_group_of_the_consumer_protocol() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    for assignor in ["uniform", "range"] {
        let settings = [
            ("group.protocol", "consumer"),
            ("group.remote.assignor", assignor),
        ];
        share(&kafka, &format!("remote-{assignor}"), &settings, &settings).await?;
    }
    Ok(())
}
