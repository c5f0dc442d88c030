//! What a consumer did and holds, as numbers.

pub(crate) mod application;
#[cfg(feature = "metrics")]
mod export;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;

pub use self::application::{ListenerMetrics, PollMetrics};
#[cfg(feature = "metrics")]
pub use self::export::MetricsExporter;
pub(crate) use self::snapshot::Sources;
pub use self::snapshot::{Metrics, PartitionMetrics};
pub use self::table::{MetricDefinition, MetricKind, MetricScope, MetricValue, definitions};
