use bytes::Bytes;
use kafka_protocol::ResponseError;

use super::{Asked, FOLLOWER_FETCHING, Fetch, Injected, Standing};
use crate::cluster::{Cluster, Partition, Topic};
use crate::log::{EpochEndOffset, ReadData, ReadLimits};

/// What reading one partition brought.
#[derive(Clone, Debug)]
pub(super) struct PartitionRead {
    /// An error code, 0 for none.
    pub(super) error: i16,
    pub(super) high_watermark: i64,
    pub(super) last_stable_offset: i64,
    pub(super) log_start_offset: i64,
    pub(super) data: ReadData,
    pub(super) preferred_read_replica: Option<i32>,
    pub(super) diverging_epoch: Option<EpochEndOffset>,
    /// Whether it has to be told at once.
    pub(super) urgent: bool,
    /// Bytes of the log before the offset asked for.
    pub(super) position: u64,
}

impl PartitionRead {
    pub(super) fn failed(error: i16) -> Self {
        Self {
            error,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            data: ReadData::default(),
            preferred_read_replica: None,
            diverging_epoch: None,
            urgent: true,
            position: 0,
        }
    }

    /// An error that keeps a real broker from reading: it tells an empty list of aborted transactions then, and not none.
    pub(super) fn unread(error: i16) -> Self {
        let mut read = Self::failed(error);
        read.urgent = false;
        read.data.aborted = Some(Vec::new());
        read
    }

    /// Nothing but the offsets of the partition, as `node` knows them.
    fn empty(partition: &Partition, node: i32) -> Self {
        use crate::log::Isolation::{ReadCommitted, ReadUncommitted};

        let (log, end) = (&partition.log, partition.replica_end(node));
        Self {
            error: 0,
            high_watermark: log.end_for(ReadUncommitted, end),
            last_stable_offset: log.end_for(ReadCommitted, end),
            log_start_offset: log.log_start_offset(),
            urgent: false,
            ..Self::failed(0)
        }
    }
}

/// What is left of the limits of a request.
struct Room {
    /// Below 0 only if the request says so.
    bytes: i64,
    /// No partition gave anything yet, so that the next batch comes whole, whatever the limits (KIP-74).
    at_least_one: bool,
}

impl Fetch {
    /// Reads all partitions, in order.
    pub(super) fn read(&self, cluster: &Cluster) -> Vec<PartitionRead> {
        let mut room = Room {
            bytes: i64::from(self.max_bytes),
            at_least_one: true,
        };
        let mut reads = Vec::with_capacity(self.partitions.len());
        for asked in &self.partitions {
            let read = self.read_one(cluster, asked, &room);
            room.at_least_one &= read.data.size == 0;
            room.bytes = room
                .bytes
                .saturating_sub_unsigned(read.data.size as u64)
                .max(0);
            reads.push(read);
        }
        reads
    }

    fn read_one(&self, cluster: &Cluster, asked: &Asked, room: &Room) -> PartitionRead {
        let unknown = ResponseError::UnknownTopicOrPartition.code();
        let records = match &asked.standing {
            Standing::Failed(error) => return PartitionRead::unread(*error),
            Standing::Injected(Injected::Error(error)) => return PartitionRead::failed(*error),
            Standing::Injected(Injected::Records(records)) => Some(records),
            Standing::Readable(_) => None,
        };
        let Some((topic, partition)) = asked.find(cluster) else {
            // deleted while the request waited
            return PartitionRead::failed(unknown);
        };
        match records {
            Some(records) => self.give(partition, records),
            None => self
                .read_log(cluster, topic, partition, asked, room)
                .unwrap_or_else(|error| PartitionRead::failed(error.code())),
        }
    }

    /// The bytes that a test wants to be given.
    fn give(&self, partition: &Partition, records: &Bytes) -> PartitionRead {
        let mut read = PartitionRead::empty(partition, self.context.node);
        read.urgent = true;
        read.data.size = records.len();
        read.data.records = vec![records.clone()];
        read
    }

