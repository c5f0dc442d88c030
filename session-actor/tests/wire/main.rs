//! The wire layer against the crate `kafka-protocol` as an oracle, and against hostile bytes under a counting allocator.

mod allocations;
mod fetch_request;
mod fetch_response;
mod frames;
mod guarded;
mod java_fetch;
mod random;
mod responses;
