//! The cluster of one node that most tests share, each with topics of its own.

use std::sync::LazyLock;

use integration_tests::kafka::Cluster;

/// Starts with the first test that needs it and ends with the process.
pub(crate) static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .property("log.cleaner.backoff.ms", "500")
        .log_level("org.apache.kafka.server.FetchSessionCacheShard", "trace")
        .listener("OUTSIDE", "SASL_PLAINTEXT")
        .property("listener.name.outside.sasl.enabled.mechanisms", "PLAIN")
        .property(
            "listener.name.outside.plain.sasl.jaas.config",
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_guest=\"right\";",
        )
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});
