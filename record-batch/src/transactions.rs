use std::collections::HashSet;

use crate::{BatchHeader, ControlType};

/// An aborted transaction that a Fetch response lists for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Its producer.
    pub producer_id: i64,
    /// Offset of its first record in the partition.
    pub first_offset: i64,
}

/// What to do with a batch; see [`TransactionFilter::judge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its records are for the application.
    Deliver,
    /// Nothing in it is: step over it, to its [`next_offset`](BatchHeader::next_offset).
    Skip,
    /// As [`Skip`](Self::Skip), but decode it first and tell [`TransactionFilter::marker`] what it says.
    ReadMarker,
}

/// Decides batch by batch, from their headers alone, which ones the application sees (`isolation.level`, KIP-98). One
/// is made for the answer to one partition and sees all batches of it in their order.
///
/// ```
/// use record_batch::{AbortedTransaction, TransactionFilter};
///
/// // read_committed: the list is the answer's, in any order, and may be null
/// let aborted = [AbortedTransaction { producer_id: 5, first_offset: 4 }];
/// let mut filter = TransactionFilter::read_committed(aborted);
/// # let _ = &mut filter;
///
/// // read_uncommitted: whatever list a broker sends is of no meaning
/// let mut filter = TransactionFilter::read_uncommitted();
/// # let _ = &mut filter;
/// ```
#[derive(Clone, Debug)]
pub struct TransactionFilter {
    /// Transactions that begin further on, the next one last.
    ahead: Vec<AbortedTransaction>,
    /// Producers whose current transaction was aborted.
    aborting: HashSet<i64>,
}

impl TransactionFilter {
    /// Delivers aborted data too; control batches are never delivered.
    pub fn read_uncommitted() -> Self {
        Self::read_committed([])
    }

    /// Delivers nothing that belongs to the transactions of `aborted`. The broker itself sends nothing beyond the last
    /// stable offset, so there are no open transactions here.
    pub fn read_committed(aborted: impl IntoIterator<Item = AbortedTransaction>) -> Self {
        let mut ahead: Vec<_> = aborted.into_iter().collect();
        // brokers sort it, other implementations not always
        ahead.sort_unstable_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self {
            ahead,
            aborting: HashSet::new(),
        }
    }

    /// Says what to do with the next batch.
    pub fn judge(&mut self, header: &BatchHeader) -> Verdict {
        let Some(producer) = header.producer_id() else {
            return match header.is_control() {
                true => Verdict::Skip,
                false => Verdict::Deliver,
            };
        };
        while let Some(next) = self.ahead.last()
            && next.first_offset <= header.last_offset()
        {
            self.aborting.insert(next.producer_id);
            self.ahead.pop();
        }
        let aborting = self.aborting.contains(&producer);
        match (header.is_control(), header.is_transactional()) {
            // a marker can only end what was aborted; others need not be read
            (true, _) if aborting => Verdict::ReadMarker,
            (true, _) => Verdict::Skip,
            (false, true) if aborting => Verdict::Skip,
            (false, _) => Verdict::Deliver,
        }
    }

    /// Tells what the control batch says for which [`judge`](Self::judge) gave [`Verdict::ReadMarker`]. After an abort
    /// marker its producer's next transaction is delivered, unless that is listed as aborted too.
    pub fn marker(&mut self, header: &BatchHeader, control_type: Option<ControlType>) {
        if control_type == Some(ControlType::Abort)
            && let Some(producer) = header.producer_id()
        {
            self.aborting.remove(&producer);
        }
    }
}
