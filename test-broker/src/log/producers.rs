use std::collections::{BTreeMap, HashMap, VecDeque};

use kafka_protocol::ResponseError;
use record_batch::BatchHeader;

/// Batches per producer that are remembered to tell a repeated one: the most requests that an idempotent producer has
/// in flight.
const REMEMBERED: usize = 5;

/// What was appended for idempotent and transactional producers (KIP-98).
#[derive(Debug, Default)]
pub(super) struct Producers {
    states: HashMap<i64, ProducerState>,
    /// First offsets of open transactions, and whose they are.
    open: BTreeMap<i64, i64>,
    /// First offset and marker of transactions whose marker may lie behind the high watermark.
    ended: BTreeMap<i64, i64>,
}

#[derive(Debug)]
struct ProducerState {
    epoch: i16,
    recent: VecDeque<Sequences>,
    open_since: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sequences {
    first: i32,
    last: i32,
    pub(super) base_offset: i64,
    pub(super) max_timestamp: i64,
}

/// A transaction that a marker ended.
pub(super) struct EndedTransaction {
    pub(super) first_offset: i64,
    /// The last stable offset, were there no high watermark.
    pub(super) last_stable_offset: i64,
}

/// Sequence numbers go from 0 to 2^31 - 1 and from there to 0.
fn last_sequence(header: &BatchHeader) -> i32 {
    let last = i64::from(header.base_sequence()) + i64::from(header.last_offset_delta());
    (last & i64::from(i32::MAX)) as i32
}

impl Producers {
    /// Checks the sequence numbers of a produced batch. `Some` if it was appended already.
    pub(super) fn check(&self, header: &BatchHeader) -> Result<Option<Sequences>, ResponseError> {
        let Some(state) = header.producer_id().and_then(|id| self.states.get(&id)) else {
            // nothing is known of the producer, as after its records were deleted: any sequence will do
            return Ok(None);
        };
        let (first, last) = (header.base_sequence(), last_sequence(header));
        if header.producer_epoch() == state.epoch {
            let repeated = |known: &&Sequences| known.first == first && known.last == last;
            if let Some(known) = state.recent.iter().find(repeated) {
                return Ok(Some(*known));
            }
        }
        if header.producer_epoch() < state.epoch {
            return Err(ResponseError::InvalidProducerEpoch);
        }
        let expected = match state.recent.back() {
            Some(known) if header.producer_epoch() == state.epoch => {
                known.last.checked_add(1).unwrap_or(0)
            }
            _ => 0,
        };
        if first == expected {
            Ok(None)
        } else {
            Err(ResponseError::OutOfOrderSequenceNumber)
        }
    }

    /// Notes a batch of data that was appended.
    pub(super) fn data(&mut self, header: &BatchHeader) {
        let Some(producer) = header.producer_id() else {
            return;
        };
        let state = self.state(producer, header.producer_epoch());
        if header.base_sequence() >= 0 {
            if state.recent.len() == REMEMBERED {
                state.recent.pop_front();
            }
            state.recent.push_back(Sequences {
                first: header.base_sequence(),
                last: last_sequence(header),
                base_offset: header.base_offset(),
                max_timestamp: header.max_timestamp(),
            });
        }
        if header.is_transactional() && state.open_since.is_none() {
            state.open_since = Some(header.base_offset());
            self.open.insert(header.base_offset(), producer);
        }
    }

    /// Notes the marker that ends a transaction; `None` if the producer had none open.
    pub(super) fn marker(&mut self, header: &BatchHeader) -> Option<EndedTransaction> {
        let state = self.state(header.producer_id()?, header.producer_epoch());
        let first_offset = state.open_since.take()?;
        self.open.remove(&first_offset);
        self.ended.insert(first_offset, header.last_offset());
        let next_open = self.open.keys().next().copied();
        Some(EndedTransaction {
            first_offset,
            last_stable_offset: next_open.unwrap_or(header.next_offset()),
        })
    }

    fn state(&mut self, producer: i64, epoch: i16) -> &mut ProducerState {
        let state = self.states.entry(producer).or_insert(ProducerState {
            epoch,
            recent: VecDeque::new(),
            open_since: None,
        });
        if state.epoch != epoch {
            state.epoch = epoch;
            state.recent.clear();
        }
        state
    }

    /// First offset of the earliest transaction that is open, or whose marker is not below the high watermark.
    pub(super) fn first_unstable_offset(&self, high_watermark: i64) -> Option<i64> {
        let open = self.open.keys().next();
        let mut ended = self.ended.iter();
        let ended = ended.find_map(|(first, marker)| (*marker >= high_watermark).then_some(first));
        open.into_iter().chain(ended).min().copied()
    }

    /// Forgets ended transactions whose markers are below the high watermark.
    pub(super) fn settle(&mut self, high_watermark: i64) {
        self.ended.retain(|_, marker| *marker >= high_watermark);
    }

    /// Forgets transactions of records that were deleted.
    pub(super) fn start_at(&mut self, log_start: i64) {
        self.open.retain(|first, _| *first >= log_start);
        self.ended.retain(|first, _| *first >= log_start);
    }
}
