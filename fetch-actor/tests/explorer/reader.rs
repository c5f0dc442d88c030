//! The application and its handle: polls, takes leases, gives out records one after the other, and holds what it is given
//! against what it must be given (I6).
//!
//! The handle is that of `consumer-app`: it looks at the change word at the beginning of a poll and after every answer, waits
//! for what is under way before it acts on a change, and leaves its takes behind when the poll is dropped.

use std::collections::VecDeque;

use buffer_actor::{Completed, FetchEpoch, Item, PartitionId};

use crate::broker::PARTITIONS;
use crate::data::Data;

/// What the shared table tells of an assigned partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) id: PartitionId,
    /// Records of an older epoch are void.
    pub(crate) data_epoch: FetchEpoch,
    /// The next offset that the application must be given; `None` while it is looked up.
    pub(crate) given: Option<i64>,
    pub(crate) paused: bool,
}

/// The shared table and the change word.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Table {
    pub(crate) entries: [Option<Entry>; PARTITIONS],
    /// Under which id each was last assigned before.
    pub(crate) retired: [Option<PartitionId>; PARTITIONS],
    pub(crate) word: u64,
}

impl Table {
    pub(crate) fn entry(&self, id: PartitionId) -> Option<&Entry> {
        self.entries.iter().flatten().find(|entry| entry.id == id)
    }

    pub(crate) fn entry_mut(&mut self, id: PartitionId) -> Option<&mut Entry> {
        self.entries
            .iter_mut()
            .flatten()
            .find(|entry| entry.id == id)
    }

    fn is_valid(&self, completed: &Completed<Data>) -> bool {
        self.entry(completed.partition)
            .is_some_and(|entry| completed.epoch >= entry.data_epoch)
    }
}

/// A poll that has not returned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Poll {
    /// What the table said when it began.
    began: [Option<Entry>; PARTITIONS],
    retired: [Option<PartitionId>; PARTITIONS],
    /// Resumed since.
    pub(crate) resumed: [bool; PARTITIONS],
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    Begin,
    /// The word had moved to this: everything under way is waited for first.
    Look(u64),
    /// What was void is dropped, what is paused went back with a take that is answered at once.
    Looked,
    /// Nothing to give: the next answer is waited for.
    Wait,
}

/// A take that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Awaited {
    take: u64,
    /// The buffer may wait for something to come.
    waits: bool,
    answer: Option<Vec<Item<Data>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    pub(crate) poll: Option<Poll>,
    /// Oldest first. A poll that is dropped leaves them here.
    awaited: VecDeque<Awaited>,
    lease: VecDeque<Completed<Data>>,
    /// The change word when it was last acted upon.
    seen: u64,
    takes: u64,
    /// Answers received so far.
    received: u64,
    /// Records that the application keeps beyond their lease.
    pub(crate) kept: Vec<Data>,
}

/// What the handle sends.
pub(crate) struct Take {
    pub(crate) id: u64,
    pub(crate) received: u64,
    pub(crate) holding: Vec<PartitionId>,
    pub(crate) returned: Vec<Completed<Data>>,
    pub(crate) waits: bool,
}

impl Reader {
    /// One that has sent `takes` takes.
    pub(crate) const fn new(takes: u64) -> Self {
        Self {
            poll: None,
            awaited: VecDeque::new(),
            lease: VecDeque::new(),
            seen: 0,
            takes,
            received: 0,
            kept: Vec::new(),
        }
    }

    pub(crate) const fn begin(&mut self, table: &Table) {
        self.poll = Some(Poll {
            began: table.entries,
            retired: table.retired,
            resumed: [false; PARTITIONS],
            stage: Stage::Begin,
        });
    }

    /// An answer came. Returns whether it was awaited.
    pub(crate) fn answered(&mut self, take: u64, items: Vec<Item<Data>>) -> bool {
        let awaited = self
            .awaited
            .iter_mut()
            .find(|awaited| awaited.take == take && awaited.answer.is_none());
        awaited
            .map(|awaited| awaited.answer = Some(items))
            .is_some()
    }

    /// The poll can go on.
    pub(crate) fn may_go_on(&self) -> bool {
        let answered = |awaited: &Awaited| awaited.answer.is_some();
        self.poll.is_some() && self.awaited.front().is_some_and(answered)
    }

    /// The poll waits for the buffer to have something.
    pub(crate) fn is_waiting(&self) -> bool {
        let waits = |awaited: &Awaited| awaited.waits && awaited.answer.is_none();
        self.poll.is_some() && self.awaited.iter().any(waits)
    }

    /// Goes on with the poll as far as it gets. Returns how many records it returned with, or `None` if it waits.
    pub(crate) fn run(
        &mut self,
        table: &mut Table,
        max_records: u32,
        keeps: bool,
        takes: &mut Vec<Take>,
    ) -> Result<Option<u32>, String> {
        while let Some(poll) = &self.poll {
            match poll.stage {
                Stage::Begin => {
                    while self.receive() {}
                    if table.word == self.seen {
                        if let Some(count) = self.give(table, max_records, keeps)? {
                            return Ok(Some(count));
                        }
                        self.wait(takes);
                    } else {
                        self.stage(Stage::Look(table.word));
                        if self.awaited.back().is_some_and(|awaited| awaited.waits) {
                            self.ask(Vec::new(), false, takes);
                        }
                    }
                }
                Stage::Look(word) => {
                    while self.receive() {}
                    if !self.awaited.is_empty() {
                        break;
                    }
                    let returned = self.sort_out(table);
                    self.seen = word;
                    self.ask(returned, false, takes);
                    self.stage(Stage::Looked);
                }
                Stage::Looked => {
                    while self.receive() {}
                    if !self.awaited.is_empty() {
                        break;
                    }
                    if let Some(count) = self.give(table, max_records, keeps)? {
                        return Ok(Some(count));
                    }
                    self.wait(takes);
                }
                Stage::Wait => {
                    if !self.receive() {
                        break;
                    }
                    self.stage(Stage::Begin);
                }
            }
        }
        Ok(None)
    }

