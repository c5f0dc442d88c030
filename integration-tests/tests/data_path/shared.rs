//! The cluster of one node that these tests share, each with topics of its own, and a consumer of it.

use std::sync::LazyLock;

use consumer_app::{Consumer, ConsumerBuilder, OffsetReset};
use integration_tests::kafka::Cluster;

/// Starts with the first test that needs it and ends with the process.
pub(crate) static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .property("log.cleaner.backoff.ms", "500")
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// Our consumer, set up to read topics of [`KAFKA`] from their beginning.
pub(crate) fn consumer() -> ConsumerBuilder {
    Consumer::builder()
        .bootstrap_servers(KAFKA.bootstrap_servers())
        .auto_offset_reset(OffsetReset::Earliest)
}
