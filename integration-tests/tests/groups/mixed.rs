//! Our members and Java's in one group: Kafka's own console consumer, whose lines are counted.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use consumer_app::Consumer;
use integration_tests::kafka::{Cluster, Jars, Partitioning, ProduceSpec, Value};

use super::member::{LIMIT, builder, poll_until};

const RECORDS: u64 = 6_000;
const LINE: &str = "a record";

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
            .args(["--command-property", "auto.offset.reset=earliest"]);
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

    /// The records that it has printed so far.
    fn records(&self) -> Result<usize> {
        let text = std::fs::read_to_string(self.output.path().join("records"))?;
        Ok(text.lines().filter(|line| *line == LINE).count())
    }
}

impl Drop for JavaMember {
    fn drop(&mut self) {
        // one that has ended is no matter
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn share(
    kafka: &Cluster,
    group: &str,
    ours: &[(&str, &str)],
    java: &[(&str, &str)],
) -> Result<()> {
    kafka.create_topic(group, 6, 1, &[])?;
    let member = JavaMember::start(kafka, group, java)?;
    let mut consumer = builder(kafka, group, ours).build().await?;
    consumer.subscribe([group]).await?;
    let has_half = |consumer: &Consumer| consumer.assignment().len() == 3;
    poll_until(&mut consumer, |_, _| (), has_half).await?;
    kafka.produce(ProduceSpec {
        topic: group.into(),
        records: RECORDS,
        values: vec![Value::Bytes(LINE.into())],
        partitioning: Partitioning::RoundRobin,
        ..ProduceSpec::default()
    })?;
    let mut by_ours = 0;
    let begin = Instant::now();
    while by_ours + member.records()? < usize::try_from(RECORDS)? {
        ensure!(
            begin.elapsed() < LIMIT,
            "{group}: {by_ours} by ours, {} by Java",
            member.records()?
        );
        by_ours += consumer.poll(Duration::from_millis(200)).await?.len();
    }
    // what came twice would come soon
    by_ours += consumer.poll(Duration::from_secs(1)).await?.len();
    let by_java = member.records()?;
    println!("{group}: {by_ours} records by ours, {by_java} by Java");
    ensure!(by_ours + by_java == usize::try_from(RECORDS)?);
    ensure!(by_ours == by_java);
    consumer.close(Duration::from_secs(5)).await?;
    Ok(())
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
