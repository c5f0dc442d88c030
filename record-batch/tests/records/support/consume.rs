use bytes::Bytes;
use record_batch::{
    AbortedTransaction, BatchError, DecodeOptions, Decoder, FreshBuffers, OwnedRecord,
    TransactionFilter, Verdict, entries,
};

/// What a consumer got from one `records` field.
#[derive(Debug)]
pub(crate) struct Consumed {
    pub(crate) records: Vec<OwnedRecord>,
    /// Where it goes on: unmoved by an error and by what stands behind it.
    pub(crate) next: i64,
    pub(crate) error: Option<BatchError>,
}

impl Consumed {
    pub(crate) fn offsets(&self) -> Vec<i64> {
        self.records.iter().map(OwnedRecord::offset).collect()
    }

    /// Offsets and next position of a read that must have been without an error.
    pub(crate) fn sound(self) -> (Vec<i64>, i64) {
        assert_eq!(self.error, None);
        (self.offsets(), self.next)
    }

    /// The error of a read that must have had one.
    pub(crate) fn failed(&self) -> &BatchError {
        self.error.as_ref().expect("an error")
    }
}

/// Reads as a read_uncommitted consumer with default options does.
pub(crate) fn consume(records: &[u8], position: i64) -> Consumed {
    consume_with(records, position, DecodeOptions::default())
}

pub(crate) fn consume_with(records: &[u8], position: i64, options: DecodeOptions) -> Consumed {
    let filter = TransactionFilter::read_uncommitted();
    run(records, position, options, filter)
}

/// Reads as a read_committed consumer does, with the `(producer id, first offset)` pairs of the answer.
pub(crate) fn consume_committed(records: &[u8], position: i64, aborted: &[(i64, i64)]) -> Consumed {
    let aborted = aborted
        .iter()
        .map(|&(producer_id, first_offset)| AbortedTransaction {
            producer_id,
            first_offset,
        });
    let filter = TransactionFilter::read_committed(aborted);
    run(records, position, DecodeOptions::default(), filter)
}

fn run(
    records: &[u8],
    position: i64,
    options: DecodeOptions,
    mut filter: TransactionFilter,
) -> Consumed {
    let records = Bytes::copy_from_slice(records);
    let mut decoder = Decoder::new(options);
    let mut consumed = Consumed {
        records: Vec::new(),
        next: position,
        error: None,
    };
    let read = &mut consumed;
    let result = (|| {
        for entry in entries(&records) {
            let entry = entry?;
            let header = entry.header();
            let verdict = filter.judge(header);
            if verdict != Verdict::Skip && !header.is_before(read.next) {
                let batch = decoder.decode(&records, &entry, &mut FreshBuffers)?;
                match verdict {
                    Verdict::ReadMarker => filter.marker(header, batch.control_type()?),
                    _ => read.records.extend(
                        batch
                            .records_from(batch.cursor_at(read.next))
                            .map(OwnedRecord::from),
                    ),
                }
            }
            read.next = read.next.max(header.next_offset());
        }
        Ok(())
    })();
    consumed.error = result.err();
    consumed
}
