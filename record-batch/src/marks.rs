use crate::RecordCursor;

/// How many places of a batch are kept.
const PLACES: usize = 8;
/// A walk over fewer records than this is cheap.
const LEAST_STRIDE: u32 = 32;

/// Where every so manieth record of a batch begins. A poll ends in the midst of a batch nearly always (`max.poll.records` is no multiple
/// of what producers send): the place where the next one goes on is found from the nearest mark, not by a walk over all that was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Records from one mark to the next.
    stride: u32,
    places: [u32; PLACES],
}

impl Marks {
    /// Only the beginning.
    pub(crate) const NONE: Self = Self {
        stride: u32::MAX,
        places: [0; PLACES],
    };

    /// For a batch of `count` records. Each place is to be [set](Self::set) when the walk comes there.
    pub(crate) fn new(count: u32) -> Self {
        Self {
            stride: count.div_ceil(PLACES as u32).max(LEAST_STRIDE),
            ..Self::NONE
        }
    }

    pub(crate) fn stride(&self) -> u32 {
        self.stride
    }

    /// The record `index`, which has a mark, begins at byte `at`.
    pub(crate) fn set(&mut self, index: u32, at: usize) {
        if let Some(place) = self.places.get_mut((index / self.stride) as usize) {
            // a batch has at most u32::MAX bytes, Decoder sees to it
            *place = at as u32;
        }
    }

    /// The last mark that is not behind the record `index`.
    pub(crate) fn before(&self, index: u32) -> RecordCursor {
        let slot = index / self.stride;
        match self.places.get(slot as usize) {
            Some(at) => RecordCursor::new(*at, slot * self.stride),
            None => RecordCursor::default(),
        }
    }
}
