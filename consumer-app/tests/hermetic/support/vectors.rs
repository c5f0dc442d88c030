//! The byte vectors of the record reader, for the whole consumer.

use bytes::Bytes;

/// One vector.
pub(crate) struct Vector {
    pub(crate) name: &'static str,
    pub(crate) bytes: Bytes,
    /// The offset at which it is asked for.
    pub(crate) first: i64,
    pub(crate) is_error: bool,
    /// `offset:timestamp:key=value`, separated by commas.
    pub(crate) records: &'static str,
    /// The offset that follows.
    pub(crate) next: i64,
}

/// All of them.
pub(crate) fn all() -> Vec<Vector> {
    include_str!("../../../../record-batch/tests/fixtures.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(parse)
        .collect()
}

/// The one of that name.
pub(crate) fn named(name: &str) -> Vector {
    let found = all().into_iter().find(|vector| vector.name == name);
    found.expect(name)
}

fn parse(line: &'static str) -> Vector {
    let (vector, result) = line.split_once('#').expect("a result");
    let (name, hex) = vector.trim().split_once(' ').expect("name and bytes");
    let result = result.split('|').next().unwrap_or_default().trim();
    let (verdict, result) = result.split_once(' ').expect("a verdict");
    let (records, next) = result
        .strip_prefix("records=[")
        .and_then(|rest| rest.rsplit_once("] next="))
        .expect("records and next");
    let hex = hex.trim();
    let digits = (0..hex.len()).step_by(2);
    Vector {
        name,
        bytes: digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex"))
            .collect(),
        first: match name {
            "EMPTY" | "GAP" => 100,
            "ABORT" | "COMMIT" => 7,
            "TXN" => 4,
            "V0_LZ4_BROKENHC" | "V1_SNAPPY_REL" | "V1_APPENDTIME" => 40,
            _ => 0,
        },
        is_error: verdict == "error",
        records,
        next: next.parse().expect("an offset"),
    }
}
