//! The machine between a scripted application and a scripted coordinator.

mod classic;
mod close;
mod commits;
mod committed;
mod consumer;
mod errors;
mod finder;
mod handover;
mod walk;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use buffer_actor::{Backoff, CommittedOffset, FetchEpoch, NodeId, PartitionId};
use bytes::Bytes;
use record_batch::TopicPartition;
use session_actor::wire::{Address, ErrorCode, Peer, WireError};
use session_actor::{ClusterSnapshot, PartitionLeader, Topic, TopicMetadata, WatchTopics};
use uuid::Uuid;

use self::world::World;
use super::CoordinatorMachine;
use crate::assign::{Assignment, Assignor, CooperativeSticky, Range, Subscription as Told};
use crate::config::{GroupConfig, GroupProtocol};
use crate::error::GroupError;
use crate::model::{
    Answer, AskId, CallId, ConsumerHeartbeatAnswer, Effect, EventId, GroupMetadata, JoinGroup,
    Joined, LastPoll, LeaveOption, OffsetAndMetadata, Offsets, RebalanceEvent, Request,
    Subscription,
};

const SESSION: Duration = Duration::from_secs(45);
const HEARTBEAT: Duration = Duration::from_secs(3);
const MAX_POLL: Duration = Duration::from_secs(300);
const MEMBER: &str = "m-1";

fn config(protocol: GroupProtocol) -> GroupConfig {
    GroupConfig {
        group_id: "billing".into(),
        instance_id: None,
        protocol,
        max_poll_interval: MAX_POLL,
        rack: None,
        auto_commit: None,
        has_listener: true,
        exclude_internal_topics: true,
        retry: Backoff {
            base: Duration::from_millis(100),
            max: Duration::from_secs(1),
        },
        reconnect: Backoff {
            base: Duration::from_millis(50),
            max: Duration::from_secs(1),
        },
        request_timeout: Duration::from_secs(30),
        api_timeout: Duration::from_secs(60),
        bootstrap: vec![Address::new("seed", 9092)],
    }
}

fn classic(assignor: impl Assignor) -> GroupConfig {
    config(GroupProtocol::Classic {
        assignors: vec![Arc::new(assignor)],
        session_timeout: SESSION,
        heartbeat_interval: HEARTBEAT,
    })
}

fn eager() -> GroupConfig {
    classic(Range)
}

fn cooperative() -> GroupConfig {
    classic(CooperativeSticky)
}

fn consumer() -> GroupConfig {
    config(GroupProtocol::Consumer {
        remote_assignor: None,
    })
}

fn auto_commit(config: GroupConfig) -> GroupConfig {
    GroupConfig {
        auto_commit: Some(Duration::from_secs(5)),
        ..config
    }
}

/// Commits automatically, but not now.
fn rarely(config: GroupConfig) -> GroupConfig {
    GroupConfig {
        auto_commit: Some(Duration::from_secs(3600)),
        ..config
    }
}

fn silent(config: GroupConfig) -> GroupConfig {
    GroupConfig {
        has_listener: false,
        ..config
    }
}

fn fixed(config: GroupConfig) -> GroupConfig {
    GroupConfig {
        instance_id: Some("i-1".into()),
        ..config
    }
}

/// `t-0` and the like.
fn part(name: &str) -> TopicPartition {
    let (topic, index) = name.rsplit_once('-').unwrap();
    TopicPartition::new(topic, index.parse().unwrap())
}

fn parts(names: &[&str]) -> Vec<TopicPartition> {
    names.iter().map(|name| part(name)).collect()
}

fn offsets(pairs: &[(&str, i64)]) -> Offsets {
    let pairs = pairs.iter();
    pairs
        .map(|(name, offset)| (part(name), OffsetAndMetadata::from(*offset)))
        .collect()
}

fn topics(names: &[&str]) -> Subscription {
    Subscription::Topics(names.iter().map(|name| Arc::from(*name)).collect())
}

