//! For a consumer of assigned partitions: each record once, in order, and nothing else.

use std::collections::BTreeMap;

use consumer_app::Records;
use integration_tests::Tally;
use integration_tests::kafka::Acknowledged;

/// What came, and what is wrong with it.
#[derive(Default)]
pub(crate) struct ExactlyOnce {
    /// By partition.
    came: BTreeMap<i32, Acknowledged>,
    pub(crate) violations: Vec<String>,
}

impl ExactlyOnce {
    pub(crate) fn given(&mut self, records: &Records) {
        for record in records {
            let lengths = (
                record.key().map(<[u8]>::len),
                record.value().map(<[u8]>::len),
            );
            self.add(record.partition(), record.offset(), lengths);
        }
    }

    fn add(&mut self, partition: i32, offset: i64, (key, value): (Option<usize>, Option<usize>)) {
        let came = self.came.entry(partition).or_default();
        if offset != came.end {
            self.violations.push(format!(
                "partition {partition}: offset {offset} came, {} is the next",
                came.end
            ));
        }
        came.end = offset + 1;
        came.all.add(offset, key, value);
    }

    /// The next offset to come.
    pub(crate) fn next(&self, partition: i32) -> i64 {
        self.came.get(&partition).map_or(0, |came| came.end)
    }

    /// By partition, how many records of those before `ends` are still to come.
    pub(crate) fn missing(&self, ends: &BTreeMap<i32, i64>) -> BTreeMap<i32, i64> {
        let missing = ends
            .iter()
            .map(|(partition, end)| (*partition, end - self.next(*partition)));
        missing.filter(|(_, missing)| *missing > 0).collect()
    }

    /// What came is what was acknowledged, to the last byte of keys and values.
    pub(crate) fn compare(&mut self, acknowledged: &BTreeMap<i32, Acknowledged>) {
        if self.came != *acknowledged {
            self.violations.push(format!(
                "these came: {:?}; these were acknowledged: {acknowledged:?}",
                self.came
            ));
        }
    }

    pub(crate) fn total(&self) -> Tally {
        self.came
            .values()
            .fold(Tally::default(), |mut total, came| {
                total.merge(&came.all);
                total
            })
    }
}

#[test]
fn what_is_missing_doubled_or_changed_is_found() {
    let came = |records: &[(i64, usize)]| {
        let mut checker = ExactlyOnce::default();
        for &(offset, length) in records {
            checker.add(0, offset, (None, Some(length)));
        }
        checker
    };
    let sound = came(&[(0, 5), (1, 6), (2, 7)]);
    let acknowledged = sound.came.clone();
    let ends = BTreeMap::from([(0, 3)]);
    assert!(sound.missing(&ends).is_empty());
    for (what, records) in [
        ("doubled", [(0, 5), (1, 6), (1, 6), (2, 7)].as_slice()),
        ("in the middle missing", &[(0, 5), (2, 7)]),
        ("of another length", &[(0, 5), (1, 9), (2, 7)]),
        ("too many", &[(0, 5), (1, 6), (2, 7), (3, 8)]),
    ] {
        let mut checker = came(records);
        checker.compare(&acknowledged);
        assert!(!checker.violations.is_empty(), "{what}");
    }
    assert_eq!(came(&[(0, 5)]).missing(&ends), BTreeMap::from([(0, 2)]));
    let mut sound = sound;
    sound.compare(&acknowledged);
    assert_eq!(sound.violations, Vec::<String>::new());
}
