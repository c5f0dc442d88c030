//! Who comes and goes when, and in what way.

use std::time::Duration;

use test_broker::{Clock, TestBroker};
use tokio::time::{Instant, sleep, timeout};

use super::member::{State, host_of};
use super::{CHURN, GROUP, Group, LIMIT, NODES, PARTITIONS, SESSION_TIMEOUT, TOPIC};
use crate::world::{Net, TICK};

/// Runs the broker and makes things happen; ends when everything was read or too late for it.
pub(super) async fn direct(group: Group, net: Net) -> turmoil::Result {
    let broker = TestBroker::builder()
        .nodes(NODES)
        .topic(TOPIC, PARTITIONS)
        .seed(group.setup.seed)
        .clock(Clock::starting_at(0))
        .group_consumer_session_timeout(SESSION_TIMEOUT)
        .group_consumer_heartbeat_interval(Duration::from_secs(1))
        .start_in_memory()?;
    for node in 1..=NODES {
        net.doors.open(&broker, node)?;
    }
    tokio::task::spawn_local(watch_commits(group.clone(), broker.clone()));
    let producer = tokio::task::spawn_local(produce(group.clone(), broker.clone()));
    churn(&group, &net).await;
    producer.await?;
    let all_read = async {
        while !group.checker().is_complete() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let in_time = timeout(LIMIT, all_read).await;
    let mut checker = group.checker();
    if in_time.is_err() {
        let missing = checker.missing();
        checker.journal.violation(format_args!(
            "not read within {LIMIT:?} after the last fault: {missing}; {:?}",
            broker.group(GROUP)
        ));
    }
    checker.journal.requests(&broker);
    Ok(())
}

/// Some records, now here, now there.
async fn produce(group: Group, broker: TestBroker) {
    let mut random = fastrand::Rng::with_seed(group.setup.seed ^ 0x70);
    let end = Instant::now() + CHURN;
    while Instant::now() < end {
        let (partition, count) = (random.i32(0..PARTITIONS), random.usize(1..8));
        let values = (0..count).map(|value| format!("value {value}"));
        // before it can be read
        group.checker().produced(partition, count);
        if let Err(error) = broker.produce(TOPIC, partition, values) {
            group.checker().journal.violation(error);
        }
        sleep(Duration::from_millis(random.u64(5..60))).await;
    }
}

/// Tells the checker what is committed.
async fn watch_commits(group: Group, broker: TestBroker) {
    loop {
        for partition in 0..PARTITIONS {
            if let Some(committed) = broker.committed(GROUP, TOPIC, partition) {
                group.checker().committed(partition, committed.offset);
            }
        }
        sleep(TICK).await;
    }
}

/// Faults while the time lasts; when it returns, nothing is wrong any more, and somebody is there to read.
async fn churn(group: &Group, net: &Net) {
    let mut random = fastrand::Rng::with_seed(group.setup.seed ^ 0xc4);
    // hosts begin by themselves, with nobody in them
    sleep(2 * TICK).await;
    for _ in 0..random.usize(2..=4) {
        come(group, net);
    }
    let end = Instant::now() + CHURN;
    loop {
        sleep(Duration::from_millis(random.u64(200..1_500))).await;
        if Instant::now() >= end {
            break;
        }
        let chosen = if group.setup.in_order {
            random.u8(0..6)
        } else {
            random.u8(0..12)
        };
        match chosen {
            0..=2 => come(group, net),
            3..=5 => leave(group, &mut random),
            6..=7 => crash(group, net, &mut random).await,
            8..=9 => cut_off(group, net, &mut random, end),
            _ => stall(group, &mut random, end),
        }
    }
    if group.members.borrow().are(State::Running).is_empty() {
        come(group, net);
    }
    group.members.borrow_mut().hurry = true;
    group.checker().journal.note("no more faults");
}

fn come(group: &Group, net: &Net) {
    let mut members = group.members.borrow_mut();
    if let Some(slot) = members.are(State::Free).first() {
        members.states[*slot] = State::Wanted;
        net.start(&host_of(*slot));
    }
}

/// A member that is running, if it is not the last one.
fn one_of_many(group: &Group, random: &mut fastrand::Rng) -> Option<usize> {
    let running = group.members.borrow().are(State::Running);
    if running.len() < 2 {
        return None;
    }
    random.choice(running)
}

fn leave(group: &Group, random: &mut fastrand::Rng) {
    if let Some(slot) = one_of_many(group, random) {
        group
            .checker()
            .journal
            .note(format_args!("{slot} is to leave"));
        group.members.borrow_mut().states[slot] = State::Leaving;
    }
}

async fn crash(group: &Group, net: &Net, random: &mut fastrand::Rng) {
    if let Some(slot) = one_of_many(group, random) {
        let number = group.members.borrow().counts[slot];
        net.crash(&host_of(slot));
        group.checker().journal.note(format_args!("{slot} crashes"));
        // it goes on to the end of this tick
        sleep(TICK).await;
        group.checker().ended(&format!("{slot}.{number}"), false);
        group.members.borrow_mut().states[slot] = State::Free;
    }
}

/// Nothing gets through between a member and the brokers, mostly for longer than its session lasts.
fn cut_off(group: &Group, net: &Net, random: &mut fastrand::Rng, end: Instant) {
    let connected = (0..super::MEMBERS).filter(|slot| !group.members.borrow().cut[*slot]);
    let Some(slot) = random.choice(connected.collect::<Vec<_>>()) else {
        return;
    };
    let wanted =
        SESSION_TIMEOUT + Duration::from_millis(random.u64(0..4_000)) - Duration::from_secs(2);
    let wanted = wanted.min(end - Instant::now());
    group
        .checker()
        .journal
        .note(format_args!("{slot} is cut off for {wanted:?}"));
    group.members.borrow_mut().cut(slot);
    let (group, cuts) = (group.clone(), net.cuts.clone());
    for node in 1..=NODES {
        cuts.cut(&host_of(slot), node);
    }
    tokio::task::spawn_local(async move {
        sleep(wanted).await;
        for node in 1..=NODES {
            cuts.heal(&host_of(slot), node);
        }
        group.members.borrow_mut().cut[slot] = false;
        group
            .checker()
            .journal
            .note(format_args!("{slot} is reached again"));
    });
}

/// What is sent between a member and a node arrives only after a while, as over a connection that has lost packets.
fn stall(group: &Group, random: &mut fastrand::Rng, end: Instant) {
    let slot = random.usize(0..super::MEMBERS);
    if group.members.borrow().cut[slot] {
        return;
    }
    let node = crate::network::host_of(random.i32(1..=NODES));
    let time = Duration::from_millis(random.u64(100..3_000)).min(end - Instant::now());
    group.checker().journal.note(format_args!(
        "{slot} and {node} hear nothing of each other for {time:?}"
    ));
    group.members.borrow_mut().cut(slot);
    turmoil::hold(host_of(slot), node.as_str());
    let group = group.clone();
    tokio::task::spawn_local(async move {
        sleep(time).await;
        turmoil::release(host_of(slot), node.as_str());
        group.members.borrow_mut().cut[slot] = false;
        group
            .checker()
            .journal
            .note(format_args!("{slot} and {node} hear of each other again"));
    });
}
