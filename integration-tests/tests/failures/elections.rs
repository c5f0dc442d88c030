//! What elections do to a reader: leaders that move back and forth, one that lost records, followers that are nearer than their leader.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec, Production, Value};

use super::follower::Follower;

/// Moves of leadership, half of them to each node.
const MOVES: usize = 50;

fn spec(topic: &str, records: u64) -> ProduceSpec {
    ProduceSpec {
        topic: topic.into(),
        records,
        values: vec![Value::Random(200)],
        partitioning: Partitioning::Fixed(0),
        linger_ms: 5,
        ..ProduceSpec::default()
    }
}

/// The end of the log after what was produced.
fn end(kafka: &Cluster, spec: ProduceSpec) -> Result<i64> {
    let produced = kafka.produce(spec)?;
    let partition = produced.partitions.get(&0).context("nothing was written")?;
    Ok(partition.last_offset + 1)
}

/// Each move is a preferred election: the new leader has all of the log, and the position is found to be one of it.
#[test]
fn b115_f034_a_leader_that_moves_back_and_forth_loses_and_doubles_nothing() -> Result<()> {
    const TOPIC: &str = "to-and-fro";
    let kafka = Cluster::builder().nodes(2).start()?;
    kafka.create_topic_on(TOPIC, &[&[1, 2]], &[])?;
    let servers = kafka.bootstrap_servers();
    let mut follower = Follower::start(servers, TOPIC, 1, Duration::ZERO, &[])?;
    let ends = thread::scope(|scope| -> Result<BTreeMap<i32, i64>> {
        let producer = scope.spawn(|| end(&kafka, spec(TOPIC, 400_000)));
        follower.wait("some of it read", |seen| seen.records() > 100)?;
        for to in [2, 1].into_iter().cycle().take(MOVES) {
            kafka.move_leader(TOPIC, 0, to)?;
        }
        let produced = producer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        // and some under the last leader
        let last = end(&kafka, spec(TOPIC, 1_000))?;
        ensure!(last == produced + 1_000);
        Ok([(0, last)].into())
    })?;
    follower.wait_for_ends(&ends)?;
    let seen = follower.seen();
    println!(
        "elections: {} records read once and in order while their leader moved {MOVES} times; {} warnings",
        seen.records(),
        seen.warnings().count()
    );
    ensure!(seen.errors.is_empty(), "{:?}", seen.errors);
    let truncated = seen.warnings().any(|line| line.contains("truncated"));
    ensure!(!truncated, "nothing was lost here");
    Ok(())
}

/// Each move is a reassignment, as by `kafka-reassign-partitions`: the only replica goes to the other broker, which leads as soon as it has
/// all of the log, without an election of a preferred leader; and the log that was read from is deleted.
#[test]
fn b030_b115_a_replica_that_is_reassigned_to_and_fro_loses_and_doubles_nothing() -> Result<()> {
    const TOPIC: &str = "reassigned";
    let kafka = Arc::new(Cluster::builder().nodes(2).start()?);
    kafka.create_topic_on(TOPIC, &[&[1]], &[])?;
    let servers = kafka.bootstrap_servers();
    let mut follower = Follower::start(servers, TOPIC, 1, Duration::ZERO, &[])?;
    let production = Production::start(Arc::clone(&kafka), spec(TOPIC, 100), Duration::ZERO);
    for to in [2, 1].into_iter().cycle().take(MOVES) {
        // each leader is read from
        let before = follower.seen().records();
        follower.wait("some of it read", |seen| seen.records() > before)?;
        kafka.move_leader(TOPIC, 0, to)?;
        let described = kafka.describe_topic(TOPIC)?;
        let moved = &described.partitions[&0];
        ensure!(moved.leader == Some(to), "{moved:?} in place of {to}");
        ensure!(moved.replicas == [to], "{moved:?} in place of {to} alone");
    }
    let written = production.end()?;
    let last = written.get(&0).context("nothing was written")?.end;
    follower.wait_for_ends(&[(0, last)].into())?;
    let seen = follower.seen();
    println!(
        "elections: {} records read once and in order while their only replica moved {MOVES} times; {} warnings",
        seen.records(),
        seen.warnings().count()
    );
    ensure!(seen.errors.is_empty(), "{:?}", seen.errors);
    let truncated = seen.warnings().any(|line| line.contains("truncated"));
    ensure!(!truncated, "nothing was lost here");
    Ok(())
}

