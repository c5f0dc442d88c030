//! The application and its handle: polls, takes leases, gives out records one after the other, and holds what it is given
//! against what it must be given (I6).

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
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Table {
    pub(crate) entries: [Option<Entry>; PARTITIONS],
    /// The word moved since the reader last looked.
    pub(crate) moved: bool,
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
}

/// A poll that has not returned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Poll {
    /// What the table said when it began.
    began: [Option<Entry>; PARTITIONS],
    /// Resumed since.
    pub(crate) resumed: [bool; PARTITIONS],
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct Reader {
    pub(crate) poll: Option<Poll>,
    /// The word had moved: it must ask before it gives out another record.
    must_ask: bool,
    lease: VecDeque<Completed<Data>>,
    /// Unread data of paused partitions, for the next take.
    returned: Vec<Completed<Data>>,
    /// A take was sent and not answered.
    pub(crate) outstanding: bool,
    /// Its answer, which no poll has looked at.
    pub(crate) answer: Option<Vec<Item<Data>>>,
    /// Records that the application keeps beyond their lease.
    pub(crate) kept: Vec<Data>,
}

/// What the handle sends.
pub(crate) struct Asked {
    pub(crate) holding: Vec<PartitionId>,
    pub(crate) returned: Vec<Completed<Data>>,
    /// Whether the buffer may wait for something to come.
    pub(crate) waits: bool,
}

/// How far the handle got.
pub(crate) enum Progress {
    Ask(Asked),
    /// A take is out and its answer is needed first.
    Wait,
    /// The poll returned so many records.
    Returned(u32),
}

impl Reader {
    /// A poll begins.
    pub(crate) fn begin(&mut self, table: &mut Table) {
        self.receive();
        let poll = Poll {
            began: table.entries,
            resumed: [false; PARTITIONS],
        };
        if std::mem::take(&mut table.moved) {
            self.must_ask = true;
            let lease = std::mem::take(&mut self.lease);
            for completed in lease {
                match table.entry(completed.partition) {
                    Some(entry) if completed.epoch >= entry.data_epoch => {
                        if entry.paused {
                            self.returned.push(completed);
                        } else {
                            self.lease.push_back(completed);
                        }
                    }
                    _ => drop(completed),
                }
            }
        }
        self.poll = Some(poll);
    }

    /// Takes the answer over, if it is there.
    pub(crate) fn receive(&mut self) {
        for item in self.answer.take().into_iter().flatten() {
            if let Item::Data(completed) = item {
                self.lease.push_back(completed);
            }
        }
    }

    /// Goes on with the poll as far as it gets. `asked`: a take was answered in this poll.
    pub(crate) fn go_on(
        &mut self,
        table: &mut Table,
        asked: bool,
        max_records: u32,
        keeps: bool,
    ) -> Result<Progress, String> {
        let Some(poll) = &self.poll else {
            return Ok(Progress::Wait);
        };
        if self.outstanding {
            return Ok(Progress::Wait);
        }
        let must_ask = std::mem::take(&mut self.must_ask);
        if must_ask || (self.lease.is_empty() && !asked) {
            return Ok(Progress::Ask(Asked {
                holding: self
                    .lease
                    .iter()
                    .map(|completed| completed.partition)
                    .collect(),
                returned: std::mem::take(&mut self.returned),
                waits: self.lease.is_empty(),
            }));
        }
        let mut count = 0;
        while count < max_records
            && let Some(completed) = self.lease.front_mut()
        {
            Self::check(poll, completed, table)?;
            completed.from += 1;
            count += 1;
            if completed.from == completed.next
                && let Some(done) = self.lease.pop_front()
                && keeps
            {
                self.kept.push(done.data);
            }
        }
        self.poll = None;
        Ok(Progress::Returned(count))
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
        if !poll.began[p].as_ref().is_some_and(valid) {
            let later = table.entries[p].as_ref().is_some_and(valid);
            if !later {
                return Err(format!(
                    "I6: a poll gives record {offset} of partition {p} that was void when it began"
                ));
            }
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

    /// Records that the reader has of a partition, bytes.
    pub(crate) fn bytes_of(&self, partition: usize) -> u64 {
        let answered = self.answer.iter().flatten().filter_map(|item| match item {
            Item::Data(completed) => Some(&completed.data),
            Item::Error(_) => None,
        });
        self.lease
            .iter()
            .chain(&self.returned)
            .map(|completed| &completed.data)
            .chain(&self.kept)
            .chain(answered)
            .filter(|data| data.partition == partition)
            .map(|data| u64::from(data.bytes))
            .sum()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.poll.is_none() && !self.outstanding && self.answer.is_none()
    }

    pub(crate) fn lease_is_empty(&self) -> bool {
        self.lease.is_empty()
    }
}
