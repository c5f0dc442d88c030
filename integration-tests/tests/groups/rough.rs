//! Members are killed, frozen beyond their session, closed and added, one change upon the other: nothing is lost.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use integration_tests::kafka::Cluster;

use super::child::Client;
use super::group::Group;
use super::shared::{COOPERATIVE, RANGE, Settings, classic, consumer, length, rng};

const PARTITIONS: i32 = 12;
const MEMBERS: usize = 6;
const JAVA: usize = 2;
const USUAL: Duration = Duration::from_secs(20);
/// So many are awake at any time.
const AWAKE: usize = 2;
const SESSION_MS: &str = "3000";
/// A frozen member's session has run out before it is thawed.
const FROZEN_MS: std::ops::Range<u64> = 3_500..6_000;
const FROZEN_AT_MOST: Duration = Duration::from_millis(FROZEN_MS.end);
/// So that the group may settle, and those that are disturbed next have partitions.
const CALM: Duration = Duration::from_secs(4);
/// Between two changes, where one does not follow the other at once.
const PAUSE_MS: std::ops::Range<u64> = 0..1_500;

/// Sessions of members end soon, whichever the protocol.
static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .property("group.min.session.timeout.ms", "1000")
        .property("group.consumer.min.session.timeout.ms", "1000")
        .property("group.consumer.session.timeout.ms", SESSION_MS)
        .property("group.consumer.min.heartbeat.interval.ms", "300")
        .property("group.consumer.heartbeat.interval.ms", "300")
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

#[test]
fn nothing_is_lost_in_a_rough_classic_group_by_range() -> Result<()> {
    rough("rough-range", classic_with_short_sessions(RANGE))
}

#[test]
fn nothing_is_lost_in_a_rough_classic_group_by_cooperative_sticky() -> Result<()> {
    rough(
        "rough-cooperative",
        classic_with_short_sessions(COOPERATIVE),
    )
}

#[test]
fn nothing_is_lost_in_a_rough_group_of_the_consumer_protocol() -> Result<()> {
    rough("rough-consumer", consumer())
}

fn classic_with_short_sessions(strategy: &str) -> Settings<'_> {
    let mut settings = classic(strategy);
    settings.push(("session.timeout.ms", SESSION_MS));
    settings
}

#[derive(Debug, Default)]
struct Changes {
    added: u32,
    closed: u32,
    killed: u32,
    frozen: u32,
    /// Java's that ended when they were thawed.
    ended: usize,
}

fn rough(name: &str, settings: Settings<'_>) -> Result<()> {
    let mut rng = rng(name)?;
    let length = length(USUAL)?;
    let mut group = Group::start(&KAFKA, name, PARTITIONS)?;
    let mut changes = Changes::default();
    while group.members.len() < MEMBERS {
        add(&mut group, &settings, &mut rng)?;
    }
    group.await_settled("joined", |_| true)?;
    let begin = Instant::now();
    while begin.elapsed() < length {
        thaw(&mut group, Instant::now())?;
        changes.ended += group.forget_the_ended()?;
        if group.members.len() < MEMBERS && rng.bool() {
            add(&mut group, &settings, &mut rng)?;
            changes.added += 1;
        } else {
            disturb(&mut group, &mut changes, &mut rng)?;
        }
        match rng.u8(..8) {
            0 => thread::sleep(CALM),
            1..4 => thread::sleep(Duration::from_millis(rng.u64(PAUSE_MS))),
            _ => {}
        }
    }
    thaw(&mut group, Instant::now() + FROZEN_AT_MOST)?;
    group.await_left()?;
    // by then they have heard that they were away
    thread::sleep(CALM);
    changes.ended += group.forget_the_ended()?;
    while group.members.len() < MEMBERS {
        add(&mut group, &settings, &mut rng)?;
    }
    // those that were frozen have their share again
    group.await_settled("settled", |_| true)?;
    let outcome = group.end()?;
    println!(
        "{name}: {length:?}, {changes:?}; of {} records none was lost, {} came more than once; {} notes",
        outcome.produced,
        outcome.twice,
        outcome.faults.len()
    );
    outcome.ensure_none_failed()
}

/// Of ours every other one commits by itself.
fn add(group: &mut Group, settings: &Settings<'_>, rng: &mut Rng) -> Result<()> {
    let java = group.members.iter();
    let java = java
        .filter(|member| member.client() == Client::Java)
        .count();
    let client = if java < JAVA {
        Client::Java
    } else {
        Client::Ours
    };
    let mut settings = settings.clone();
    if client == Client::Ours && rng.bool() {
        settings.push(("enable.auto.commit", "false"));
    } else {
        settings.push(("auto.commit.interval.ms", "500"));
    }
    group.join(client, &settings)
}

/// Closes, kills or freezes one, as long as enough are awake.
fn disturb(group: &mut Group, changes: &mut Changes, rng: &mut Rng) -> Result<()> {
    let awake = group.members.iter();
    let awake = awake.filter(|member| !member.is_frozen()).count();
    if awake <= AWAKE {
        // the others are coming
        thread::sleep(Duration::from_millis(200));
        return Ok(());
    }
    let at = rng.usize(..group.members.len());
    let member = &mut group.members[at];
    match rng.u8(..5) {
        0 | 1 if !member.is_frozen() => {
            group.leave(at)?;
            changes.closed += 1;
        }
        2 | 3 if member.client() == Client::Ours => {
            group.kill(at)?;
            changes.killed += 1;
        }
        4 if !member.is_frozen() => {
            member.freeze(Instant::now() + Duration::from_millis(rng.u64(FROZEN_MS)))?;
            changes.frozen += 1;
        }
        _ => {}
    }
    Ok(())
}

fn thaw(group: &mut Group, now: Instant) -> Result<()> {
    for member in &mut group.members {
        member.thaw(now)?;
    }
    Ok(())
}
