//! Leaders move: by hand, and because their node does not answer any more.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, Partitioning, ProduceSpec, Value};

use super::follower::Follower;

const TOPIC: &str = "moving";
const PARTITIONS: i32 = 3;
/// How long it may take from the moment at which the new leader and a record of it are known to the record's arrival.
const LIMIT: Duration = Duration::from_secs(1);

/// Node 1 is the controller and is left alone.
#[test]
fn b030_f039_f043_leaders_freeze_die_and_move() -> Result<()> {
    let kafka = Cluster::builder()
        .nodes(3)
        .property("broker.session.timeout.ms", "3000")
        .property("broker.heartbeat.interval.ms", "300")
        .start()?;
    // each node leads one, and that of node 3 does not need node 2
    kafka.create_topic_on(TOPIC, &[&[1, 3], &[2, 3], &[3, 1]], &[])?;
    let servers = kafka.bootstrap_servers();
    let mut follower = Follower::start(servers, TOPIC, PARTITIONS, Duration::ZERO, &[])?;
    let mut ends = BTreeMap::new();
    produce(&kafka, 3_000, Partitioning::RoundRobin, &mut ends)?;
    follower.wait_for_ends(&ends)?;

    a_leader_freezes(&kafka, &mut follower, &mut ends)?;
    a_leader_dies(&kafka, &mut follower, &mut ends)?;
    leaders_are_moved(&kafka, &mut follower, &mut ends)?;
    println!("leaders: {} warnings", follower.seen().warnings().count());
    for warning in follower.seen().warnings() {
        println!("  {warning}");
    }
    ensure!(
        follower.seen().errors.is_empty(),
        "{:?}",
        follower.seen().errors
    );
    Ok(())
}

fn a_leader_freezes(
    kafka: &Cluster,
    follower: &mut Follower,
    ends: &mut BTreeMap<i32, i64>,
) -> Result<()> {
    kafka.freeze(2)?;
    let frozen = Instant::now();
    // node 3 goes on as before
    let before = follower.seen().next[&2];
    produce(kafka, 1, Partitioning::Fixed(2), ends)?;
    follower.wait("a record of another node", |seen| seen.next[&2] > before)?;
    let other = follower.seen().last[&2];

    let before = follower.seen().next[&1];
    produce(kafka, 1, Partitioning::Fixed(1), ends)?;
    let written = Instant::now();
    follower.wait("a record of the new leader", |seen| seen.next[&1] > before)?;
    let read = follower.seen().last[&1];
    let named = named_after(follower, frozen)?;
    println!(
        "leader frozen: a record of another node read after {:?}, its new leader is known to the consumer after {:?}, \
         a record acknowledged after {:?}, read after {:?}",
        other - frozen,
        named - frozen,
        written - frozen,
        read - frozen,
    );
    ensure!(other < named, "one node held up another");
    ensure!(read.saturating_duration_since(named.max(written)) <= LIMIT);
    kafka.thaw(2)?;
    follower.wait_for_ends(ends)
}

/// When the consumer first said that metadata changed.
fn named_after(follower: &Follower, begin: Instant) -> Result<Instant> {
    let seen = follower.seen();
    let mut lines = seen.log.iter().filter(|(at, _)| *at > begin);
    let named = lines.find(|(_, line)| line.contains("metadata changed"));
    named
        .map(|(at, _)| *at)
        .ok_or_else(|| anyhow::anyhow!("the consumer does not say that metadata changed"))
}

fn a_leader_dies(
    kafka: &Cluster,
    follower: &mut Follower,
    ends: &mut BTreeMap<i32, i64>,
) -> Result<()> {
    let written = &mut *ends;
    thread::scope(|scope| {
        let producer = scope.spawn(|| produce(kafka, 150_000, Partitioning::RoundRobin, written));
        let begin = follower.seen().records();
        follower.wait("some of it read", |seen| seen.records() > begin + 10_000)?;
        kafka.kill(3)?;
        producer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    follower.wait_for_ends(ends)?;
    println!(
        "leader killed under load: all {} records read once and in order",
        follower.seen().records()
    );
    kafka.start_node(3)?;
    Ok(())
}

fn leaders_are_moved(
    kafka: &Cluster,
    follower: &mut Follower,
    ends: &mut BTreeMap<i32, i64>,
) -> Result<()> {
    let written = &mut *ends;
    thread::scope(|scope| {
        let producer = scope.spawn(|| produce(kafka, 150_000, Partitioning::RoundRobin, written));
        for to in [2, 3, 1, 2] {
            for partition in 0..PARTITIONS {
                kafka.move_leader(TOPIC, partition, to)?;
            }
        }
        producer
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    follower.wait_for_ends(ends)?;
    println!(
        "leaders moved 12 times under load: all {} records read once and in order",
        follower.seen().records()
    );
    Ok(())
}

/// Produces, and adds what was acknowledged to `ends`: a leader that was frozen may not know better than before for a while.
fn produce(
    kafka: &Cluster,
    records: u64,
    partitioning: Partitioning,
    ends: &mut BTreeMap<i32, i64>,
) -> Result<()> {
    // of the controller's node, which does not fail, and without patience for one that does not answer
    let servers = kafka.address(1)?.to_string();
    let properties = [
        ("bootstrap.servers", servers.as_str()),
        ("request.timeout.ms", "1000"),
    ];
    let produced = kafka.produce(ProduceSpec {
        topic: TOPIC.into(),
        records,
        values: vec![Value::Random(200)],
        partitioning,
        linger_ms: 5,
        properties: properties
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
        ..ProduceSpec::default()
    })?;
    for (index, partition) in produced.partitions {
        ends.insert(index, partition.last_offset + 1);
    }
    Ok(())
}
