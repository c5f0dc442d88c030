use kafka_protocol::ResponseError;

use super::encode::{CurrentLeader, FetchAnswer, Named};
use super::read::PartitionRead;
use super::{Asked, Fetch, LEADER_HINTS, Standing};
use crate::cluster::Cluster;
use crate::session_cache::Outcome;
use crate::wire::Payload;

impl Fetch {
    /// Makes the answer of what was read: which partitions are named, and what the session remembers.
    pub(super) fn answer(self, cluster: &mut Cluster, reads: Vec<PartitionRead>) -> Payload {
        // what could not be read at all comes last, ids of no topic before topics and partitions that there are not
        let mut all: Vec<(&Asked, PartitionRead)> = self.partitions.iter().zip(reads).collect();
        all.sort_by_key(|(asked, _)| match asked.standing {
            Standing::Failed(_) if asked.key.topic.is_some() => 2,
            Standing::Failed(_) => 1,
            _ => 0,
        });

        let throttled = self.context.throttle_ms > 0;
        let Some(node) = cluster.nodes.get_mut(&self.context.node) else {
            return super::encode::error_frame(&self.context, 0);
        };
        let session = if throttled {
            node.sessions.answer_throttled(&self.session)
        } else {
            let outcomes: Vec<Outcome> = all
                .iter()
                .map(|(asked, read)| read.outcome(asked))
                .collect();
            node.sessions
                .answer(&self.session, &outcomes, self.context.now)
        };
        let named = all
            .into_iter()
            .zip(session.named)
            .filter_map(|(partition, named)| named.then_some(partition));
        let mut answer = FetchAnswer {
            error: session.error.map_or(0, |error| error.code()),
            session_id: session.session_id,
            partitions: Vec::new(),
            endpoints: Vec::new(),
        };
        for (asked, read) in named {
            let named = self.name(cluster, &mut answer, asked, read);
            answer.partitions.push(named);
        }
        self.count(cluster, &answer);
        answer.into_frame(&self.context)
    }

    fn name(
        &self,
        cluster: &mut Cluster,
        answer: &mut FetchAnswer,
        asked: &Asked,
        mut read: PartitionRead,
    ) -> Named {
        let node = self.context.node;
        let topic = asked.key.topic.clone().unwrap_or_default();
        if !read.data.records.is_empty() {
            let records = &mut read.data.records;
            cluster
                .faults
                .flip_records(node, &topic, asked.key.partition, records);
        }
        let current_leader = self.current_leader(cluster, asked, read.error);
        let leader = current_leader.and_then(|leader| cluster.nodes.get(&leader.id));
        if let Some(leader) = leader.filter(|leader| leader.alive) {
            answer.add_endpoint(leader);
        }
        Named {
            topic,
            topic_id: asked.key.topic_id,
            partition: asked.key.partition,
            read,
            current_leader,
        }
    }

    /// Who leads, where this node does not (KIP-951).
    fn current_leader(
        &self,
        cluster: &Cluster,
        asked: &Asked,
        error: i16,
    ) -> Option<CurrentLeader> {
        let moved = [
            ResponseError::NotLeaderOrFollower.code(),
            ResponseError::FencedLeaderEpoch.code(),
        ];
        if self.context.version < LEADER_HINTS || !moved.contains(&error) {
            return None;
        }
        let (_, partition) = asked.find(cluster)?;
        Some(CurrentLeader {
            id: partition.leader.unwrap_or(-1),
            epoch: partition.leader_epoch,
        })
    }

    fn count(&self, cluster: &mut Cluster, answer: &FetchAnswer) {
        let bytes: usize = answer
            .partitions
            .iter()
            .map(|named| named.read.data.size)
            .sum();
        let node = cluster.nodes.get_mut(&self.context.node);
        if let Some(node) = node.filter(|_| bytes > 0) {
            node.counters.fetches_with_records += 1;
            node.counters.record_bytes_sent += bytes as u64;
        }
    }
}

impl PartitionRead {
    fn outcome(&self, asked: &Asked) -> Outcome {
        Outcome {
            key: asked.key.clone(),
            has_records: self.data.size > 0,
            high_watermark: self.high_watermark,
            log_start_offset: self.log_start_offset,
            error: self.error != 0,
            hint: self.preferred_read_replica.is_some() || self.diverging_epoch.is_some(),
        }
    }
}
