//! A Kafka broker in a process: the embedded default of the quickstart and the mock of every test.
mod log;
mod records;
mod session_cache;
mod wire;
pub use records::{BatchBuilder, IntoBytes, ProducerRecord};
pub use session_cache::SessionCacheConfig;
