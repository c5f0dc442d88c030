//! A fault of any kind is found.

use super::*;

/// Partition, offset, length of the key, length of the value.
type Read = (i32, i64, usize, usize);

/// Three records in partition 0, two in partition 1, none in partition 2.
const PRODUCED: [Read; 5] = [
    (0, 0, 5, 10),
    (1, 0, 5, 20),
    (0, 1, 6, 30),
    (0, 2, 0, 0),
    (1, 1, 5, 40),
];

/// What the quickstart does with what it reads.
fn check(read: &[Read]) -> Result<Tally, Mismatch> {
    let mut check = Check::new(3);
    for (partition, _, key, value) in PRODUCED {
        check.produced(usize::try_from(partition).unwrap(), key, value);
    }
    for &(partition, offset, key, value) in read {
        check.record(partition, offset, key, value)?;
    }
    let tally = check.finish()?;
    assert!(check.is_complete());
    Ok(tally)
}

#[test]
fn what_was_produced_is_accepted_in_any_order_of_partitions() {
    let mut expected = Tally::default();
    for (_, offset, key, value) in PRODUCED {
        expected.count(offset, key, value);
    }
    assert_eq!(check(&PRODUCED), Ok(expected));
    let mut by_partition = PRODUCED;
    by_partition.sort_by_key(|&(partition, ..)| std::cmp::Reverse(partition));
    assert_eq!(check(&by_partition), Ok(expected));
    assert_eq!(expected.records, 5);
}

#[test]
fn a_record_that_is_lost_twice_or_at_a_wrong_place_is_found() {
    for lost in 0..PRODUCED.len() {
        let mut read = PRODUCED.to_vec();
        let (partition, offset, ..) = read.remove(lost);
        let is_last = (partition, offset) == (0, 2) || (partition, offset) == (1, 1);
        match check(&read) {
            Err(Mismatch::Missing { .. }) => assert!(is_last, "without {lost}"),
            Err(Mismatch::OutOfOrder { .. }) => assert!(!is_last, "without {lost}"),
            other => panic!("without {lost}: {other:?}"),
        }
    }
    for twice in PRODUCED {
        for at in 0..=PRODUCED.len() {
            let mut read = PRODUCED.to_vec();
            read.insert(at, twice);
            assert!(
                matches!(check(&read), Err(Mismatch::OutOfOrder { .. })),
                "{twice:?} again at {at}"
            );
        }
    }
    for (one, other) in [(0, 2), (2, 3), (0, 3), (1, 4)] {
        let mut read = PRODUCED.to_vec();
        read.swap(one, other);
        assert!(
            matches!(check(&read), Err(Mismatch::OutOfOrder { .. })),
            "{one} and {other} swapped"
        );
    }
}

#[test]
fn a_record_that_nobody_produced_is_found() {
    for stranger in [
        (0, 3, 0, 0),
        (2, 0, 0, 0),
        (3, 0, 0, 0),
        (-1, 0, 0, 0),
        (i32::MAX, 0, 0, 0),
    ] {
        let mut read = PRODUCED.to_vec();
        read.push(stranger);
        assert!(
            matches!(check(&read), Err(Mismatch::NeverProduced { .. })),
            "{stranger:?}"
        );
    }
}

#[test]
fn a_length_that_changed_is_found() {
    for changed in 0..PRODUCED.len() {
        for (key, value) in [(1, 0), (0, 1)] {
            let mut read = PRODUCED;
            read[changed].2 += key;
            read[changed].3 += value;
            assert!(
                matches!(check(&read), Err(Mismatch::Checksum { .. })),
                "{changed}"
            );
        }
    }
    // the sum of bytes alone would not tell
    let mut read = PRODUCED;
    (read[0].2, read[0].3) = (read[0].3, read[0].2);
    assert!(matches!(check(&read), Err(Mismatch::Checksum { .. })));
}
