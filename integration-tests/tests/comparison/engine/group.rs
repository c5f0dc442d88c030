//! Groups that both brokers coordinate on node 1, and their members.

use anyhow::{Context, Result};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    FindCoordinatorResponse, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::names::Names;
use super::pair::{Pair, Started};
use crate::requests::{
    beat, describe_consumer_groups, describe_groups, find_coordinator, heartbeat,
};

/// The key type of groups.
const GROUP: i8 = 0;
const FIND_COORDINATOR: i16 = 6;
const HEARTBEAT: i16 = 0;
const DESCRIBE_GROUPS: i16 = 5;
const DESCRIBE_CONSUMER_GROUPS: i16 = 1;
const CONSUMER_HEARTBEAT: i16 = 1;
/// Of so many groups in a row at least one is on node 1 of both.
const GROUPS_TRIED: usize = 200;

impl Pair {
    /// The id of a group that nobody used yet, of a name, which node 1 of both coordinates.
    pub(crate) async fn group(&mut self, name: &str) -> Result<String> {
        for _ in 0..GROUPS_TRIED {
            self.groups_named += 1;
            let id = format!("{name}-{}", self.groups_named);
            if self.broker.coordinator(&id) == Some(1)
                && self.real_coordinator(GROUP, &id).await? == 1
            {
                self.wait_until_coordinated(&id).await?;
                self.real.names.add_group(&id);
                self.ours.names.add_group(&id);
                return Ok(id);
            }
        }
        anyhow::bail!("node 1 coordinates no group {name}")
    }

    /// The node that really coordinates what a key says, once there is one: Kafka creates the topic that it needs when it is asked first.
    pub(crate) async fn real_coordinator(&mut self, key_type: i8, key: &str) -> Result<i32> {
        let request = find_coordinator(FIND_COORDINATOR, key_type, key);
        let error = |answer: &FindCoordinatorResponse| {
            let first = answer.coordinators.first();
            first.map(|found| found.error_code)
        };
        self.wait_until(1, &request, FIND_COORDINATOR, |answer| {
            error(answer) == Some(0)
        })
        .await?;
        let reply = self.real.ask(1, &request, FIND_COORDINATOR).await?;
        let answer = reply.answer.map_err(anyhow::Error::msg)?;
        let found = answer.coordinators.first().context("no coordinator")?;
        Ok(found.node_id.0)
    }

    /// Waits until the real coordinator has read its groups.
    async fn wait_until_coordinated(&mut self, group: &str) -> Result<()> {
        let request = heartbeat(group, StrBytes::from_static_str("nobody"), 0);
        let unknown = ResponseError::UnknownMemberId.code();
        self.wait_until(1, &request, HEARTBEAT, |answer| {
            answer.error_code == unknown
        })
        .await
    }

    /// Has a member of a classic group join on both, and compares the answers. Its id, if the brokers give it one, goes by a name.
    pub(crate) async fn join(
        &mut self,
        case: &str,
        version: i16,
        member: &str,
        make: impl Fn(&Names) -> JoinGroupRequest,
    ) -> Result<i32> {
        let started = self.start(1, case, version, make).await?;
        self.finish_join(member, started).await
    }

    /// Waits for the answers to a JoinGroup that was started; the generation.
    pub(crate) async fn finish_join(
        &mut self,
        member: &str,
        started: Started<JoinGroupRequest>,
    ) -> Result<i32> {
        let answers = self.finish(started).await?;
        let id = |answer: &Option<JoinGroupResponse>| {
            let id = answer.as_ref().map(|answer| answer.member_id.to_string());
            id.context("no answer")
        };
        let (real, ours) = (id(&answers.real)?, id(&answers.ours)?);
        for (side, id) in [(&mut self.real, real), (&mut self.ours, ours)] {
            if !id.is_empty() {
                side.names.set_member(member, &id);
            }
        }
        Ok(answers.real.map_or(0, |answer| answer.generation_id))
    }

    /// Waits until both have begun a rebalance, in which a member is told so.
    pub(crate) async fn wait_for_rebalance(
        &mut self,
        group: &str,
        member: &str,
        generation: i32,
    ) -> Result<()> {
        let told = ResponseError::RebalanceInProgress.code();
        self.wait_for_heartbeat(group, member, generation, told)
            .await
    }

    /// Waits until both answer a member's heartbeat so.
    pub(crate) async fn wait_for_heartbeat(
        &mut self,
        group: &str,
        member: &str,
        generation: i32,
        told: i16,
    ) -> Result<()> {
        let make = |names: &Names| -> HeartbeatRequest {
            heartbeat(group, names.member(member), generation)
        };
        let (real, ours) = (make(&self.real.names), make(&self.ours.names));
        self.real
            .wait_until(1, &real, HEARTBEAT, |answer| answer.error_code == told)
            .await?;
        self.ours
            .wait_until(1, &ours, HEARTBEAT, |answer| answer.error_code == told)
            .await
    }

    /// Waits until a classic group is in a state on both.
    pub(crate) async fn wait_for_state(&mut self, group: &str, state: &str) -> Result<()> {
        let request = describe_groups(&[group]);
        for side in [&mut self.real, &mut self.ours] {
            side.wait_until(1, &request, DESCRIBE_GROUPS, |answer| {
                let mut groups = answer.groups.iter();
                groups.all(|group| group.group_state.as_str() == state)
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until a group of KIP-848 has so many members on both.
    pub(crate) async fn wait_for_members(&mut self, group: &str, count: usize) -> Result<()> {
        let request = describe_consumer_groups(&[group]);
        for side in [&mut self.real, &mut self.ours] {
            side.wait_until(1, &request, DESCRIBE_CONSUMER_GROUPS, |answer| {
                let mut groups = answer.groups.iter();
                groups.all(|group| group.members.len() == count)
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until Kafka's coordinator has come to an epoch by itself, which a member learns with its heartbeats.
    pub(crate) async fn wait_for_epoch(
        &mut self,
        group: &str,
        member: &str,
        (from, to): (i32, i32),
    ) -> Result<()> {
        let request = beat(group, self.real.names.member(member), from);
        self.wait_until(1, &request, CONSUMER_HEARTBEAT, |answer| {
            answer.member_epoch == to
        })
        .await?;
        // the test broker has come to it before, or does with the same heartbeat
        let request = beat(group, self.ours.names.member(member), from);
        self.ours
            .ask(1, &request, CONSUMER_HEARTBEAT)
            .await
            .map(drop)
    }
}
