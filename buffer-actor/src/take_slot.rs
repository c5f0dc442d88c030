//! Where the reader leaves a take that need not wake the buffer.
//!
//! A reader that comes back for more finds the buffer empty wherever a broker has no backlog for it, and its take then changes
//! nothing but that somebody waits. To wake the connections' thread for that is half of what a small fetch costs. So while the
//! buffer knows that nothing but an event of its own can bring something, the take is left here, and is the first that it
//! looks at when such an event comes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::messages::Take;

/// For so long after it was given something, a reader is expected back. Once, when it has passed, the buffer looks whether one waits whose
/// deadline it must keep.
const RETURN: Duration = Duration::from_millis(20);

/// One reader and one buffer share it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct TakeSlot(Arc<Mutex<Slot>>);

#[derive(Debug, Default)]
struct Slot {
    /// When the buffer looks here at the latest. `None`: it must be sent a message.
    looks_by: Option<Instant>,
    left: Option<Take>,
}

impl TakeSlot {
    /// Reader: leaves a take of a reader that has nothing in hand and awaits no other answer, which is answered as one that is sent. Returns it
    /// if it must be sent.
    pub fn leave(&self, take: Take) -> Option<Take> {
        let mut slot = self.lock();
        let looks = slot.looks_by.zip(take.request.until);
        if looks.is_none_or(|(by, until)| until < by) {
            return Some(take);
        }
        slot.looks_by = None;
        slot.left = Some(take);
        None
    }

    /// Buffer: begins an event, before which the take that was left counts as come. Until the next [`open`](Self::open) none is left.
    pub(crate) fn collect(&self) -> Option<Take> {
        let mut slot = self.lock();
        slot.looks_by = None;
        slot.left.take()
    }

    /// Buffer: a take that comes before the next event would only wait, and there will be an event by then.
    pub(crate) fn open(&self, looks_by: Option<Instant>) {
        self.lock().looks_by = looks_by;
    }

    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Until when the reader is expected back.
#[derive(Debug, Default)]
pub(crate) struct ExpectedReader(Option<Instant>);

impl ExpectedReader {
    /// It was given something.
    pub(crate) fn answered(&mut self, now: Instant) {
        self.0.get_or_insert(now + RETURN);
    }

    /// When to look whether it came back; `None` if it is not expected.
    pub(crate) const fn poll_timeout(&self) -> Option<Instant> {
        self.0
    }

    /// Time has passed.
    pub(crate) fn timeout(&mut self, now: Instant) {
        self.0.take_if(|by| *by <= now);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;
    use crate::ids::TakeId;
    use crate::model::TakeRequest;

    fn now() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn take(until: Option<Instant>) -> Take {
        Take {
            request: TakeRequest {
                id: TakeId(0),
                received: 0,
                holding: Vec::new(),
                returned: Vec::new(),
                until,
            },
            reply: oneshot::channel().0,
        }
    }

    #[test]
    fn a_take_is_left_only_where_the_buffer_looks_in_time() {
        let (slot, by) = (TakeSlot::default(), now());
        let (before, after) = (by - Duration::from_millis(1), by + Duration::from_millis(1));
        // when the buffer looks, until when the take waits -> it is left
        let table = [
            (None, Some(after), false),
            (Some(by), Some(after), true),
            (Some(by), Some(by), true),
            (Some(by), Some(before), false),
            (Some(by), None, false),
        ];
        for (looks_by, until, is_left) in table {
            slot.open(looks_by);
            assert_eq!(slot.leave(take(until)).is_none(), is_left);
            assert_eq!(slot.collect().is_some(), is_left);
        }
    }

    #[test]
    fn one_take_is_left_and_none_while_the_buffer_is_at_work() {
        let (slot, by) = (TakeSlot::default(), now());
        slot.open(Some(by));
        assert!(slot.leave(take(Some(by))).is_none());
        assert!(slot.leave(take(Some(by))).is_some());
        assert!(slot.collect().is_some());
        assert!(slot.leave(take(Some(by))).is_some());
        assert!(slot.collect().is_none());
    }

    #[test]
    fn the_reader_is_expected_from_its_first_answer_on_and_no_longer() {
        let (mut expected, begin) = (ExpectedReader::default(), now());
        assert_eq!(expected.poll_timeout(), None);
        expected.answered(begin);
        expected.answered(begin + RETURN / 2);
        assert_eq!(expected.poll_timeout(), Some(begin + RETURN));
        expected.timeout(begin + RETURN / 2);
        assert_eq!(expected.poll_timeout(), Some(begin + RETURN));
        expected.timeout(begin + RETURN);
        assert_eq!(expected.poll_timeout(), None);
    }
}
