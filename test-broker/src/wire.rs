//! Frames, request headers and answers as bytes: what stands between a connection and the APIs.

mod frame;
mod guard;
mod header;
mod payload;
mod schema;

pub(crate) use frame::{FrameError, read_frame};
pub(crate) use guard::{Malformed, check};
pub(crate) use header::RequestHeader;
pub(crate) use payload::{Payload, PayloadWriter};
