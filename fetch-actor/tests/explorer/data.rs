//! Records that say when they are gone, as the slices of a reply do.
//!
//! A reply's memory comes back when the last of its partitions' records is dropped, wherever that happens: in a queue, in a
//! lease, in a message. Drops count only inside [`recorded`]: a state that the search gives up drops nothing.

use std::cell::RefCell;

use buffer_actor::FetchEpoch;

/// The records of one partition of one reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Data {
    pub(crate) partition: usize,
    /// Which reply they share memory with.
    pub(crate) reply: u64,
    pub(crate) bytes: u32,
    /// Under which epoch and at which offset they were asked for.
    pub(crate) epoch: FetchEpoch,
    pub(crate) asked: i64,
    /// The offsets that there are: from here
    pub(crate) first: i64,
    /// to before here.
    pub(crate) next: i64,
}

/// Records that were dropped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dropped {
    pub(crate) partition: usize,
    pub(crate) reply: u64,
    pub(crate) bytes: u32,
}

thread_local! {
    static DROPPED: RefCell<Option<Vec<Dropped>>> = const { RefCell::new(None) };
}

impl Drop for Data {
    fn drop(&mut self) {
        DROPPED.with_borrow_mut(|dropped| {
            if let Some(dropped) = dropped {
                dropped.push(Dropped {
                    partition: self.partition,
                    reply: self.reply,
                    bytes: self.bytes,
                });
            }
        });
    }
}

/// Turns recording on or off. What was recorded and not collected is forgotten.
pub(crate) fn record(on: bool) {
    DROPPED.set(on.then(Vec::new));
}

/// What was dropped since the last call.
pub(crate) fn collect() -> Vec<Dropped> {
    DROPPED.with_borrow_mut(|dropped| dropped.as_mut().map(std::mem::take).unwrap_or_default())
}

/// What memory a reply holds, and how many partitions' records keep it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Held {
    pub(crate) reply: u64,
    pub(crate) parts: u32,
    pub(crate) bytes: u64,
}
