//! Where `--from` tells to begin.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Where to begin: `beginning`, `latest`, an offset, or a time as RFC 3339 has it.
///
/// A number is always an offset. One that looks like a time is read as an offset too, since a long-lived partition
/// gets there, and [`note`](Self::note) tells how it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartFrom {
    /// The first record that each partition has.
    Beginning,
    /// The end of each partition.
    Latest,
    /// This offset.
    Offset(i64),
    /// The first record that is not older, in ms since 1970 in UTC.
    Time(i64),
}

/// What is wrong with a place to begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum StartFromError {
    /// A number that is no offset.
    #[error("an offset is a number from 0 to {}", i64::MAX)]
    NoOffset,
    /// A time that could be in any zone.
    #[error("the time has no zone: write {example}, or with an offset like +02:00")]
    NoZone {
        /// The same in UTC.
        example: Timestamp,
    },
    /// A time that no broker looks up.
    #[error("the time is before 1970")]
    BeforeEpoch,
    /// None of what can be given.
    #[error("write beginning, latest, an offset, or a time like 2026-01-31T12:00:00Z")]
    Unknown,
}

impl FromStr for StartFrom {
    type Err = StartFromError;

    fn from_str(text: &str) -> Result<Self, StartFromError> {
        match text {
            "beginning" => return Ok(Self::Beginning),
            "latest" => return Ok(Self::Latest),
            _ => {}
        }
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            let offset = text
                .parse()
                .ok()
                .filter(|offset: &i64| !offset.is_negative());
            return offset.map(Self::Offset).ok_or(StartFromError::NoOffset);
        }
        match text.parse::<Timestamp>() {
            Ok(time) => Self::at(time),
            Err(_) => Err(zoneless(text).map_or(StartFromError::Unknown, |example| {
                StartFromError::NoZone { example }
            })),
        }
    }
}

/// The time in UTC that a text without a zone would be.
fn zoneless(text: &str) -> Option<Timestamp> {
    let time: DateTime = text.parse().ok()?;
    Offset::UTC.to_timestamp(time).ok()
}

impl StartFrom {
    /// Timestamps of records are in ms, so the first one not older than a time within a ms is that of the next.
    fn at(time: Timestamp) -> Result<Self, StartFromError> {
        let nanos =
            u128::try_from(time.as_nanosecond()).map_err(|_| StartFromError::BeforeEpoch)?;
        let millis =
            i64::try_from(nanos.div_ceil(1_000_000)).map_err(|_| StartFromError::Unknown)?;
        Ok(Self::Time(millis))
    }

    /// How an offset was read that looks like a time, and how to write the time.
    pub(crate) fn note(self) -> Option<String> {
        let Self::Offset(offset) = self else {
            return None;
        };
        // from 2001 to 2100, as numbers of ten digits in s and of thirteen in ms
        const SECONDS: std::ops::Range<i64> = 1_000_000_000..4_102_444_800;
        let (unit, time) = if SECONDS.contains(&offset) {
            ("seconds", Timestamp::from_second(offset).ok()?)
        } else if SECONDS.contains(&(offset / 1_000)) {
            ("milliseconds", Timestamp::from_millisecond(offset).ok()?)
        } else {
            return None;
        };
        Some(format!(
            "{offset} is taken for an offset; if it is meant as {unit} since 1970, write {time}"
        ))
    }
}

/// As it is given; a time in UTC.
impl fmt::Display for StartFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Beginning => f.write_str("beginning"),
            Self::Latest => f.write_str("latest"),
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::Time(millis) => match Timestamp::from_millisecond(*millis) {
                Ok(time) => write!(f, "{time}"),
                Err(_) => write!(f, "{millis} ms"),
            },
        }
    }
}
