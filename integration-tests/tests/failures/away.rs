//! The only broker is away in the middle of a read.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use integration_tests::kafka::{Cluster, Codec, Partitioning, ProduceSpec, Value};

use super::follower::Follower;

const TOPIC: &str = "read-on";
const PARTITIONS: i32 = 4;
const RECORDS: u64 = 400_000;
/// What the consumer may use of a core while it can do nothing.
const IDLE: f64 = 0.05;

#[test]
fn b037_b197_f041_a_broker_is_killed_and_restarted() -> Result<()> {
    let (kafka, mut follower) = in_the_middle_of_a_read()?;
    kafka.kill(1)?;
    let share = idle_share(&follower, Duration::from_secs(12))?;
    kafka.start_node(1)?;
    let back = Instant::now();
    read_the_rest(&kafka, &mut follower, "killed", share, back)
}

#[test]
fn f038_f041_a_broker_is_frozen_for_20_s() -> Result<()> {
    let (kafka, mut follower) = in_the_middle_of_a_read()?;
    kafka.freeze(1)?;
    let share = idle_share(&follower, Duration::from_secs(20))?;
    kafka.thaw(1)?;
    let back = Instant::now();
    read_the_rest(&kafka, &mut follower, "frozen", share, back)
}

fn in_the_middle_of_a_read() -> Result<(Cluster, Follower)> {
    let kafka = Cluster::builder()
        .property("broker.session.timeout.ms", "3000")
        .property("broker.heartbeat.interval.ms", "300")
        .start()?;
    kafka.create_topic(TOPIC, PARTITIONS, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: TOPIC.into(),
        records: RECORDS,
        values: vec![Value::Random(200)],
        partitioning: Partitioning::RoundRobin,
        codec: Codec::None,
        batch_size: 65_536,
        linger_ms: 10,
        ..ProduceSpec::default()
    })?;
    let pause = Duration::from_millis(5);
    let servers = kafka.bootstrap_servers();
    let mut follower = Follower::start(servers, TOPIC, PARTITIONS, pause, &[])?;
    follower.wait("a quarter read", |seen| {
        seen.records() >= RECORDS as i64 / 4
    })?;
    Ok((kafka, follower))
}

/// Waits for so long, and tells what of a core the consumer used once it had given out what it had.
fn idle_share(follower: &Follower, away: Duration) -> Result<f64> {
    let end = Instant::now() + away;
    let drained = away / 3;
    thread::sleep(drained);
    let (before, begin, records) = (follower.cpu()?, Instant::now(), follower.seen().records());
    thread::sleep(end.saturating_duration_since(Instant::now()));
    let used = follower.cpu()? - before;
    ensure!(
        follower.seen().records() == records && records < RECORDS as i64,
        "the broker was not missed: too few records for this machine"
    );
    Ok(used.as_secs_f64() / begin.elapsed().as_secs_f64())
}

fn read_the_rest(
    kafka: &Cluster,
    follower: &mut Follower,
    fate: &str,
    share: f64,
    back: Instant,
) -> Result<()> {
    let missed = follower.seen().records();
    follower.wait("a record after the broker's return", |seen| {
        seen.records() > missed
    })?;
    let first = back.elapsed();
    follower.wait_for_ends(&kafka.end_offsets(TOPIC)?)?;
    let address = kafka.address(1)?.to_string();
    let seen = follower.seen();
    let named: Vec<&str> = seen
        .warnings()
        .filter(|line| line.contains(&address))
        .collect();
    println!(
        "broker {fate} at record {missed}: {:.2} % of a core meanwhile, first record {first:?} after its return, {} warnings, \
         {} errors of poll {:?}\n{}",
        share * 100.0,
        seen.warnings().count(),
        seen.errors.len(),
        seen.errors.first(),
        named.join("\n")
    );
    ensure!(share < IDLE, "{share} of a core");
    ensure!(!named.is_empty(), "no warning names {address}");
    ensure!(named.len() < 20, "{} warnings", named.len());
    Ok(())
}
