//! The kinds of values that keys have: how each is read, checked, written back, and handed out by a getter.

mod combined;
mod named;
mod number;
mod text;

use std::time::Duration;

use super::bootstrap::BootstrapServers;
use super::offset_reset::OffsetReset;
use super::secret::Secret;

pub(super) use combined::{ListOf, Optional};
pub(super) use named::{Assignors, Protocol, Reset, Servers};
pub(super) use number::{Flag, Number, OrMinusOne, Span};
pub(super) use text::{OneOf, Password, Text};

/// Why a text was not read: nothing to add to what is allowed, or what exactly is wrong.
pub(super) type Refusal = Option<String>;

/// A kind of value. Texts come trimmed.
pub(super) trait Kind {
    /// What is stored.
    type Value;

    /// The type's name in the Java client's documentation.
    fn type_name(&self) -> &'static str;

    /// What is allowed, for people; empty when all values of the type are.
    fn allowed(&self) -> String;

    /// Reads a value.
    fn parse(&self, text: &str) -> Result<Self::Value, Refusal>;

    /// Writes a value so that `parse` reads the same; `None` when it is not set. Secrets are not written but hidden.
    fn write(&self, value: &Self::Value) -> Option<String>;
}

/// How a getter hands out what is stored.
pub(super) trait Shown<'a> {
    type As;
    fn shown(&'a self) -> Self::As;
}

macro_rules! shown_by_copy {
    ($($stored:ty),+) => {
        $(impl<'a> Shown<'a> for $stored {
            type As = Self;
            fn shown(&'a self) -> Self {
                *self
            }
        })+
    };
}
pub(super) use shown_by_copy;

shown_by_copy!(
    bool,
    i32,
    u64,
    f64,
    Duration,
    Option<u32>,
    Option<Duration>,
    OffsetReset
);

impl<'a> Shown<'a> for String {
    type As = &'a str;
    fn shown(&'a self) -> &'a str {
        self
    }
}

impl<'a> Shown<'a> for Option<String> {
    type As = Option<&'a str>;
    fn shown(&'a self) -> Option<&'a str> {
        self.as_deref()
    }
}

impl<'a> Shown<'a> for Option<Secret> {
    type As = Option<&'a Secret>;
    fn shown(&'a self) -> Option<&'a Secret> {
        self.as_ref()
    }
}

impl<'a, T: 'a> Shown<'a> for Vec<T> {
    type As = &'a [T];
    fn shown(&'a self) -> &'a [T] {
        self
    }
}

impl<'a> Shown<'a> for BootstrapServers {
    type As = &'a Self;
    fn shown(&'a self) -> &'a Self {
        self
    }
}
