//! Sends the same request to both brokers and says what is different about the answers.

mod compared;
mod connection;
mod fields;
mod group;
mod known;
mod names;
mod pair;
mod records;
mod report;
mod setup;
mod side;

pub(crate) use compared::Compared;
pub(crate) use connection::Reply;
pub(crate) use fields::Fields;
pub(crate) use known::{ABSENT, Known};
pub(crate) use names::Names;
pub(crate) use pair::Pair;
pub(crate) use report::{Report, Totals};
pub(crate) use side::Side;
