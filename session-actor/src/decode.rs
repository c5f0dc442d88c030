//! From the bytes of a Fetch response to an [`Answer`] that the machine can judge. A look at batch headers, no more.

use std::time::Duration;

use buffer_actor::{EpochEnd, Fetched, FetchedRecords, Flaw, NodeId, PartitionId};
use bytes::Bytes;
use record_batch::AbortedTransaction;

use crate::cluster::NewLeader;
use crate::fetch_session::FetchSession;
use crate::machine::{Answer, AnswerPartition};
use crate::wire::fetch::{FetchDecoder, FetchResponse, Partition};
use crate::wire::{Address, ErrorCode, Malformed};

/// More partitions than were asked for can only come from a broken peer; a few more are tolerated and rejected one by one.
const SLACK: usize = 16;

/// Decodes a response whose correlation id was taken off. Records stay slices of `body`.
pub(crate) fn decode(
    decoder: &mut FetchDecoder,
    version: i16,
    body: &Bytes,
    session: &FetchSession,
) -> Result<Answer<FetchedRecords>, Malformed> {
    let response = decoder.decode(version, body, session.len() + SLACK)?;
    let mut partitions = Vec::with_capacity(response.partition_count());
    let mut leaders = Vec::new();
    for topic in response.topics() {
        let known = session.topic(topic.key());
        for part in topic.partitions() {
            let partition = known.and_then(|known| known.get(&part.partition)).copied();
            let asked_for = partition.and_then(|partition| session.asked_offset(partition));
            leaders.extend(partition.and_then(|partition| new_leader(response, &part, partition)));
            partitions.push(AnswerPartition {
                partition,
                error_code: part.error_code.0,
                high_watermark: part.high_watermark,
                last_stable_offset: part.last_stable_offset,
                log_start_offset: part.log_start_offset,
                preferred_replica: part.preferred_read_replica.map(NodeId),
                diverging: part.diverging_epoch.map(|end| EpochEnd {
                    leader_epoch: end.epoch,
                    offset: end.end_offset,
                }),
                fetched: asked_for.and_then(|offset| fetched(&part, offset)),
            });
        }
    }
    Ok(Answer {
        error_code: response.error_code.0,
        session_id: response.session_id,
        throttle: Duration::from_millis(u64::try_from(response.throttle_time_ms).unwrap_or(0)),
        partitions,
        leaders,
    })
}

/// Who leads a partition that the broker refuses, and where that node listens, as far as it says so (KIP-951).
fn new_leader(
    response: FetchResponse<'_>,
    part: &Partition<'_>,
    partition: PartitionId,
) -> Option<NewLeader> {
    let refusals = [
        ErrorCode::NOT_LEADER_OR_FOLLOWER,
        ErrorCode::FENCED_LEADER_EPOCH,
    ];
    let leader = part
        .current_leader
        .filter(|_| refusals.contains(&part.error_code))?;
    let mut endpoints = response.node_endpoints();
    let endpoint = endpoints.find(|endpoint| endpoint.node_id == leader.leader_id);
    let address = endpoint.and_then(|endpoint| {
        let port = u16::try_from(endpoint.port).ok()?;
        Some(Address::new(endpoint.host, port))
    });
    Some(NewLeader {
        partition,
        node: NodeId(leader.leader_id),
        epoch: leader.leader_epoch,
        address,
    })
}

fn fetched(part: &Partition<'_>, offset: i64) -> Option<Fetched<FetchedRecords>> {
    if part.records_len() == 0 {
        return None;
    }
    let bytes = part.records();
    let scan = record_batch::scan(&bytes, offset);
    let flaw = if scan.corrupt.is_some() {
        Flaw::Corrupt
    } else if scan.entries == 0 {
        let claimed = scan.tail.and_then(|tail| tail.needed);
        Flaw::NoWholeBatch {
            needed: claimed.unwrap_or(0) as u64,
        }
    } else {
        Flaw::None
    };
    let aborted = part
        .aborted_transactions()
        .map(|aborted| AbortedTransaction {
            producer_id: aborted.producer_id,
            first_offset: aborted.first_offset,
        })
        .collect();
    Some(Fetched {
        bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        next_offset: scan.next_offset,
        leader_epoch: scan.last_leader_epoch,
        largest_batch: u32::try_from(scan.largest_entry).unwrap_or(u32::MAX),
        flaw,
        data: FetchedRecords {
            bytes,
            aborted,
            claim: None,
        },
    })
}
