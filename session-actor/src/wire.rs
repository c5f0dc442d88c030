//! What goes over a broker connection: frames, requests and responses, and the checks that make what arrives safe to read.
//!
//! | module | what it is |
//! |---|---|
//! | [`connect`] | streams to brokers: TCP, or whatever else implements [`Connect`](connect::Connect) |
//! | [`frame`] | whole frames in and out of a stream |
//! | [`connection`] | an opened connection: stream, versions agreed on, correlation ids |
//! | [`control`] | a client for everything but fetching: metadata, offsets, groups |
//! | [`fetch`] | Fetch requests and responses, without an allocation per partition |
//! | [`guard`] | the check before the crate `kafka-protocol` decodes anything |

pub mod connect;
pub mod connection;
pub mod control;
mod cursor;
mod error;
mod error_code;
pub mod fetch;
pub mod frame;
pub mod guard;
mod header;
mod malformed;
mod negotiate;
mod peer;
#[cfg(test)]
mod scripted_broker;

pub use error::WireError;
pub use error_code::ErrorCode;
pub use header::{RequestHeader, TooLong, take_correlation_id};
pub use malformed::{Malformed, Problem};
pub use negotiate::ApiVersionsMap;
pub use peer::{Address, AddressError, Peer};
