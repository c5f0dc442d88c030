use std::fmt::Write;

use record_batch::OwnedRecord;

/// One line of `tests/fixtures.txt`.
pub(crate) struct Vector {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_error: bool,
    /// Its records, as [`describe`] writes them, separated by commas.
    pub(crate) records: &'static str,
    pub(crate) next: i64,
    pub(crate) remark: &'static str,
}

/// All vectors, in the file's order.
pub(crate) fn all() -> Vec<Vector> {
    include_str!("../../fixtures.txt")
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(parse)
        .collect()
}

/// The bytes of the vector of that name.
pub(crate) fn bytes(name: &str) -> Vec<u8> {
    let vector = all().into_iter().find(|vector| vector.name == name);
    vector.expect(name).bytes
}

fn parse(line: &'static str) -> Vector {
    let (vector, result) = line.split_once('#').expect("a result");
    let (name, hex) = vector.trim().split_once(' ').expect("name and bytes");
    let (result, remark) = result.split_once('|').unwrap_or((result, ""));
    let (verdict, result) = result.trim().split_once(' ').expect("a verdict");
    let (records, next) = result
        .strip_prefix("records=[")
        .and_then(|rest| rest.rsplit_once("] next="))
        .expect("records and next");
    let hex = hex.trim();
    Vector {
        name,
        bytes: (0..hex.len() / 2)
            .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
            .collect(),
        is_error: match verdict {
            "ok" => false,
            "error" => true,
            other => panic!("{name}: verdict {other}"),
        },
        records,
        next: next.trim().parse().expect("next"),
        remark,
    }
}

/// Writes records as the result column does.
pub(crate) fn describe(records: &[OwnedRecord]) -> String {
    let texts: Vec<_> = records
        .iter()
        .map(|record| {
            let mut text = format!(
                "{}:{}:{}={}",
                record.offset(),
                record.timestamp(),
                word(record.key().map(|key| &key[..])),
                word(record.value().map(|value| &value[..])),
            );
            let headers: Vec<_> = record
                .headers()
                .iter()
                .map(|header| format!("{}={}", header.key_str().unwrap(), word(header.value())))
                .collect();
            if !headers.is_empty() {
                write!(text, " headers({})", headers.join(", ")).unwrap();
            }
            text
        })
        .collect();
    texts.join(", ")
}

fn word(bytes: Option<&[u8]>) -> &str {
    match bytes {
        None => "null",
        Some([]) => "empty",
        Some(text) => std::str::from_utf8(text).unwrap(),
    }
}
