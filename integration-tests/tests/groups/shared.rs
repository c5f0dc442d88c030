//! What the tests with members in processes of their own have in common.

use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result};
use fastrand::Rng;
use integration_tests::kafka::Cluster;

/// Members of both protocols hear of changes soon; their sessions are as long as usual. Each test has a group and a topic of its own.
pub(crate) static KAFKA: LazyLock<Cluster> = LazyLock::new(|| {
    Cluster::builder()
        .property("group.consumer.min.heartbeat.interval.ms", "300")
        .property("group.consumer.heartbeat.interval.ms", "300")
        .property("group.consumer.migration.policy", "bidirectional")
        .start()
        .unwrap_or_else(|error| panic!("{error}"))
});

/// The names of Java, which ours knows, too.
pub(crate) const RANGE: &str = "org.apache.kafka.clients.consumer.RangeAssignor";
pub(crate) const COOPERATIVE: &str = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor";

pub(crate) type Settings<'a> = Vec<(&'a str, &'a str)>;

/// A member of the classic protocol.
pub(crate) fn classic(strategies: &str) -> Settings<'_> {
    vec![
        ("group.protocol", "classic"),
        ("partition.assignment.strategy", strategies),
        ("heartbeat.interval.ms", "300"),
        ("max.poll.records", "50"),
    ]
}

/// A member of the protocol of KIP-848.
pub(crate) fn consumer() -> Settings<'static> {
    vec![("group.protocol", "consumer"), ("max.poll.records", "50")]
}

/// How long members come and go, if CHURN_SECONDS does not say it.
pub(crate) fn length(usual: Duration) -> Result<Duration> {
    match std::env::var("CHURN_SECONDS") {
        Ok(seconds) => Ok(Duration::from_secs(
            seconds.parse().context("CHURN_SECONDS")?,
        )),
        Err(_) => Ok(usual),
    }
}

/// From CHURN_SEED, or from a seed that is printed.
pub(crate) fn rng(name: &str) -> Result<Rng> {
    let seed = match std::env::var("CHURN_SEED") {
        Ok(seed) => seed.parse().context("CHURN_SEED")?,
        Err(_) => fastrand::u64(..),
    };
    println!("{name}: CHURN_SEED={seed}");
    Ok(Rng::with_seed(seed))
}