    const fn stage(&mut self, stage: Stage) {
        if let Some(poll) = &mut self.poll {
            poll.stage = stage;
        }
    }

    /// Takes over the oldest answer that was awaited, if it is there.
    fn receive(&mut self) -> bool {
        let Some(items) = self
            .awaited
            .front_mut()
            .and_then(|awaited| awaited.answer.take())
        else {
            return false;
        };
        self.awaited.pop_front();
        self.received += 1;
        for item in items.into_iter().rev() {
            if let Item::Data(completed) = item {
                self.lease.push_front(completed);
            }
        }
        true
    }

    /// Drops what is void and takes out what is paused.
    fn sort_out(&mut self, table: &Table) -> Vec<Completed<Data>> {
        let mut returned = Vec::new();
        for completed in std::mem::take(&mut self.lease) {
            match table.entry(completed.partition) {
                Some(entry) if table.is_valid(&completed) => {
                    if entry.paused {
                        returned.push(completed);
                    } else {
                        self.lease.push_back(completed);
                    }
                }
                _ => drop(completed),
            }
        }
        returned
    }

    fn wait(&mut self, takes: &mut Vec<Take>) {
        if self.awaited.is_empty() {
            self.ask(Vec::new(), true, takes);
        }
        self.stage(Stage::Wait);
    }

    fn ask(&mut self, returned: Vec<Completed<Data>>, waits: bool, takes: &mut Vec<Take>) {
        self.takes += 1;
        self.awaited.push_back(Awaited {
            take: self.takes,
            waits,
            answer: None,
        });
        takes.push(Take {
            id: self.takes,
            received: self.received,
            holding: self.lease.iter().map(|part| part.partition).collect(),
            returned,
            waits,
        });
    }

    /// Ends the poll with what can be given; `None` if that is nothing.
    fn give(
        &mut self,
        table: &mut Table,
        max_records: u32,
        keeps: bool,
    ) -> Result<Option<u32>, String> {
        let Some(poll) = &self.poll else {
            return Ok(None);
        };
        let mut count = 0;
        while count < max_records
            && let Some(mut completed) = self.lease.pop_front()
        {
            while count < max_records && completed.from < completed.next {
                check(poll, &completed, table)?;
                completed.from += 1;
                count += 1;
            }
            if completed.from < completed.next {
                self.lease.push_back(completed);
            } else if keeps {
                self.kept.push(completed.data);
            }
        }
        if count == 0 {
            return Ok(None);
        }
        self.poll = None;
        Ok(Some(count))
    }

    /// Records that the reader has of a partition, bytes.
    pub(crate) fn bytes_of(&self, partition: usize) -> u64 {
        let answered = self
            .awaited
            .iter()
            .flat_map(|awaited| awaited.answer.iter().flatten())
            .filter_map(|item| match item {
                Item::Data(completed) => Some(&completed.data),
                Item::Error(_) => None,
            });
        self.lease
            .iter()
            .map(|completed| &completed.data)
            .chain(&self.kept)
            .chain(answered)
            .filter(|data| data.partition == partition)
            .map(|data| u64::from(data.bytes))
            .sum()
    }
}

/// Whether the record may be given out now.
fn check(poll: &Poll, completed: &Completed<Data>, table: &mut Table) -> Result<(), String> {
    let data = &completed.data;
    let p = data.partition;
    let offset = completed.from;
    if completed.epoch != data.epoch {
        return Err(format!(
            "I3: records of partition {p} that were asked for under {:?} are used under {:?}",
            data.epoch, completed.epoch
        ));
    }
    if offset < data.first || offset < data.asked || completed.next != data.next {
        return Err(format!(
            "I3: records {}..{} of partition {p}, asked for at {}, are used as {offset}..{}",
            data.first, data.next, data.asked, completed.next
        ));
    }
    let valid =
        |entry: &Entry| entry.id == completed.partition && completed.epoch >= entry.data_epoch;
    let was_void = match &poll.began[p] {
        Some(entry) if entry.id == completed.partition => completed.epoch < entry.data_epoch,
        // assigned meanwhile, unless it is the one from before
        _ => poll.retired[p] == Some(completed.partition),
    };
    if was_void {
        return Err(format!(
            "I6: a poll gives record {offset} of partition {p} that was void when it began"
        ));
    }
    let Some(entry) = table.entries[p].as_mut().filter(|entry| valid(entry)) else {
        // it became void while this poll was under way, and moves no position
        return Ok(());
    };
    let was_paused = poll.began[p].is_some_and(|began| began.id == entry.id && began.paused);
    if was_paused && entry.paused && !poll.resumed[p] {
        return Err(format!(
            "I6: a poll gives record {offset} of partition {p}, which was paused when it began"
        ));
    }
    match entry.given {
        Some(expected) if expected != offset => Err(format!(
            "I6: a poll gives record {offset} of partition {p} where {expected} is the next"
        )),
        _ => {
            entry.given = Some(offset + 1);
            Ok(())
        }
    }
}
