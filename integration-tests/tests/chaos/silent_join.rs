//! A coordinator whose machine is gone without a word, while a member waits for the answer to its JoinGroup.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use consumer_app::{Consumer, OffsetReset};
use integration_tests::kafka::Error;

use super::namespace::Namespace;
use super::setup::{Network, OFFSETS, PARTITIONS, TOPIC, World, offsets_partition_of};

const GROUP: &str = "silent-join";
/// JoinGroup is answered when all members have joined, for which they have this time.
const MAX_POLL_INTERVAL_MS: &str = "150000";
/// So it is known by then that there is nobody to wait for.
const LIMIT: Duration = Duration::from_secs(75);
/// The controller is node 1.
const COORDINATOR: i32 = 2;

#[test]
#[ignore = "makes a network namespace and cables to it, for which one must be root: see the README"]
fn a_join_ends_though_the_coordinators_machine_is_gone() -> Result<()> {
    let world = Arc::new(World::start(Network::Namespace(Namespace::make()?))?);
    let (waits, is_waiting) = mpsc::channel();
    let in_namespace = Arc::clone(&world);
    let members = thread::spawn(move || {
        in_namespace.network.enter()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(join(&in_namespace, &waits))
    });
    // or they have failed
    if is_waiting.recv().is_ok() {
        // at this end of the cable, which cannot be seen from the other
        world.network.set_plugged(COORDINATOR, false)?;
        world.kafka.kill(COORDINATOR)?;
    }
    let joined = members.join();
    joined.map_err(|_| anyhow!("the members' thread panicked"))?
}

async fn join(world: &World, waits: &mpsc::Sender<()>) -> Result<()> {
    let mut first = member(world).await?;
    let begin = Instant::now();
    while first.assignment().len() < PARTITIONS as usize {
        ensure!(begin.elapsed() < LIMIT, "{:?}", first.assignment());
        first.poll(Duration::from_millis(100)).await?;
    }
    let partition = offsets_partition_of(GROUP);
    world.kafka.move_leader(OFFSETS, partition, COORDINATOR)?;
    first.commit().await?;

    // the first does not poll, so the second waits for it
    let mut second = member(world).await?;
    let begin = Instant::now();
    while !is_preparing(world)? {
        ensure!(begin.elapsed() < LIMIT, "the second does not join");
        second.poll(Duration::from_millis(100)).await?;
    }
    waits.send(())?;

    let gone = Instant::now();
    while second.assignment().is_empty() {
        ensure!(gone.elapsed() < LIMIT, "the second still waits");
        let patience = Duration::from_millis(50);
        for polled in [first.poll(patience).await, second.poll(patience).await] {
            if let Err(error) = polled {
                ensure!(error.is_retriable(), "{error}");
            }
        }
    }
    println!(
        "the second has joined {:?} after the coordinator went",
        gone.elapsed()
    );
    for member in [&mut first, &mut second] {
        member.close(Duration::from_secs(5)).await?;
    }
    Ok(())
}

async fn member(world: &World) -> Result<Consumer> {
    let consumer = Consumer::builder()
        .bootstrap_servers(&world.bootstrap_servers())
        .group_id(GROUP)
        .auto_offset_reset(OffsetReset::Earliest)
        .set("group.protocol", "classic")
        .set("session.timeout.ms", "6000")
        .set("heartbeat.interval.ms", "500")
        .set("request.timeout.ms", "3000")
        .set("max.poll.interval.ms", MAX_POLL_INTERVAL_MS);
    let consumer = consumer.build().await.context("a member")?;
    consumer.subscribe([TOPIC]).await?;
    Ok(consumer)
}

fn is_preparing(world: &World) -> Result<bool> {
    match world.kafka.describe_group(GROUP) {
        Ok(group) => Ok(group.state == "PreparingRebalance"),
        // the coordinator has just moved
        Err(Error::Command { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
