/// An entry of the answer of OffsetForLeaderEpoch: the epoch that the log knows, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EpochEndOffset {
    pub(crate) epoch: i32,
    pub(crate) end_offset: i64,
}

/// Where each leader epoch begins (KIP-101); epochs and offsets both rise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeaderEpochs {
    starts: Vec<(i32, i64)>,
}

impl LeaderEpochs {
    pub(crate) fn latest(&self) -> Option<i32> {
        self.starts.last().map(|(epoch, _)| *epoch)
    }

    /// The epoch that covers `offset`, if the first known one does not begin behind it.
    pub(crate) fn at(&self, offset: i64) -> Option<i32> {
        let after = self.starts.partition_point(|(_, start)| *start <= offset);
        let covering = self.starts.get(after.checked_sub(1)?);
        covering.map(|(epoch, _)| *epoch)
    }

    /// Where `epoch` begins, if something may have been written under it.
    pub(crate) fn start_of(&self, epoch: i32) -> Option<i64> {
        let mut starts = self.starts.iter();
        starts
            .find(|(known, _)| *known == epoch)
            .map(|(_, start)| *start)
    }

    /// Notes that `epoch` begins at `start`. An epoch under which nothing was written gives way to the next.
    pub(super) fn assign(&mut self, epoch: i32, start: i64) {
        match self.starts.last() {
            Some((latest, _)) if epoch <= *latest => {}
            _ => {
                self.truncate_to(start);
                self.starts.push((epoch, start));
            }
        }
    }

    /// Forgets the epochs that begin at `end` or behind it.
    pub(super) fn truncate_to(&mut self, end: i64) {
        self.starts.retain(|(_, start)| *start < end);
    }

    /// Forgets the epochs that end before the log starts.
    pub(super) fn start_at(&mut self, log_start: i64) {
        let after = self
            .starts
            .partition_point(|(_, start)| *start <= log_start);
        if let Some(covering) = after.checked_sub(1) {
            self.starts.drain(..covering);
            if let Some((_, start)) = self.starts.first_mut() {
                *start = log_start;
            }
        }
    }

    /// `None` where the answer is (-1, -1): for an epoch above the newest, or none (-1). A smaller number is an epoch like
    /// any other to Kafka.
    pub(super) fn end_offset_for(&self, epoch: i32, log_end: i64) -> Option<EpochEndOffset> {
        let end = |epoch, end_offset| Some(EpochEndOffset { epoch, end_offset });
        if self.latest() == Some(epoch) {
            return end(epoch, log_end);
        }
        let higher = self.starts.partition_point(|(known, _)| *known <= epoch);
        let (_, next_start) = self.starts.get(higher).filter(|_| epoch != -1)?;
        let floor = higher.checked_sub(1).and_then(|at| self.starts.get(at));
        end(floor.map_or(epoch, |(known, _)| *known), *next_start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(starts: &[(i32, i64)]) -> LeaderEpochs {
        let mut epochs = LeaderEpochs::default();
        for (epoch, start) in starts {
            epochs.assign(*epoch, *start);
        }
        epochs
    }

    fn answers(epochs: &LeaderEpochs, asked: i32) -> (i32, i64) {
        epochs
            .end_offset_for(asked, 100)
            .map_or((-1, -1), |end| (end.epoch, end.end_offset))
    }

    /// The table of `LeaderEpochFileCache.endOffsetFor`.
    #[test]
    fn an_epoch_ends_where_the_next_known_one_begins() {
        let known = epochs(&[(2, 10), (5, 20), (7, 50)]);
        for (asked, answer) in [
            (7, (7, 100)),
            (6, (5, 50)),
            (5, (5, 50)),
            (3, (2, 20)),
            (2, (2, 20)),
            (1, (1, 10)),
            (0, (0, 10)),
            (8, (-1, -1)),
            (-1, (-1, -1)),
            (-2, (-2, 10)),
        ] {
            assert_eq!(answers(&known, asked), answer, "epoch {asked}");
        }
        assert_eq!(answers(&epochs(&[]), 0), (-1, -1));
    }

    #[test]
    fn an_epoch_without_data_gives_way() {
        assert_eq!(
            epochs(&[(0, 0), (1, 0), (2, 5), (3, 5)]).starts,
            [(1, 0), (3, 5)]
        );
        assert_eq!(epochs(&[(3, 0), (3, 9), (2, 9)]).starts, [(3, 0)]);
    }

    #[test]
    fn epochs_are_cut_with_the_log() {
        let mut known = epochs(&[(2, 10), (5, 20), (7, 50)]);
        known.start_at(30);
        assert_eq!(known.starts, [(5, 30), (7, 50)]);
        assert_eq!(
            (known.at(29), known.at(30), known.at(50)),
            (None, Some(5), Some(7))
        );
        known.truncate_to(50);
        assert_eq!(known.starts, [(5, 30)]);
        known.start_at(5);
        assert_eq!(known.starts, [(5, 30)]);
    }
}