    fn read_log(
        &self,
        cluster: &Cluster,
        topic: &Topic,
        partition: &Partition,
        asked: &Asked,
        room: &Room,
    ) -> Result<PartitionRead, ResponseError> {
        let node = self.context.node;
        if !partition.is_hosted_by(node) {
            return Err(ResponseError::NotLeaderOrFollower);
        }
        if !asked.key.topic_id.is_nil() && asked.key.topic_id != topic.id {
            return Err(ResponseError::InconsistentTopicId);
        }
        let parameters = &asked.parameters;
        let leader_only = self.context.version < FOLLOWER_FETCHING;
        partition.check_access(node, parameters.current_leader_epoch, leader_only)?;

        let mut read = PartitionRead::empty(partition, node);
        let offset = parameters.fetch_offset;
        read.preferred_read_replica = self.preferred_read_replica(cluster, partition, offset);
        if read.preferred_read_replica.is_some() {
            read.urgent = true;
            return Ok(read);
        }
        read.diverging_epoch = diverging_epoch(partition, asked)?;
        if read.diverging_epoch.is_some() {
            read.urgent = true;
            return Ok(read);
        }
        let max_bytes = i64::from(parameters.max_bytes).min(room.bytes);
        let limits = ReadLimits {
            max_bytes: usize::try_from(max_bytes).unwrap_or(0),
            at_least_one: room.at_least_one,
            isolation: self.isolation,
            replica_end: partition.replica_end(node),
        };
        let log = &partition.log;
        let data = log.read(offset, limits);
        read.data = data.map_err(|_| ResponseError::OffsetOutOfRange)?;
        if max_bytes < 0 && offset < log.end_for(self.isolation, limits.replica_end) {
            // a negative limit is found out when there is something to read
            return Err(ResponseError::UnknownServerError);
        }
        read.position = log.position_of(offset);
        Ok(read)
    }

    /// An in-sync follower in the client's rack that has the offset (KIP-392); only the leader tells.
    fn preferred_read_replica(
        &self,
        cluster: &Cluster,
        partition: &Partition,
        offset: i64,
    ) -> Option<i32> {
        let node = self.context.node;
        let asked = cluster.settings.rack_aware && !self.rack.is_empty();
        if !asked || partition.leader != Some(node) {
            return None;
        }
        let is_near = |id: &i32| {
            let node = cluster.nodes.get(id);
            node.is_some_and(|node| node.alive && node.rack.as_ref() == Some(&self.rack))
        };
        if is_near(&node) {
            return None;
        }
        let log = &partition.log;
        let end = |id: i32| partition.replica_end(id).unwrap_or(log.log_end_offset());
        let near = partition.in_sync.iter().copied().filter(is_near);
        near.filter(|id| log.log_start_offset() <= offset && offset <= end(*id))
            .max_by_key(|id| (end(*id), *id))
    }
}

impl Asked {
    pub(super) fn find<'a>(&self, cluster: &'a Cluster) -> Option<(&'a Topic, &'a Partition)> {
        let topic = cluster.topics.get(self.key.topic.as_deref()?)?;
        Some((topic, topic.partition(self.key.partition)?))
    }
}

/// Where the log departs from what the client last fetched, if it does (KIP-595).
pub(super) fn diverging_epoch(
    partition: &Partition,
    asked: &Asked,
) -> Result<Option<EpochEndOffset>, ResponseError> {
    let parameters = &asked.parameters;
    if parameters.last_fetched_epoch == -1 {
        return Ok(None);
    }
    let log = &partition.log;
    let end = log.end_offset_for(parameters.last_fetched_epoch);
    let end = end.ok_or(ResponseError::OffsetOutOfRange)?;
    if parameters.fetch_offset < log.log_start_offset() {
        return Err(ResponseError::OffsetOutOfRange);
    }
    let diverges =
        end.epoch < parameters.last_fetched_epoch || end.end_offset < parameters.fetch_offset;
    Ok(diverges.then_some(end))
}