/// The id of a topic, from its name.
fn id(topic: &str) -> Uuid {
    Uuid::from_u128(
        topic
            .bytes()
            .fold(7, |hash, byte| hash * 257 + u128::from(byte)),
    )
}

fn target(names: &[&str]) -> Vec<(Uuid, Vec<i32>)> {
    let mut by_topic: BTreeMap<Uuid, Vec<i32>> = BTreeMap::new();
    for name in parts(names) {
        by_topic
            .entry(id(name.topic()))
            .or_default()
            .push(name.partition());
    }
    by_topic.into_iter().collect()
}

/// Topics with four partitions each.
fn cluster(names: &[&str]) -> Arc<ClusterSnapshot> {
    let mut cluster = ClusterSnapshot::default();
    cluster
        .brokers
        .insert(NodeId(1), Address::new("broker", 9092));
    for name in names {
        let topic = Topic {
            name: Arc::from(*name),
            id: id(name),
        };
        let leader = PartitionLeader {
            node: Some(NodeId(1)),
            epoch: 0,
        };
        let metadata = TopicMetadata {
            topic: Arc::new(topic),
            partitions: vec![leader; 4],
            replicas: Arc::default(),
            internal: false,
        };
        cluster.topics.insert(Arc::from(*name), metadata);
    }
    Arc::new(cluster)
}

fn coordinator() -> Peer {
    Peer {
        node: Some(1),
        address: Address::new("broker", 9092),
    }
}

fn lost() -> WireError {
    WireError::Closed {
        peer: coordinator(),
    }
}

const fn kind(request: &Request) -> &'static str {
    match request {
        Request::FindCoordinator => "FindCoordinator",
        Request::JoinGroup(_) => "JoinGroup",
        Request::SyncGroup(_) => "SyncGroup",
        Request::Heartbeat(_) => "Heartbeat",
        Request::LeaveGroup { .. } => "LeaveGroup",
        Request::ConsumerHeartbeat(_) => "ConsumerHeartbeat",
        Request::OffsetCommit { .. } => "OffsetCommit",
        Request::OffsetFetch { .. } => "OffsetFetch",
    }
}

fn joined(generation: i32) -> Answer {
    Answer::JoinGroup(Ok(Joined {
        member_id: MEMBER.into(),
        generation,
        protocol: "range".into(),
        is_leader: false,
        skip_assignment: false,
        members: Vec::new(),
    }))
}

fn synced(names: &[&str]) -> Answer {
    let assignment = Assignment::new(parts(names)).encode(Assignment::VERSION);
    Answer::SyncGroup(Ok(assignment.unwrap()))
}

fn beaten(epoch: i32, assignment: Option<&[&str]>) -> Answer {
    Answer::ConsumerHeartbeat(Ok(ConsumerHeartbeatAnswer {
        member_id: Some(MEMBER.into()),
        epoch,
        interval: Duration::from_secs(5),
        assignment: assignment.map(target),
    }))
}

/// The answer to a request with an error.
fn error(request: &Request, code: ErrorCode) -> Answer {
    match request {
        Request::FindCoordinator => Answer::Coordinator(Err(code)),
        Request::JoinGroup(_) => Answer::JoinGroup(Err((code, "m-given".into()))),
        Request::SyncGroup(_) => Answer::SyncGroup(Err(code)),
        Request::Heartbeat(_) | Request::LeaveGroup { .. } => Answer::Done(code),
        Request::ConsumerHeartbeat(_) => {
            Answer::ConsumerHeartbeat(Err((code, "says the broker".to_owned())))
        }
        Request::OffsetCommit { offsets, .. } => {
            let names = offsets.keys();
            Answer::OffsetCommit(names.map(|name| (name.clone(), code)).collect())
        }
        Request::OffsetFetch { .. } => Answer::OffsetFetch(Err(code)),
    }
}
