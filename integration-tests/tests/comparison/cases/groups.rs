//! Groups: who coordinates them, who is in them, and what they have committed.

pub(super) mod classic;
pub(super) mod classic_errors;
pub(super) mod committed;
pub(super) mod consumer;
pub(super) mod consumer_errors;
pub(super) mod consumer_rebalances;
pub(super) mod consumer_static;
pub(super) mod consumer_subscriptions;
pub(super) mod consumer_walks;
pub(super) mod coordinators;
pub(super) mod lists;
pub(super) mod protocols_mixed;
pub(super) mod rebalances;
pub(super) mod static_members;
pub(super) mod timeouts;

use std::ops::RangeInclusive;

use anyhow::Result;
use bytes::Bytes;
use kafka_protocol::messages::{
    ConsumerGroupHeartbeatRequest, DescribeGroupsRequest, HeartbeatRequest, JoinGroupRequest,
    LeaveGroupRequest, OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
};
use kafka_protocol::protocol::{Message, Request, StrBytes};

use crate::engine::{Names, Pair};
use crate::requests::{
    assignment, beat, commit, describe_consumer_groups, describe_groups, fetch_committed,
    full_beat, heartbeat, join, leave, owned, sync,
};

/// A script of several APIs goes by steps: each API has the version of the step's number, or that of its own that is next to it.
const STEPS: RangeInclusive<i16> = 0..=9;
/// Since then a member is told its id before it may join (KIP-394), and since then there are static ones (KIP-345).
const MEMBER_ID_REQUIRED: i16 = 4;
const STATIC_MEMBERS: i16 = 5;

fn version_at<R: Request + Message>(step: i16) -> i16 {
    step.clamp(R::VERSIONS.min, R::VERSIONS.max)
}

/// A classic group, and the step at which requests are sent to it.
struct Classic {
    id: String,
    topic: String,
    step: i16,
}

impl Classic {
    /// A group that nobody used yet, whose members consume a topic.
    async fn new(pair: &mut Pair, name: &str, topic: &str, step: i16) -> Result<Self> {
        Ok(Self {
            id: pair.group(name).await?,
            topic: topic.to_owned(),
            step,
        })
    }

    /// A group that has committed an offset too. Kafka shows others only once it has written something else of the same partition of
    /// `__consumer_offsets`.
    async fn with_offsets(pair: &mut Pair, name: &str, topic: &str, step: i16) -> Result<Self> {
        let group = Self::new(pair, name, topic, step).await?;
        group.commit(pair, "at first", "", -1, 0).await?;
        Ok(group)
    }

    fn join_request(&self, names: &Names, member: &str) -> JoinGroupRequest {
        let member = match member {
            "" => StrBytes::default(),
            _ => names.member(member),
        };
        join(self.step, &self.id, &self.topic, member)
    }

    /// A new member joins and is let in, with two requests where it is told its id first; the generation.
    async fn enter(&self, pair: &mut Pair, member: &str) -> Result<i32> {
        let new = |names: &Names| self.join_request(names, "");
        let generation = pair.join("a new member", self.step, member, new).await?;
        match self.step {
            ..MEMBER_ID_REQUIRED => Ok(generation),
            _ => self.join(pair, "joins with its id", member).await,
        }
    }

    /// A member that has an id joins; the generation.
    async fn join(&self, pair: &mut Pair, case: &str, member: &str) -> Result<i32> {
        let again = |names: &Names| self.join_request(names, member);
        pair.join(case, self.step, member, again).await
    }

    /// A member syncs, and assigns as many partitions as are given, each to a member.
    async fn sync(
        &self,
        pair: &mut Pair,
        case: &str,
        member: &str,
        generation: i32,
        assigned: &[&str],
    ) -> Result<()> {
        let request = |names: &Names| self.sync_request(names, member, generation, assigned);
        let version = version_at::<SyncGroupRequest>(self.step);
        pair.compare(case, version, request).await.map(drop)
    }

    fn sync_request(
        &self,
        names: &Names,
        member: &str,
        generation: i32,
        assigned: &[&str],
    ) -> SyncGroupRequest {
        let version = version_at::<SyncGroupRequest>(self.step);
        let assigned = (0..).zip(assigned);
        let assigned = assigned.map(|(partition, member)| {
            let assigned: Bytes = assignment(&self.topic, partition);
            (names.member(member), assigned)
        });
        let member = names.member(member);
        sync(version, &self.id, member, generation, assigned)
    }

    async fn heartbeat(
        &self,
        pair: &mut Pair,
        case: &str,
        member: &str,
        generation: i32,
    ) -> Result<()> {
        let version = version_at::<HeartbeatRequest>(self.step);
        let request = |names: &Names| heartbeat(&self.id, names.member(member), generation);
        pair.compare(case, version, request).await.map(drop)
    }

