//! Truth values, numbers and time spans.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use super::{Kind, Refusal};

/// `true` or `false`, in any case.
pub(in crate::config) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn type_name(&self) -> &'static str {
        "boolean"
    }

    fn allowed(&self) -> String {
        "true, false".to_owned()
    }

    fn parse(&self, text: &str) -> Result<bool, Refusal> {
        match text {
            _ if text.eq_ignore_ascii_case("true") => Ok(true),
            _ if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err(None),
        }
    }

    fn write(&self, value: &bool) -> Option<String> {
        Some(value.to_string())
    }
}

/// A number in a range.
pub(in crate::config) struct Number<T> {
    least: T,
    most: T,
    type_name: &'static str,
}

impl Number<i32> {
    pub(in crate::config) const fn int(least: i32) -> Self {
        Self {
            least,
            most: i32::MAX,
            type_name: "int",
        }
    }
}

impl Number<u64> {
    pub(in crate::config) const fn long(least: u64) -> Self {
        Self {
            least,
            most: LONG_MAX,
            type_name: "long",
        }
    }
}

impl Number<f64> {
    pub(in crate::config) const fn double(least: f64, most: f64) -> Self {
        Self {
            least,
            most,
            type_name: "double",
        }
    }
}

const INT_MAX: u64 = i32::MAX.unsigned_abs() as u64;
const LONG_MAX: u64 = i64::MAX.unsigned_abs();

impl<T: Display + FromStr + PartialOrd + Copy> Kind for Number<T> {
    type Value = T;

    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn allowed(&self) -> String {
        format!("{} to {}", self.least, self.most)
    }

    fn parse(&self, text: &str) -> Result<T, Refusal> {
        let value = text.parse().map_err(|_| None)?;
        // not the other way round: NaN is neither below nor above
        if value >= self.least && value <= self.most {
            Ok(value)
        } else {
            Err(None)
        }
    }

    fn write(&self, value: &T) -> Option<String> {
        Some(value.to_string())
    }
}

/// A time span, given as a whole number of milliseconds or seconds.
pub(in crate::config) struct Span {
    least: u64,
    most: u64,
    unit: Duration,
    type_name: &'static str,
}

impl Span {
    const MILLISECOND: Duration = Duration::from_millis(1);

    pub(in crate::config) const fn int_ms(least: u64) -> Self {
        Self {
            least,
            most: INT_MAX,
            unit: Self::MILLISECOND,
            type_name: "int",
        }
    }

    pub(in crate::config) const fn long_ms(least: u64) -> Self {
        Self {
            least,
            most: LONG_MAX,
            unit: Self::MILLISECOND,
            type_name: "long",
        }
    }

    pub(in crate::config) const fn short_seconds(most: u64) -> Self {
        Self {
            least: 0,
            most,
            unit: Duration::from_secs(1),
            type_name: "short",
        }
    }

    fn number(&self) -> Number<u64> {
        Number {
            least: self.least,
            most: self.most,
            type_name: self.type_name,
        }
    }
}

impl Kind for Span {
    type Value = Duration;

    fn type_name(&self) -> &'static str {
        self.type_name
    }

    fn allowed(&self) -> String {
        self.number().allowed()
    }

    fn parse(&self, text: &str) -> Result<Duration, Refusal> {
        let units = self.number().parse(text)?;
        Ok(if self.unit == Self::MILLISECOND {
            Duration::from_millis(units)
        } else {
            Duration::from_secs(units)
        })
    }

    fn write(&self, value: &Duration) -> Option<String> {
        Some((value.as_millis() / self.unit.as_millis()).to_string())
    }
}

/// A number of which -1 (any negative one, for a span) stands for no limit, or for a choice left to others.
pub(in crate::config) struct OrMinusOne<K> {
    kind: K,
    minus_one: &'static str,
}

impl<K> OrMinusOne<K> {
    pub(in crate::config) const fn new(kind: K, minus_one: &'static str) -> Self {
        Self { kind, minus_one }
    }
}

impl Kind for OrMinusOne<Span> {
    type Value = Option<Duration>;

    fn type_name(&self) -> &'static str {
        self.kind.type_name()
    }

    fn allowed(&self) -> String {
        format!("{}, or -1: {}", self.kind.allowed(), self.minus_one)
    }

    fn parse(&self, text: &str) -> Result<Self::Value, Refusal> {
        if text.parse::<i64>().is_ok_and(i64::is_negative) {
            return Ok(None);
        }
        self.kind.parse(text).map(Some)
    }

    fn write(&self, value: &Self::Value) -> Option<String> {
        value
            .as_ref()
            .map_or_else(|| Some("-1".to_owned()), |value| self.kind.write(value))
    }
}

impl Kind for OrMinusOne<Number<i32>> {
    type Value = Option<u32>;

    fn type_name(&self) -> &'static str {
        self.kind.type_name()
    }

    fn allowed(&self) -> String {
        format!("{}, or -1: {}", self.kind.allowed(), self.minus_one)
    }

    fn parse(&self, text: &str) -> Result<Self::Value, Refusal> {
        if text == "-1" {
            return Ok(None);
        }
        let value = self.kind.parse(text)?;
        u32::try_from(value).map(Some).map_err(|_| None)
    }

    fn write(&self, value: &Self::Value) -> Option<String> {
        Some(value.map_or_else(|| "-1".to_owned(), |value| value.to_string()))
    }
}
