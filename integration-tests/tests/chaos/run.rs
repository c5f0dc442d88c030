//! A run: consumers and a producer at work, faults, and what must hold when they are over.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use integration_tests::kafka::{
    Acknowledged, Codec, Key, Partitioning, ProduceSpec, Production, Value,
};

use super::clients::Clients;
use super::faults::trouble;
use super::setup::{Logs, Network, PARTITIONS, Seed, TOPIC, World};

/// When the faults are over and the producer is done everything comes within this.
const LIMIT: Duration = Duration::from_secs(60);
/// Between two runs of a producer.
const PAUSE: Duration = Duration::from_millis(150);

#[test]
fn nothing_is_lost_and_nothing_doubled_whatever_fails() -> Result<()> {
    run(Network::Lines)
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "makes a network namespace and cables to it, for which one must be root: see the README"]
fn nothing_is_lost_and_nothing_doubled_when_cables_are_pulled() -> Result<()> {
    run(Network::Namespace(super::namespace::Namespace::make()?))
}

fn run(network: Network) -> Result<()> {
    let seed = Seed::from_environment()?;
    let logs = Logs::begin()?;
    println!(
        "CHAOS_SEED={} CHAOS_SECONDS={}; logs, if it fails, in {}",
        seed.seed,
        seed.length.as_secs(),
        logs.folder().display()
    );
    let world = Arc::new(World::start(network)?);
    let outcome = story(&world, seed);
    if outcome.is_err() {
        logs.keep(&world.kafka)?;
        return outcome.with_context(|| {
            format!(
                "CHAOS_SEED={} CHAOS_SECONDS={}; the logs are in {}",
                seed.seed,
                seed.length.as_secs(),
                logs.folder().display()
            )
        });
    }
    logs.remove();
    Ok(())
}

fn story(world: &Arc<World>, seed: Seed) -> Result<()> {
    // a producer each, so that a partition that cannot be written holds up no other
    let productions: Vec<Production> = (0..PARTITIONS)
        .map(|partition| {
            let kafka = Arc::clone(&world.kafka);
            Production::start(kafka, records(seed, partition), PAUSE)
        })
        .collect();
    let clients = Clients::start(world, seed);
    let faults = trouble(world, seed, || clients.check())?;
    world.tell("the faults are over");
    let over = Instant::now();
    let mut acknowledged = BTreeMap::new();
    for production in productions {
        acknowledged.extend(production.end()?);
    }
    let produced = over.elapsed();
    let ends: BTreeMap<i32, i64> = acknowledged
        .iter()
        .map(|(partition, acknowledged)| (*partition, acknowledged.end))
        .collect();
    ensure!(ends.len() == PARTITIONS as usize, "{ends:?}");
    let complete = clients.await_ends(&ends, LIMIT)?;
    let (reader, groups) = clients.end()?;
    oracle(world, &acknowledged)?;
    let mut reader = reader.lock();
    reader.compare(&acknowledged);
    ensure!(reader.violations.is_empty(), "{:#?}", reader.violations);
    let mut again = Vec::new();
    for group in groups {
        let checker = group.checker.lock();
        ensure!(
            checker.violations.is_empty(),
            "{}: {:#?}",
            group.name,
            checker.violations
        );
        let committed = world.kafka.committed(group.name)?;
        let committed: BTreeMap<i32, i64> = committed
            .iter()
            .map(|committed| (committed.partition, committed.offset))
            .collect();
        ensure!(
            committed == ends,
            "{}: committed {committed:?}, {ends:?} are the ends",
            group.name
        );
        again.push(format!("{} to {}", checker.again, group.name));
    }
    println!(
        "{faults} faults; {} records, each once to the reader; again came {}; the producers were done {produced:?} after the last \
         fault, all had come after that: {complete:?}",
        reader.total().records,
        again.join(", ")
    );
    Ok(())
}

/// What was acknowledged is what the Java consumer reads.
fn oracle(world: &World, acknowledged: &BTreeMap<i32, Acknowledged>) -> Result<()> {
    let java = world.kafka.java_consume(TOPIC)?;
    let acknowledged: BTreeMap<_, _> = acknowledged
        .iter()
        .map(|(partition, acknowledged)| (*partition, acknowledged.all))
        .collect();
    ensure!(
        java.partitions == acknowledged,
        "the brokers have {:?}, {acknowledged:?} were acknowledged",
        java.partitions
    );
    Ok(())
}

fn records(seed: Seed, partition: i32) -> ProduceSpec {
    let codec = seed.rng(2).choice(Codec::ALL).unwrap_or(Codec::None);
    ProduceSpec {
        topic: TOPIC.into(),
        records: 200,
        keys: vec![
            Key::Numbered {
                distinct: 1_000,
                size: 8,
            },
            Key::Null,
        ],
        values: vec![
            Value::RandomBetween(0, 2_000),
            Value::Text(300),
            Value::Null,
        ],
        partitioning: Partitioning::Fixed(partition),
        codec,
        ..ProduceSpec::default()
    }
}
