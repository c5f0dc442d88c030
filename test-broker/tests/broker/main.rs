//! The broker from outside: every API over an in-memory pipe, with the protocol crate as the client's codec.

mod api_versions;
mod classic_group;
mod client;
mod committed;
mod consumer_group;
mod data;
mod described_groups;
mod faults;
mod fetch;
mod hostile;
mod long_poll;
mod measured;
mod metadata;
mod named_twice;
mod nodes;
mod offsets;
mod produce;
mod simulated;
mod tcp;
mod topics;
