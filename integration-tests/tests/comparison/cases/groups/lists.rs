//! ListGroups, which lists the groups of the node that is asked.

use anyhow::Result;
use kafka_protocol::messages::ListGroupsRequest;

use super::super::versions;
use super::Classic;
use crate::engine::Pair;
use crate::requests::{commit, text};

const TOPIC: &str = "lists";
/// Since when one can ask for states (KIP-518) and types (KIP-848).
const STATES: i16 = 4;
const TYPES: i16 = 5;
const OTHER_NODE: i32 = 2;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(TOPIC, &[&[1]]).await?;
    let simple = pair.group("lists-simple").await?;
    pair.compare("offsets alone", 8, |_| {
        commit(&simple, "".into(), -1, (TOPIC, 0, 1), "")
    })
    .await?;
    let stable = Classic::new(pair, "lists-stable", TOPIC, 9).await?;
    let generation = stable.enter(pair, "a").await?;
    stable.sync(pair, "stable", "a", generation, &["a"]).await?;
    let joined = Classic::with_offsets(pair, "lists-joined", TOPIC, 9).await?;
    joined.enter(pair, "b").await?;
    let left = Classic::with_offsets(pair, "lists-left", TOPIC, 9).await?;
    left.enter(pair, "c").await?;
    left.leave(pair, "left", &["c"]).await?;
    // none of these comes to be
    pair.group("lists-none").await?;
    for version in versions::<ListGroupsRequest>() {
        lists(pair, version).await?;
    }
    Ok(())
}

async fn lists(pair: &mut Pair, version: i16) -> Result<()> {
    let all = ListGroupsRequest::default;
    for node in [1, OTHER_NODE] {
        pair.compare_at(node, "all", version, |_| all()).await?;
    }
    if version >= STATES {
        for states in [
            &["Stable"] as &[&str],
            &["Empty", "CompletingRebalance"],
            &["stable"],
            &["PreparingRebalance"],
            &["Dead"],
            &["no state"],
            &[""],
        ] {
            let case = format!("states {states:?}");
            let states = || states.iter().map(|state| text(state)).collect();
            pair.compare(case, version, |_| all().with_states_filter(states()))
                .await?;
        }
    }
    if version >= TYPES {
        for types in [
            &["classic"] as &[&str],
            &["Classic", "consumer"],
            &["consumer"],
            &["share"],
            &["no type"],
            &[""],
        ] {
            let case = format!("types {types:?}");
            let types = || types.iter().map(|name| text(name)).collect();
            pair.compare(case, version, |_| all().with_types_filter(types()))
                .await?;
        }
        pair.compare("a state and a type", version, |_| {
            all()
                .with_states_filter(vec![text("Empty")])
                .with_types_filter(vec![text("classic")])
        })
        .await?;
    }
    Ok(())
}