/// A follower that was away is elected without the records that were read meanwhile (KIP-320).
#[test]
fn b113_f034_an_unclean_election_is_noticed_and_read_on_from_where_the_logs_part() -> Result<()> {
    const TOPIC: &str = "unclean";
    let kafka = Cluster::builder()
        .nodes(3)
        .property("broker.session.timeout.ms", "3000")
        .property("broker.heartbeat.interval.ms", "300")
        .start()?;
    let unclean = [("unclean.leader.election.enable", "true")];
    kafka.create_topic_on(TOPIC, &[&[2, 3]], &unclean)?;
    let mut follower = Follower::start(kafka.bootstrap_servers(), TOPIC, 1, Duration::ZERO, &[])?;
    let common = end(&kafka, spec(TOPIC, 1_000))?;
    follower.wait_for_ends(&[(0, common)].into())?;

    // node 3 misses these, and they are read
    kafka.kill(3)?;
    let lost = end(&kafka, spec(TOPIC, 500))?;
    follower.wait("what only node 2 has", |seen| seen.next[&0] == lost)?;
    kafka.kill(2)?;
    kafka.start_node(3)?;

    // fewer than were lost: the position would be out of range, or, once there are more, in the middle of other records
    let replaced = end(&kafka, spec(TOPIC, 100))?;
    ensure!(replaced == common + 100, "node 3 had {}", replaced - 100);
    follower.wait("what took their place", |seen| {
        seen.next[&0] == replaced && !seen.wrong.is_empty()
    })?;
    let seen = follower.seen();
    ensure!(
        seen.wrong == [format!("partition 0: {common} in place of {lost}")],
        "{:?}",
        seen.wrong
    );
    let told = seen.warnings().filter(|line| line.contains("truncated"));
    let told: Vec<&str> = told.collect();
    ensure!(told.len() == 1, "{told:?}");
    for part in [format!("position={lost}"), format!("common_end={common}")] {
        ensure!(told[0].contains(&part), "{part} is not in {}", told[0]);
    }
    println!(
        "elections: {} of {lost} records lost, told: {}",
        lost - common,
        told[0]
    );
    Ok(())
}

/// A consumer with `client.rack` reads from the follower in its rack (KIP-392), as the brokers count it.
#[test]
fn b025_b028_a_consumer_reads_from_the_follower_in_its_rack() -> Result<()> {
    const TOPIC: &str = "racks";
    let selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector";
    let kafka = Cluster::builder()
        .nodes(2)
        .property("replica.selector.class", selector)
        .node_property(1, "broker.rack", "a")
        .node_property(2, "broker.rack", "b")
        .start()?;
    kafka.create_topic_on(TOPIC, &[&[1, 2]], &[])?;
    let properties = ["client.rack=b"];
    let servers = kafka.bootstrap_servers();
    let mut follower = Follower::start(servers, TOPIC, 1, Duration::ZERO, &properties)?;
    let mut last = 0;
    for _ in 0..20 {
        last = end(&kafka, spec(TOPIC, 1_000))?;
        follower.wait("a thousand records", |seen| {
            seen.next.get(&0).is_some_and(|next| *next >= last)
        })?;
    }
    follower.wait_for_ends(&[(0, last)].into())?;
    let bean = format!("kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={TOPIC}");
    let bytes = |node| kafka.metric_sum(node, &bean, "Count");
    let (leader, near) = (bytes(1)?, bytes(2)?);
    println!("elections: {near} bytes from the follower, {leader} from the leader");
    ensure!(near >= 20_000.0 * 200.0, "{near} bytes");
    ensure!(leader == 0.0, "the leader sent {leader} bytes");
    let seen = follower.seen();
    ensure!(seen.errors.is_empty(), "{:?}", seen.errors);
    Ok(())
}