    async fn leave(&self, pair: &mut Pair, case: &str, members: &[&str]) -> Result<()> {
        let version = version_at::<LeaveGroupRequest>(self.step);
        let request = |names: &Names| {
            let members = members.iter().map(|member| (names.member(member), None));
            let members: Vec<_> = members.collect();
            leave(version, &self.id, &members)
        };
        pair.compare(case, version, request).await.map(drop)
    }

    /// Commits an offset of partition 0.
    async fn commit(
        &self,
        pair: &mut Pair,
        case: &str,
        member: &str,
        generation: i32,
        offset: i64,
    ) -> Result<()> {
        let version = version_at::<OffsetCommitRequest>(self.step);
        let request = |names: &Names| {
            let at = (self.topic.as_str(), 0, offset);
            let member = names.member(member);
            commit(&self.id, member, generation, at, "of a case")
        };
        pair.compare(case, version, request).await.map(drop)
    }

    async fn fetch_committed(&self, pair: &mut Pair, case: &str) -> Result<()> {
        let version = version_at::<OffsetFetchRequest>(self.step);
        let asked: [(&str, &[i32]); 1] = [(&self.topic, &[0, 1])];
        let request = |_: &Names| fetch_committed(version, &self.id, Some(&asked));
        pair.compare(case, version, request).await.map(drop)
    }

    async fn describe(&self, pair: &mut Pair, case: &str) -> Result<()> {
        let version = version_at::<DescribeGroupsRequest>(self.step);
        let request = |_: &Names| describe_groups(&[&self.id]);
        pair.compare(case, version, request).await.map(drop)
    }
}

/// A group of KIP-848, and the version in which its members send heartbeats.
struct Consumers {
    id: String,
    topic: String,
    version: i16,
}

impl Consumers {
    async fn new(pair: &mut Pair, name: &str, topic: &str, version: i16) -> Result<Self> {
        Ok(Self {
            id: pair.group(name).await?,
            topic: topic.to_owned(),
            version,
        })
    }

    /// A member that says everything, as when it joins with epoch 0; its next epoch.
    async fn full(
        &self,
        pair: &mut Pair,
        case: &str,
        (member, epoch): (&str, i32),
        topics: &[&str],
        owned_partitions: &[i32],
    ) -> Result<i32> {
        let request = |names: &Names| {
            let owned = match owned_partitions {
                [] => Vec::new(),
                own => vec![owned(names.topic(&self.topic), own)],
            };
            full_beat(&self.id, names.member(member), epoch, topics, owned)
        };
        self.send(pair, case, request).await
    }

    /// A member joins that consumes the group's topic; its epoch.
    async fn join(&self, pair: &mut Pair, case: &str, member: &str) -> Result<i32> {
        self.full(pair, case, (member, 0), &[&self.topic], &[])
            .await
    }

    /// A member for which nothing has changed, or that says what it owns of the group's topic; its next epoch.
    async fn beat(
        &self,
        pair: &mut Pair,
        case: &str,
        (member, epoch): (&str, i32),
        owned_partitions: Option<&[i32]>,
    ) -> Result<i32> {
        let request = |names: &Names| {
            let own = owned_partitions.map(|partitions| match partitions {
                [] => Vec::new(),
                own => vec![owned(names.topic(&self.topic), own)],
            });
            beat(&self.id, names.member(member), epoch).with_topic_partitions(own)
        };
        self.send(pair, case, request).await
    }

    /// Sends a heartbeat; the member's next epoch.
    async fn send(
        &self,
        pair: &mut Pair,
        case: &str,
        make: impl Fn(&Names) -> ConsumerGroupHeartbeatRequest,
    ) -> Result<i32> {
        let answers = pair.compare(case, self.version, make).await?;
        Ok(answers.real.map_or(0, |answer| answer.member_epoch))
    }

    async fn describe(&self, pair: &mut Pair, case: &str) -> Result<()> {
        let request = |_: &Names| describe_consumer_groups(&[&self.id]);
        pair.compare(case, self.version, request).await.map(drop)
    }

    /// Commits an offset of a partition, as a member of an epoch.
    async fn commit(
        &self,
        pair: &mut Pair,
        case: &str,
        (member, epoch): (&str, i32),
        partition: i32,
    ) -> Result<()> {
        for version in [
            OffsetCommitRequest::VERSIONS.max - 1,
            OffsetCommitRequest::VERSIONS.max,
        ] {
            let request = |names: &Names| {
                let at = (self.topic.as_str(), partition, 5);
                commit(&self.id, names.member(member), epoch, at, "")
            };
            pair.compare(case, version, request).await?;
        }
        Ok(())
    }
}
