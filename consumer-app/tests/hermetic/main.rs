//! The data path as a whole, hermetic: consumer, actors and broker in one process on a paused clock. What is measured is
//! counted; no timing decides a test.

mod batches;
mod close;
mod connections;
mod errors;
mod fairness;
mod fetch_pipeline;
mod fetch_sessions;
mod futures;
mod known_end;
mod leaders;
mod polls;
mod records;
mod resets;
mod runtimes;
mod steady_state;
mod support;
mod transactions;
