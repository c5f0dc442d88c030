//! Members come and go while records are produced.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, ProduceSpec};
use tokio::task::JoinHandle;

use super::member::{CommitOnRevoke, LIMIT, PROTOCOLS, builder};

/// How long members come and go.
const CHURN: Duration = Duration::from_secs(15);
/// How long a member is left alone.
const REST: Duration = Duration::from_millis(1500);
const MEMBERS: usize = 4;

/// How often each record came.
type Times = Arc<Mutex<BTreeMap<(i32, i64), u32>>>;

struct Member {
    ends: Arc<AtomicBool>,
    task: JoinHandle<Result<()>>,
}

impl Member {
    async fn start(
        kafka: &Cluster,
        settings: &[(&str, &str)],
        times: &Times,
        listener: &CommitOnRevoke,
    ) -> Result<Self> {
        let mut consumer = builder(kafka, "churn", settings)
            .rebalance_listener(listener.clone())
            .build()
            .await?;
        consumer.subscribe(["t"]).await?;
        let ends = Arc::new(AtomicBool::new(false));
        let (times, asked) = (Arc::clone(times), Arc::clone(&ends));
        let task = tokio::spawn(async move {
            while !asked.load(Ordering::Relaxed) {
                let records = consumer.poll(Duration::from_millis(50)).await?;
                let mut times = times.lock().expect("nobody panics with it");
                for record in &records {
                    *times
                        .entry((record.partition(), record.offset()))
                        .or_default() += 1;
                }
            }
            consumer.close(Duration::from_secs(10)).await?;
            Ok(())
        });
        Ok(Self { ends, task })
    }

    async fn end(self) -> Result<()> {
        self.ends.store(true, Ordering::Relaxed);
        self.task.await?
    }
}

#[tokio::test]
async fn nothing_is_lost_or_doubled_while_members_come_and_go_in_order() -> Result<()> {
    for protocol in PROTOCOLS {
        let strategies: &[&str] = match protocol {
            "classic" => &["range", "cooperative-sticky"],
            _ => &[""],
        };
        for strategy in strategies {
            let mut settings = vec![("group.protocol", protocol), ("max.poll.records", "50")];
            if protocol == "classic" {
                settings.push(("partition.assignment.strategy", strategy));
                settings.push(("heartbeat.interval.ms", "300"));
            }
            churn(&format!("{protocol} {strategy}"), &settings).await?;
        }
    }
    Ok(())
}

async fn churn(name: &str, settings: &[(&str, &str)]) -> Result<()> {
    let kafka = Arc::new(
        Cluster::builder()
            .property("group.consumer.heartbeat.interval.ms", "300")
            .property("group.consumer.min.heartbeat.interval.ms", "300")
            .property("group.initial.rebalance.delay.ms", "0")
            .start()?,
    );
    kafka.create_topic("t", 12, 1, &[])?;
    let times = Times::default();
    let listener = CommitOnRevoke::default();
    let mut members = Vec::new();
    for _ in 0..MEMBERS {
        members.push(Member::start(&kafka, settings, &times, &listener).await?);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let (cluster, over) = (Arc::clone(&kafka), Arc::clone(&is_over));
    let producer = tokio::task::spawn_blocking(move || -> Result<u64> {
        let mut produced = 0;
        while !over.load(Ordering::Relaxed) {
            cluster.produce(ProduceSpec {
                topic: "t".into(),
                records: 500,
                ..ProduceSpec::default()
            })?;
            produced += 500;
        }
        Ok(produced)
    });
    let begin = Instant::now();
    let mut changes = 0;
    while begin.elapsed() < CHURN {
        tokio::time::sleep(REST).await;
        members.remove(0).end().await?;
        members.push(Member::start(&kafka, settings, &times, &listener).await?);
        changes += 2;
    }
    is_over.store(true, Ordering::Relaxed);
    let produced = usize::try_from(producer.await??)?;
    let begin = Instant::now();
    let came = || times.lock().expect("nobody panics with it").len();
    while came() < produced {
        ensure!(
            begin.elapsed() < LIMIT,
            "{name}: {} of {produced} came",
            came()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    for member in members {
        member.end().await?;
    }
    listener.check()?;
    let times = times.lock().expect("nobody panics with it");
    let twice = times.values().filter(|count| **count > 1).count();
    println!("{name}: {produced} records, {changes} changes, {twice} came twice");
    ensure!(times.len() == produced);
    ensure!(twice == 0, "{name}: {twice} records came twice");
    Ok(())
}
