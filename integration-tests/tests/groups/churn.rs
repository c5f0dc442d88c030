//! Members come and go in order, several at a time, while records are produced: nothing is lost, and nothing comes twice.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;

use super::child::Client;
use super::group::{Group, Outcome};
use super::shared::{COOPERATIVE, KAFKA, RANGE, Settings, classic, consumer, length, rng};

/// The first two leave first, so both kinds do at the same time.
const MIXED: [Client; 6] = [
    Client::Java,
    Client::Ours,
    Client::Ours,
    Client::Java,
    Client::Ours,
    Client::Ours,
];
const USUAL: Duration = Duration::from_secs(15);
/// How long the group is left alone at most.
const REST_MS: u64 = 2_000;

#[test]
fn nothing_is_lost_or_doubled_in_a_classic_group_by_range() -> Result<()> {
    churn("churn-range", MIXED, &classic(RANGE))?.ensure_each_once()
}

#[test]
fn nothing_is_lost_or_doubled_in_a_classic_group_by_cooperative_sticky() -> Result<()> {
    let name = "churn-cooperative";
    churn(name, [Client::Ours; 6], &classic(COOPERATIVE))?.ensure_each_once()
}

/// Java's consumer reads on while it joins, and commits nothing when it is closed then ("Failing OffsetCommit request since the
/// consumer is not part of an active group" in its log): what it read last comes again.
#[test]
fn nothing_is_lost_in_a_mixed_classic_group_by_cooperative_sticky() -> Result<()> {
    let name = "churn-cooperative-mixed";
    churn(name, MIXED, &classic(COOPERATIVE))?.ensure_each_once_to_ours()
}

/// So it does among its own.
#[test]
#[ignore = "shows, for comparison, that Java's members repeat records by themselves"]
fn java_alone_in_a_classic_group_by_cooperative_sticky() -> Result<()> {
    let name = "churn-cooperative-java";
    churn(name, [Client::Java; 6], &classic(COOPERATIVE))?.ensure_each_once_to_ours()
}

#[test]
fn nothing_is_lost_or_doubled_in_a_group_of_the_consumer_protocol() -> Result<()> {
    churn("churn-consumer", MIXED, &consumer())?.ensure_each_once()
}

fn churn(name: &str, clients: [Client; 6], settings: &Settings<'_>) -> Result<Outcome> {
    let mut rng = rng(name)?;
    let length = length(USUAL)?;
    let mut group = Group::start(&KAFKA, name, 12)?;
    let mut by_listener = settings.clone();
    by_listener.push(("enable.auto.commit", "false"));
    let join = |group: &mut Group, client, rng: &mut Rng| {
        // of ours some commit in their listener, and some by themselves
        let is_by_listener = client == Client::Ours && rng.bool();
        group.join(
            client,
            if is_by_listener {
                &by_listener
            } else {
                settings
            },
        )
    };
    for client in clients {
        join(&mut group, client, &mut rng)?;
    }
    group.await_settled("joined", |_| true)?;
    let begin = Instant::now();
    let mut changes = 0;
    while begin.elapsed() < length {
        let [first, second] = [&group.members[0], &group.members[1]].map(|member| member.client());
        group.leave(0)?;
        group.leave(0)?;
        join(&mut group, first, &mut rng)?;
        thread::sleep(Duration::from_millis(rng.u64(..REST_MS)));
        join(&mut group, second, &mut rng)?;
        thread::sleep(Duration::from_millis(rng.u64(..REST_MS)));
        group.await_left()?;
        changes += 4;
    }
    let outcome = group.end()?;
    println!(
        "{name}: {changes} changes, {} records, {} twice",
        outcome.produced, outcome.twice
    );
    Ok(outcome)
}
