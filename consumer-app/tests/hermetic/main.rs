//! The data path as a whole, hermetic: consumer, actors and broker in one process on a paused clock. What is measured is
//! counted; no timing decides a test.

mod batches;
mod fetch_pipeline;
mod runtimes;
mod support;
