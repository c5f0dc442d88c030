use kafka_protocol::ResponseError;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic, OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse};

use super::{RequestContext, text};
use crate::cluster::Cluster;
use crate::fault::ForcedError;
use crate::groups::{Committed, Offsets};

/// Since then an error of the group has a place at the top.
const TOP_LEVEL_ERROR: i16 = 2;
/// Since then a request names several groups (KIP-709).
const SEVERAL_GROUPS: i16 = 8;

/// What one group is asked: all it has, or some partitions.
struct Asked<'a> {
    group: &'a str,
    topics: Option<Vec<(&'a str, &'a [i32])>>,
}

/// What is answered for one partition.
struct Found {
    partition: i32,
    committed: Option<Committed>,
    error: Option<ResponseError>,
}

type FoundTopic = (String, Vec<Found>);

/// Tells what groups have committed.
pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &OffsetFetchRequest,
) -> OffsetFetchResponse {
    let response = OffsetFetchResponse::default().with_throttle_time_ms(context.throttle_ms);
    if context.version >= SEVERAL_GROUPS {
        let groups = request.groups.iter();
        let groups = groups.map(|group| one_of_several(cluster, context, group));
        return response.with_groups(groups.collect());
    }
    let topics = request.topics.as_ref().map(|topics| {
        let named = topics.iter();
        let named = named.map(|topic| (topic.name.as_str(), topic.partition_indexes.as_slice()));
        named.collect()
    });
    let asked = Asked {
        group: request.group_id.as_str(),
        topics,
    };
    let (found, error) = match find(cluster, context, &asked, || Ok(())) {
        Ok(found) => (found, None),
        // without a place at the top it stands at every partition
        Err(error) if context.version < TOP_LEVEL_ERROR => (asked.all_refused(error), Some(error)),
        Err(error) => (Vec::new(), Some(error)),
    };
    let topics = found.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|found| {
            let (offset, leader_epoch, metadata) = found.values();
            OffsetFetchResponsePartition::default()
                .with_partition_index(found.partition)
                .with_committed_offset(offset)
                .with_committed_leader_epoch(leader_epoch)
                .with_metadata(Some(text(metadata)))
                .with_error_code(found.error.map_or(0, |error| error.code()))
        });
        OffsetFetchResponseTopic::default()
            .with_name(text(&topic).into())
            .with_partitions(partitions.collect())
    });
    response
        .with_topics(topics.collect())
        .with_error_code(error.map_or(0, |error| error.code()))
}

fn one_of_several(
    cluster: &Cluster,
    context: &RequestContext,
    group: &OffsetFetchRequestGroup,
) -> OffsetFetchResponseGroup {
    let topics = group.topics.as_ref().map(|topics| {
        let named = topics.iter();
        let named = named.map(|topic| (topic.name.as_str(), topic.partition_indexes.as_slice()));
        named.collect()
    });
    let asked = Asked {
        group: group.group_id.as_str(),
        topics,
    };
    let response = OffsetFetchResponseGroup::default().with_group_id(group.group_id.clone());
    let may_ask = || {
        let asked = cluster.groups.get(asked.group);
        let member = group.member_id.as_ref().map(|id| id.as_str());
        let checked = asked.and_then(|asked| asked.consumer());
        checked.map_or(Ok(()), |asked| {
            asked.check_fetch(member, group.member_epoch)
        })
    };
    let found = match find(cluster, context, &asked, may_ask) {
        Ok(found) => found,
        Err(error) => return response.with_error_code(error.code()),
    };
    let topics = found.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|found| {
            let (offset, leader_epoch, metadata) = found.values();
            OffsetFetchResponsePartitions::default()
                .with_partition_index(found.partition)
                .with_committed_offset(offset)
                .with_committed_leader_epoch(leader_epoch)
                .with_metadata(Some(text(metadata)))
                .with_error_code(found.error.map_or(0, |error| error.code()))
        });
        OffsetFetchResponseTopics::default()
            .with_name(text(&topic).into())
            .with_partitions(partitions.collect())
    });
    response.with_topics(topics.collect())
}

/// What a group has committed. One that does not exist has committed nothing, which is no error.
fn find(
    cluster: &Cluster,
    context: &RequestContext,
    asked: &Asked<'_>,
    may_ask: impl FnOnce() -> Result<(), ResponseError>,
) -> Result<Vec<FoundTopic>, ResponseError> {
    if let Some(forced) = context.forced_at_top() {
        return Err(forced.error);
    }
    let coordinators = &cluster.groups.coordinators;
    coordinators.check(asked.group, context.node)?;
    may_ask()?;
    let offsets = cluster.groups.get(asked.group).map(|group| &group.offsets);
    let forced = |topic: &str, partition| context.forced_at(topic, partition);
    Ok(match (&asked.topics, offsets) {
        (None, None) => Vec::new(),
        (None, Some(offsets)) => all(offsets, forced),
        (Some(topics), offsets) => {
            let topics = topics.iter().map(|(topic, partitions)| {
                let found = partitions.iter().map(|partition| {
                    let committed = offsets.and_then(|offsets| offsets.get(topic, *partition));
                    Found::new(*partition, committed, forced(topic, *partition))
                });
                ((*topic).to_owned(), found.collect())
            });
            topics.collect()
        }
    })
}

fn all<'a>(
    offsets: &Offsets,
    forced: impl Fn(&str, i32) -> Option<&'a ForcedError>,
) -> Vec<FoundTopic> {
    let topics = offsets.topics().map(|(topic, partitions)| {
        let found = partitions.map(|(partition, committed)| {
            Found::new(partition, Some(committed), forced(topic, partition))
        });
        (topic.to_owned(), found.collect())
    });
    topics.collect()
}

impl Asked<'_> {
    fn all_refused(&self, error: ResponseError) -> Vec<FoundTopic> {
        let topics = self.topics.iter().flatten().map(|(topic, partitions)| {
            let refused = partitions.iter().map(|partition| Found {
                partition: *partition,
                committed: None,
                error: Some(error),
            });
            ((*topic).to_owned(), refused.collect())
        });
        topics.collect()
    }
}

impl Found {
    fn new(partition: i32, committed: Option<&Committed>, forced: Option<&ForcedError>) -> Self {
        let error = forced.map(|forced| forced.error);
        Self {
            partition,
            committed: committed.filter(|_| error.is_none()).cloned(),
            error,
        }
    }

    /// Offset, leader epoch and metadata, as the protocol says that there are none.
    fn values(&self) -> (i64, i32, &str) {
        self.committed
            .as_ref()
            .map_or((-1, -1, ""), |c| (c.offset, c.leader_epoch, &c.metadata))
    }
}
