//! `auto.offset.reset`, and the durations in it.

use std::fmt;
use std::time::Duration;

/// Where to begin in a partition that has no valid position, `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OffsetReset {
    /// At the end: only records produced from now on.
    Latest,
    /// At the first record that the partition still has.
    Earliest,
    /// Nowhere: the application is given an error and decides.
    None,
    /// At the first record that is no older than this (KIP-1106).
    ByDuration(Duration),
}

const BY_DURATION: &str = "by_duration:";

impl OffsetReset {
    /// Reads the value of the key; `None` when it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "latest" => Some(Self::Latest),
            "earliest" => Some(Self::Earliest),
            "none" => Some(Self::None),
            _ => text
                .strip_prefix(BY_DURATION)
                .and_then(parse_duration)
                .map(Self::ByDuration),
        }
    }
}

/// As the key's value, which reads back as the same.
impl fmt::Display for OffsetReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Earliest => f.write_str("earliest"),
            Self::None => f.write_str("none"),
            Self::ByDuration(duration) => match duration.subsec_nanos() {
                0 => write!(f, "{BY_DURATION}PT{}S", duration.as_secs()),
                nanos => write!(f, "{BY_DURATION}PT{}.{nanos:09}S", duration.as_secs()),
            },
        }
    }
}

/// Reads an ISO 8601 duration as `java.time.Duration` does: `PnDTnHnMn.nS`, a day being 24 hours, letters of either
/// case, a sign before the whole and before each number. Negative ones, which Kafka refuses, are none.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    let (negated, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let parts = unsigned.strip_prefix(['P', 'p'])?;
    let (days, time) = match parts.split_once(['T', 't']) {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None if parts.is_empty() => return None,
        None => (parts, ""),
    };
    let mut nanos: i128 = 0;
    if !days.is_empty() {
        nanos += whole_seconds(days.strip_suffix(['D', 'd'])?, 86_400)?;
    }
    let mut time = time;
    for (unit, seconds) in [(['H', 'h'], 3_600), (['M', 'm'], 60)] {
        if let Some((number, rest)) = time.split_once(unit) {
            nanos += whole_seconds(number, seconds)?;
            time = rest;
        }
    }
    if !time.is_empty() {
        nanos += decimal_seconds(time.strip_suffix(['S', 's'])?)?;
    }
    let nanos = u128::try_from(if negated { -nanos } else { nanos }).ok()?;
    let seconds = i64::try_from(nanos / NANOS_PER_SECOND.unsigned_abs()).ok()?;
    let subsecond = u32::try_from(nanos % NANOS_PER_SECOND.unsigned_abs()).ok()?;
    Some(Duration::new(seconds.unsigned_abs(), subsecond))
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// Nanoseconds of a whole number of units, each `unit` seconds long.
fn whole_seconds(number: &str, unit: i64) -> Option<i128> {
    let seconds = number.parse::<i64>().ok()?.checked_mul(unit)?;
    Some(i128::from(seconds) * NANOS_PER_SECOND)
}

/// Nanoseconds of seconds with at most nine decimals.
fn decimal_seconds(number: &str) -> Option<i128> {
    let Some((whole, decimals)) = number.split_once(['.', ',']) else {
        return whole_seconds(number, 1);
    };
    if decimals.len() > 9 || !decimals.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let fraction = format!("{decimals:0<9}").parse::<i128>().ok()?;
    // the sign of "-0.5" is that of its fraction too
    let signed = if whole.starts_with('-') {
        -fraction
    } else {
        fraction
    };
    Some(whole_seconds(whole, 1)? + signed)
}
