//! A metadata answer: what it says, how it is brought into what is known, and what its errors mean to the application.

use std::collections::BTreeMap;
use std::sync::Arc;

use buffer_actor::{NodeId, PartitionError};
use record_batch::TopicPartition;
use session_actor::wire::{Address, ErrorCode};
use session_actor::{PartitionLeader, Replicas, Topic, TopicMetadata};
use uuid::Uuid;

/// A metadata answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) brokers: Vec<(NodeId, Address)>,
    pub(crate) racks: BTreeMap<NodeId, Arc<str>>,
    pub(crate) topics: Vec<TopicView>,
}

/// A topic of a metadata answer.
#[derive(Debug, Clone)]
pub(crate) struct TopicView {
    pub(crate) name: String,
    pub(crate) id: Uuid,
    pub(crate) error: ErrorCode,
    pub(crate) internal: bool,
    pub(crate) partitions: Vec<PartitionView>,
}

/// A partition of a metadata answer.
#[derive(Debug, Clone)]
pub(crate) struct PartitionView {
    pub(crate) index: i32,
    pub(crate) leader: Option<NodeId>,
    pub(crate) leader_epoch: i32,
    pub(crate) replicas: Vec<NodeId>,
    pub(crate) in_sync: Vec<NodeId>,
    pub(crate) offline: Vec<NodeId>,
}

/// A leader epoch only grows, unless the topic was created anew (KIP-320, KIP-516): metadata from a broker that lags behind
/// must not bring an old leader back.
pub(super) fn merge_topic(
    name: &Arc<str>,
    view: TopicView,
    known: Option<&TopicMetadata>,
) -> TopicMetadata {
    let same = known.filter(|known| known.topic.id == view.id);
    let topic = same.map_or_else(
        || {
            Arc::new(Topic {
                name: Arc::clone(name),
                id: view.id,
            })
        },
        |known| Arc::clone(&known.topic),
    );
    let count = view
        .partitions
        .iter()
        .filter_map(|partition| usize::try_from(partition.index).ok())
        .max()
        .map_or(0, |highest| highest + 1)
        // an index beyond what the answer can list is nonsense, and must not size anything
        .min(view.partitions.len());
    let nobody = PartitionLeader {
        node: None,
        epoch: -1,
    };
    let mut partitions = vec![nobody; count];
    let mut replicas = vec![Vec::new(); count];
    for partition in view.partitions {
        let Ok(index) = usize::try_from(partition.index) else {
            continue;
        };
        let (Some(slot), Some(copies)) = (partitions.get_mut(index), replicas.get_mut(index))
        else {
            continue;
        };
        let former = same.and_then(|known| {
            Some((
                known.partitions.get(index)?,
                known.replicas.of(partition.index),
            ))
        });
        match former {
            Some((former, replicas))
                if former.node.is_some() && partition.leader_epoch < former.epoch =>
            {
                *slot = *former;
                *copies = replicas.to_vec();
            }
            _ => {
                *slot = PartitionLeader {
                    node: partition.leader,
                    epoch: partition.leader_epoch,
                };
                *copies = partition.replicas;
            }
        }
    }
    let replicas: Replicas = replicas.into_iter().collect();
    let unmoved = same.filter(|known| *known.replicas == replicas);
    TopicMetadata {
        topic,
        partitions,
        replicas: unmoved.map_or_else(|| Arc::new(replicas), |known| Arc::clone(&known.replicas)),
        internal: view.internal,
    }
}

/// What the application is told of a partition that metadata does not show.
pub(super) fn missing_error(name: &TopicPartition, code: ErrorCode) -> Option<PartitionError> {
    let partition = name.clone();
    match code {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION | ErrorCode::UNKNOWN_TOPIC_ID => {
            Some(PartitionError::UnknownPartition { partition })
        }
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            Some(PartitionError::TopicAuthorizationFailed { partition })
        }
        ErrorCode::INVALID_TOPIC_EXCEPTION => Some(PartitionError::InvalidTopic { partition }),
        _ => None,
    }
}

/// What the application is told of a lookup that failed; `None` for what passes by itself.
pub(super) fn lookup_error(name: &TopicPartition, code: ErrorCode) -> Option<PartitionError> {
    let partition = name.clone();
    match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => {
            Some(PartitionError::TopicAuthorizationFailed { partition })
        }
        ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT | ErrorCode::UNSUPPORTED_VERSION => {
            Some(PartitionError::LookupRefused {
                partition,
                error_code: code.0,
            })
        }
        _ => None,
    }
}
