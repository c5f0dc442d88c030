//! A living group changes its protocol, and its assignor, while records are produced: nothing is lost, and nothing comes twice to ours.

use anyhow::{Result, ensure};
use integration_tests::kafka::GroupDescription;

use super::child::Client;
use super::group::{Group, Outcome};
use super::shared::{COOPERATIVE, KAFKA, RANGE, Settings, classic, consumer};

/// Ours and Java's in turn, so that each kind is at some time the first and the last of its protocol.
const MIXED: [Client; 4] = [Client::Ours, Client::Java, Client::Ours, Client::Java];

/// Replaces all members, each by one with other settings, which joins before the former leaves.
fn replace(group: &mut Group, settings: &Settings<'_>) -> Result<()> {
    for client in MIXED {
        group.join(client, settings)?;
        group.await_settled("joined", |_| true)?;
        group.leave(0)?;
        group.await_left()?;
        group.await_settled("without the former", |_| true)?;
    }
    Ok(())
}

fn join_all(group: &mut Group, settings: &Settings<'_>) -> Result<()> {
    for client in MIXED {
        group.join(client, settings)?;
    }
    group.await_settled("joined", |_| true)?;
    Ok(())
}

fn conclude(name: &str, group: Group) -> Result<Outcome> {
    let outcome = group.end()?;
    println!(
        "{name}: {} records, {} twice",
        outcome.produced, outcome.twice
    );
    Ok(outcome)
}

/// KIP-848, "Online migration": the first member of the new protocol converts the group, the last one's leaving converts it back.
fn to_the_consumer_protocol_and_back(name: &str, strategy: &str) -> Result<Outcome> {
    let mut group = Group::start(&KAFKA, name, 12)?;
    join_all(&mut group, &classic(strategy))?;
    let is = |protocol: &'static str| move |group: &GroupDescription| group.protocol == protocol;
    group.await_settled("classic", is("Classic"))?;

    replace(&mut group, &consumer())?;
    let now = group.await_settled("of the consumer protocol", is("Consumer"))?;
    ensure!(
        now.members
            .iter()
            .all(|member| member.upgraded == Some(true)),
        "{now:#?}"
    );

    replace(&mut group, &classic(strategy))?;
    group.await_settled("classic again", is("Classic"))?;
    conclude(name, group)
}

#[test]
fn a_group_by_range_migrates_to_the_consumer_protocol_and_back() -> Result<()> {
    to_the_consumer_protocol_and_back("migrate-range", RANGE)?.ensure_each_once()
}

/// Java's consumer commits when it begins to join, and a cooperative one reads on while it does: what it reads then of a partition that the
/// new assignment takes from it is not committed, and comes again.
#[test]
fn a_group_by_cooperative_sticky_migrates_to_the_consumer_protocol_and_back() -> Result<()> {
    let name = "migrate-cooperative";
    to_the_consumer_protocol_and_back(name, COOPERATIVE)?.ensure_each_once_to_ours()
}

/// KIP-429, "Compatibility and upgrade path": one rolling restart adds the cooperative assignor, a second one removes the eager one.
#[test]
fn a_group_by_range_becomes_cooperative_in_two_rolling_restarts() -> Result<()> {
    let name = "rolling";
    let mut group = Group::start(&KAFKA, name, 12)?;
    join_all(&mut group, &classic(RANGE))?;
    let by = |assignor: &'static str| move |group: &GroupDescription| group.assignor == assignor;
    group.await_settled("by range", by("range"))?;

    let both = format!("{RANGE},{COOPERATIVE}");
    restart(&mut group, &classic(&both))?;
    group.await_settled("by range still", by("range"))?;

    restart(&mut group, &classic(COOPERATIVE))?;
    group.await_settled("cooperative", by("cooperative-sticky"))?;
    conclude(name, group)?.ensure_each_once_to_ours()
}

/// As services are restarted: each member leaves, and comes again with other settings.
fn restart(group: &mut Group, settings: &Settings<'_>) -> Result<()> {
    for client in MIXED {
        group.leave(0)?;
        group.await_left()?;
        group.join(client, settings)?;
        group.await_settled("joined", |_| true)?;
    }
    Ok(())
}
