//! The same values through the facade of the `metrics` crate, for any exporter.

use std::collections::HashMap;
use std::time::Duration;

use ::metrics::{Gauge, Key, KeyName, Label, Level, Metadata, Unit, with_recorder};

use super::{MetricDefinition, MetricKind, MetricValue, Metrics, definitions};
use crate::consumer::ConsumerHandle;

const METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

/// Hands readings of a consumer to the recorder of the [`metrics`](https://docs.rs/metrics/0.24) crate.
///
/// A name there is `kafka.<group>.<name>`, tags are labels. Of what is not known any more, such as the lag of a partition that
/// another member owns now, the gauge becomes NaN: a recorder keeps what it was last told, and that would be a lag for ever.
///
/// [`ConsumerHandle::export_metrics`] does it again and again.
#[derive(Default)]
pub struct MetricsExporter {
    /// Those that had a value the last time.
    gauges: HashMap<Key, Gauge>,
}

impl std::fmt::Debug for MetricsExporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let gauges = self.gauges.len();
        f.debug_struct("MetricsExporter")
            .field("gauges", &gauges)
            .finish()
    }
}

impl MetricsExporter {
    /// Tells the recorder what each metric means, and in what it is counted. Once, after the recorder was installed.
    pub fn describe() {
        with_recorder(|recorder| {
            for definition in definitions() {
                let name = KeyName::from(name(definition));
                let unit = unit(definition.unit());
                let meaning = definition.meaning().into();
                match definition.kind() {
                    MetricKind::Counter => recorder.describe_counter(name, unit, meaning),
                    MetricKind::Gauge => recorder.describe_gauge(name, unit, meaning),
                }
            }
        });
    }

    /// Hands a reading to the recorder.
    pub fn record(&mut self, metrics: &Metrics) {
        let former = std::mem::take(&mut self.gauges);
        with_recorder(|recorder| {
            for value in metrics.iter() {
                let key = key(&value);
                match value.definition.kind() {
                    // a counter of the facade is an integer: times are rounded down to whole units
                    MetricKind::Counter => recorder
                        .register_counter(&key, &METADATA)
                        .absolute(value.value as u64),
                    MetricKind::Gauge => {
                        let gauge = recorder.register_gauge(&key, &METADATA);
                        gauge.set(value.value);
                        self.gauges.insert(key, gauge);
                    }
                }
            }
        });
        for (key, gauge) in former {
            if !self.gauges.contains_key(&key) {
                gauge.set(f64::NAN);
            }
        }
    }
}

impl ConsumerHandle {
    /// Hands a reading to the recorder of the `metrics` crate at once and then `every` so often, until the consumer is closed. To
    /// be spawned; needs a tokio runtime with time. See [`MetricsExporter`].
    pub fn export_metrics(
        &self,
        every: Duration,
    ) -> impl Future<Output = ()> + Send + 'static + use<> {
        let handle = self.clone();
        async move {
            MetricsExporter::describe();
            let mut exporter = MetricsExporter::default();
            while let Ok(metrics) = handle.metrics().await {
                exporter.record(&metrics);
                tokio::select! {
                    () = tokio::time::sleep(every) => {}
                    () = handle.ended() => break,
                }
            }
        }
    }
}

fn name(definition: &MetricDefinition) -> String {
    format!("kafka.{}.{}", definition.group(), definition.name())
}

fn key(value: &MetricValue<'_>) -> Key {
    let mut labels = vec![Label::new("client-id", value.client_id.to_owned())];
    if let Some(topic) = value.topic {
        labels.push(Label::new("topic", topic.to_owned()));
    }
    if let Some(partition) = value.partition {
        labels.push(Label::new("partition", partition.to_string()));
    }
    Key::from_parts(name(value.definition), labels)
}

fn unit(unit: &str) -> Option<Unit> {
    match unit {
        "bytes" => Some(Unit::Bytes),
        "ms" => Some(Unit::Milliseconds),
        "s" => Some(Unit::Seconds),
        "requests/s" | "records/s" => Some(Unit::CountPerSecond),
        _ => None,
    }
}
