//! Groups that cannot be joined: an error that names what is wrong, in time, and no flood of requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use consumer_app::assign::{Assignor, Member, TopicsMetadata};
use consumer_app::{Consumer, ConsumerBuilder, TopicPartition};
use integration_tests::kafka::Cluster;

use super::member::{LIMIT, builder, poll_until};

/// How long the application goes on polling after the first error.
const PATIENCE: Duration = Duration::from_secs(3);
/// Requests that members send in that time: one per call, and what a retry or two take.
const FEW: f64 = 12.0;

/// Gives each partition to everybody.
#[derive(Debug)]
struct ToAll;

impl Assignor for ToAll {
    fn name(&self) -> &str {
        "to-all"
    }

    fn assign(&self, _: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        vec![vec![TopicPartition::new("t", 0); 2]; group.len()]
    }
}

/// A broker that does not let anybody into group `secret`, nor read topic `hidden`.
fn kafka() -> Result<Cluster> {
    let kafka = Cluster::builder()
        .property(
            "authorizer.class.name",
            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        )
        .property("allow.everyone.if.no.acl.found", "true")
        .property("group.consumer.migration.policy", "disabled")
        .property("group.initial.rebalance.delay.ms", "0")
        .start()?;
    for topic in ["t", "hidden"] {
        kafka.create_topic(topic, 2, 1, &[])?;
    }
    for (resource, name) in [("--group", "secret"), ("--topic", "hidden")] {
        kafka.tool(
            "org.apache.kafka.tools.AclCommand",
            &[
                "--bootstrap-server",
                kafka.bootstrap_servers(),
                "--add",
                "--deny-principal",
                "User:*",
                "--operation",
                "Read",
                resource,
                name,
            ],
        )?;
    }
    Ok(kafka)
}

fn requests(kafka: &Cluster) -> Result<f64> {
    let of = |api: &str| {
        let pattern = format!(
            "kafka.network:type=RequestMetrics,name=RequestsPerSec,request={api},version=*"
        );
        kafka.metric_sum(1, &pattern, "Count")
    };
    Ok(
        of("JoinGroup")?
            + of("SyncGroup")?
            + of("ConsumerGroupHeartbeat")?
            + of("FindCoordinator")?,
    )
}

/// Polls until there is an error, and on for a while; returns it.
async fn told(kafka: &Cluster, consumer: &mut Consumer) -> Result<String> {
    let begin = Instant::now();
    let told = loop {
        ensure!(begin.elapsed() < LIMIT, "no error in time");
        match consumer.poll(Duration::from_millis(100)).await {
            Ok(records) => ensure!(records.is_empty()),
            Err(error) => break error.to_string(),
        }
    };
    let before = requests(kafka)?;
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Ok(records) = consumer.poll(Duration::from_millis(100)).await {
            ensure!(records.is_empty());
        }
    }
    let more = requests(kafka)? - before;
    ensure!(more <= FEW, "{told}: {more} requests");
    Ok(told)
}

/// What is wrong, the topic, the member, and what its error has to name.
type Case<'a> = (&'a str, &'a str, ConsumerBuilder, &'a [&'a str]);

#[tokio::test]
async fn what_is_wrong_with_a_group_is_told_by_its_name() -> Result<()> {
    let kafka = kafka()?;
    let with = |group: &str, settings: &[(&str, &str)]| builder(&kafka, group, settings);
    let strategy = "partition.assignment.strategy";
    let by_broker = ("group.protocol", "consumer");
    let too_long = "g".repeat(40_000);
    // somebody is there already, with another rule and by the classic protocol
    let mut other = with("taken", &[(strategy, "roundrobin")]).build().await?;
    other.subscribe(["t"]).await?;
    poll_until(
        &mut other,
        |_, _| (),
        |other| !other.assignment().is_empty(),
    )
    .await?;
    let cases: Vec<Case<'_>> = vec![
        (
            "no right to the group",
            "t",
            with("secret", &[]),
            &["secret", "GROUP_AUTHORIZATION_FAILED"],
        ),
        (
            "the same",
            "t",
            with("secret", &[by_broker]),
            &["secret", "GROUP_AUTHORIZATION_FAILED"],
        ),
        (
            "a group id that no request can hold",
            "t",
            with(&too_long, &[]),
            &["group.id"],
        ),
        (
            "the same",
            "t",
            with(&too_long, &[by_broker]),
            &["group.id"],
        ),
        (
            "a session that is too short",
            "t",
            with(
                "short",
                &[("session.timeout.ms", "10"), ("heartbeat.interval.ms", "3")],
            ),
            &["short", "session.timeout.ms"],
        ),
        (
            "no assignor in common",
            "t",
            with("taken", &[(strategy, "range")]),
            &["taken", "partition.assignment.strategy"],
        ),
        (
            "an assignor that the broker lacks",
            "t",
            with("remote", &[by_broker, ("group.remote.assignor", "mine")]),
            &["remote", "group.remote.assignor"],
        ),
        (
            "an assignor that is broken",
            "t",
            with("broken", &[]).assignors([Arc::new(ToAll) as _]),
            &["broken", "to-all", "t-0 twice"],
        ),
        (
            "no right to the topic",
            "hidden",
            with("h", &[]),
            &["hidden"],
        ),
        ("the same", "hidden", with("h2", &[by_broker]), &["hidden"]),
    ];
    for (what, topic, builder, names) in cases {
        let consumer = builder.build().await;
        let error = match consumer {
            Ok(mut consumer) => {
                consumer.subscribe([topic]).await?;
                let told = told(&kafka, &mut consumer).await.context(what)?;
                consumer.close(Duration::from_secs(2)).await?;
                told
            }
            Err(error) => error.to_string(),
        };
        let shown: String = error.chars().take(300).collect();
        println!("{what}: {shown}");
        ensure!(
            names.iter().all(|name| error.contains(name)),
            "{what}: {names:?} in {shown}"
        );
    }
    // the other protocol, while somebody is there and the broker does not convert groups
    let mut consumer = with("taken", &[by_broker]).build().await?;
    consumer.subscribe(["t"]).await?;
    let error = told(&kafka, &mut consumer).await?;
    println!("a group of the classic protocol: {error}");
    ensure!(
        error.contains("taken") && error.contains("group.protocol"),
        "{error}"
    );
    // patterns
    for settings in [&[][..], &[by_broker]] {
        let mut consumer = with("pattern", settings).build().await?;
        let error = match consumer.subscribe_pattern("t(").await {
            Ok(()) => told(&kafka, &mut consumer).await?,
            Err(error) => error.to_string(),
        };
        println!("a pattern that is none: {error}");
        ensure!(error.contains("pattern"), "{error}");
    }
    other.close(Duration::from_secs(2)).await?;
    Ok(())
}
