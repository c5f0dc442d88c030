//! What brokers answer where the epochs of a log end (KIP-320), and what they say of new leaders (KIP-951).

use std::time::Instant;

use session_actor::wire::{ErrorCode, WireError};
use session_actor::{ClusterSnapshot, NewLeader, PartitionLeader};

use super::super::lookups::{Asked, Asker};
use super::super::turns::Kind;
use super::super::view::lookup_error;
use super::{Effect, End, MetadataMachine};

impl MetadataMachine {
    /// A request for the ends of epochs ended. What was refused is asked again after a pause, perhaps of another leader.
    pub(in super::super) fn epochs(
        &mut self,
        now: Instant,
        asked: &[Asked],
        result: Result<Vec<End>, WireError>,
        effects: &mut Vec<Effect>,
    ) {
        let answers = match result {
            Ok(answers) => {
                self.reachable();
                self.failed_lookups = 0;
                answers
            }
            Err(error) => {
                self.lookups_failed(now, asked, error, effects);
                self.act(now, effects);
                return;
            }
        };
        let mut found = Vec::new();
        let missing = std::iter::repeat(Err(ErrorCode::UNKNOWN_SERVER_ERROR));
        for (asked, answer) in asked.iter().zip(answers.into_iter().chain(missing)) {
            let Asker::Position(id, epoch) = asked.asker else {
                continue;
            };
            match answer {
                Ok(answer) if self.lookups.finish(asked) => found.push((id, epoch, answer)),
                Ok(_) => {}
                Err(code) => {
                    let counts = self.lookups.retry(now, asked);
                    self.turns.want(Kind::Names);
                    if counts && let Some(error) = lookup_error(&asked.name, code) {
                        effects.push(Effect::Report(asked.name.clone(), error));
                    }
                }
            }
        }
        if !found.is_empty() {
            effects.push(Effect::EpochsEnd(found));
        }
        self.act(now, effects);
    }

    /// A broker that leads partitions no more said who does (KIP-951). It counts if the leadership is newer than what is known, and it is
    /// known where the node listens.
    pub(in super::super) fn leaders_told(
        &mut self,
        now: Instant,
        told: Vec<NewLeader>,
        effects: &mut Vec<Effect>,
    ) {
        let mut next = ClusterSnapshot::clone(&self.snapshot);
        for leader in told {
            let Some(name) = self.assigned.get(&leader.partition) else {
                continue;
            };
            let Ok(index) = usize::try_from(name.partition()) else {
                continue;
            };
            let topic = next.topics.get_mut(name.topic());
            let Some(known) = topic.and_then(|topic| topic.partitions.get_mut(index)) else {
                continue;
            };
            let listens = leader.address.is_some() || next.brokers.contains_key(&leader.node);
            if !listens || leader.epoch <= known.epoch {
                continue;
            }
            *known = PartitionLeader {
                node: Some(leader.node),
                epoch: leader.epoch,
            };
            if let Some(address) = leader.address {
                next.brokers.insert(leader.node, address);
            }
        }
        self.publish(next, effects);
        self.act(now, effects);
    }
}
