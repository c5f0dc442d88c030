use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::ApiKey;

use super::plan::{CustomAnswer, Ending, ForcedError, Plan};
use super::{Action, Fault, FaultId};

/// The faults that were injected, in order.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: BTreeMap<FaultId, Armed>,
    next: u64,
}

#[derive(Debug)]
struct Armed {
    fault: Fault,
    hits: u64,
}

impl Armed {
    fn is_live(&self) -> bool {
        let times = self.fault.times;
        times.is_none_or(|times| self.hits < u64::from(times))
    }

    fn is_at(&self, node: i32, api: ApiKey) -> bool {
        self.fault.node.is_none_or(|own| own == node) && self.fault.api.is_none_or(|own| own == api)
    }

    fn concerns(&self, topic: &str, partition: i32) -> bool {
        self.fault.topic.as_deref().is_none_or(|own| own == topic)
            && self.fault.partition.is_none_or(|own| own == partition)
    }
}

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.armed.insert(id, Armed { fault, hits: 0 });
        id
    }

    pub(crate) fn remove(&mut self, id: FaultId) {
        self.armed.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.armed.clear();
    }

    pub(crate) fn hits(&self, id: FaultId) -> u64 {
        self.armed.get(&id).map_or(0, |armed| armed.hits)
    }

    /// What the faults make of a request. `concerns` says whether it concerns a topic, or one partition of it.
    pub(crate) fn plan(
        &mut self,
        node: i32,
        api: ApiKey,
        concerns: impl Fn(&str, Option<i32>) -> bool,
    ) -> Plan {
        let mut plan = Plan::default();
        for (id, armed) in &mut self.armed {
            if !armed.is_live() || !armed.is_at(node, api) {
                continue;
            }
            let fault = &armed.fault;
            if let Some(topic) = &fault.topic
                && !concerns(topic, fault.partition)
            {
                continue;
            }
            let moment = match fault.after_applying {
                true => &mut plan.after,
                false => &mut plan.before,
            };
            let answer = |bytes: &Bytes, framed| CustomAnswer {
                bytes: bytes.clone(),
                framed,
                after_applying: fault.after_applying,
            };
            match &fault.action {
                Action::Delay(delay) => moment.delay += *delay,
                Action::Silence => moment.ending = Some(Ending::Silence),
                Action::Close => moment.ending = Some(Ending::Close),
                Action::Throttle(time) => plan.throttle = plan.throttle.max(*time),
                Action::Body(body) => plan.answer = Some(answer(body, true)),
                Action::Raw(bytes) => plan.answer = Some(answer(bytes, false)),
                Action::Error(error) => plan.errors.push(ForcedError {
                    error: *error,
                    after_applying: fault.after_applying,
                    topic: fault.topic.clone(),
                    partition: fault.partition,
                }),
                // these count when there is something for them to hit
                Action::Truncate(_) | Action::Flip { .. } => {
                    plan.bytes.push(*id);
                    continue;
                }
                Action::Records(_) | Action::FlipRecords { .. } => continue,
            }
            armed.hits += 1;
        }
        plan
    }

    /// Records to be given for a partition in place of its own.
    pub(crate) fn records_for(&mut self, node: i32, topic: &str, partition: i32) -> Option<Bytes> {
        self.armed.values_mut().find_map(|armed| {
            let Action::Records(records) = &armed.fault.action else {
                return None;
            };
            let fits = armed.is_live()
                && armed.is_at(node, ApiKey::Fetch)
                && armed.concerns(topic, partition);
            let records = fits.then(|| records.clone())?;
            armed.hits += 1;
            Some(records)
        })
    }

    /// Flips bytes of a partition's records in a Fetch answer.
    pub(crate) fn flip_records(
        &mut self,
        node: i32,
        topic: &str,
        partition: i32,
        records: &mut Vec<Bytes>,
    ) {
        for armed in self.armed.values_mut() {
            let Action::FlipRecords { at, mask } = armed.fault.action else {
                continue;
            };
            let fits = armed.is_live()
                && armed.is_at(node, ApiKey::Fetch)
                && armed.concerns(topic, partition);
            if !fits || records.iter().map(Bytes::len).sum::<usize>() <= at {
                continue;
            }
            let mut joined = BytesMut::from(&records.concat()[..]);
            if let Some(byte) = joined.get_mut(at) {
                *byte ^= mask;
            }
            *records = vec![joined.freeze()];
            armed.hits += 1;
        }
    }

    /// Applies those of the plan's faults that touch the bytes of an answer. The bytes to send, and whether the
    /// connection is closed behind them.
    pub(crate) fn touch_bytes(
        &mut self,
        faults: &[FaultId],
        mut answer: BytesMut,
    ) -> (Bytes, bool) {
        let mut close = false;
        for id in faults {
            let Some(armed) = self.armed.get_mut(id).filter(|armed| armed.is_live()) else {
                continue;
            };
            match armed.fault.action {
                Action::Truncate(bytes) if bytes < answer.len() => {
                    answer.truncate(bytes);
                    close = true;
                }
                Action::Flip { at, mask } => match answer.get_mut(at) {
                    Some(byte) => *byte ^= mask,
                    None => continue,
                },
                _ => continue,
            }
            armed.hits += 1;
        }
        (answer.freeze(), close)
    }
}
