//! The data path as a whole, hermetic: consumer, actors and broker in one process on a paused clock. What is measured is
//! counted; no timing decides a test.

mod bad_input;
mod batches;
mod close;
mod connections;
mod corruption;
mod coverage;
mod decoding;
mod errors;
mod fairness;
mod fetch_pipeline;
mod fetch_sessions;
mod followers;
mod futures;
mod group;
mod idle_connections;
mod known_end;
mod leaders;
mod liveness;
mod memory;
mod memory_kept;
mod metrics;
mod offsets;
mod overlap;
mod panics;
mod polls;
mod records;
mod resets;
mod runtimes;
mod seek_pause;
mod steady_state;
mod support;
mod threads;
mod transactions;
mod truncation;
mod without_a_session;
