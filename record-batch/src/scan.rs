use crate::{BatchError, Tail, entries};

/// What the headers of a `records` field tell; see [`scan`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scan {
    /// The offset to fetch next: behind the last whole entry, and never below the offset that was asked for.
    pub next_offset: i64,
    /// Bytes of whole entries.
    pub whole_bytes: usize,
    /// Number of whole entries.
    pub entries: usize,
    /// Size of the largest whole entry in bytes.
    pub largest_entry: usize,
    /// Leader epoch of the last whole entry, if it has one.
    pub last_leader_epoch: Option<i32>,
    /// The cut entry at the end, if there is one.
    pub tail: Option<Tail>,
    /// The error that ended the walk, if one did. What stands before it is sound as far as headers tell.
    pub corrupt: Option<BatchError>,
    fetch_offset: i64,
}

impl Scan {
    /// Whether the bytes bring the position forward. If not although there are bytes, asking again for the same offset
    /// would bring the same bytes again: only the beginning of an entry came, an entry is corrupt, or all entries lie
    /// below the offset asked for.
    pub fn progressed(&self) -> bool {
        self.next_offset > self.fetch_offset
    }
}

/// Goes over the headers of a `records` field once: no CRC, no decompression, no record looked at.
///
/// `fetch_offset` is the offset that was asked for. A broker answers with the batch that contains it, which may begin
/// below it.
///
/// ```
/// let nothing = record_batch::scan(&[], 5);
/// assert_eq!(nothing.next_offset, 5); // no bytes, no move
///
/// let cut = record_batch::scan(&[0; 8], 5);
/// assert!(cut.entries == 0 && cut.tail.is_some() && !cut.progressed());
/// ```
pub fn scan(records: &[u8], fetch_offset: i64) -> Scan {
    let mut scan = Scan {
        next_offset: fetch_offset,
        whole_bytes: 0,
        entries: 0,
        largest_entry: 0,
        last_leader_epoch: None,
        tail: None,
        corrupt: None,
        fetch_offset,
    };
    let mut walk = entries(records);
    for entry in walk.by_ref() {
        match entry {
            Ok(entry) => {
                let header = entry.header();
                scan.next_offset = scan.next_offset.max(header.next_offset());
                scan.entries += 1;
                scan.largest_entry = scan.largest_entry.max(header.size());
                scan.last_leader_epoch = header.partition_leader_epoch();
            }
            Err(error) => scan.corrupt = Some(error),
        }
    }
    scan.whole_bytes = walk.position();
    scan.tail = walk.tail();
    scan
}
