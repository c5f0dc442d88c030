//! `docs/metrics.md` is written from the table; with `UPDATE_DOCS=1` in the environment this test writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::super::{MetricKind, definitions};
use super::left_out;

const HEAD: &str = "\
# Metrics

`consumer.metrics()` reads all counters at one moment: typed fields, and by the names of the Java client (4.4) through `Metrics::iter`. With the
feature `metrics` (on by default) `Metrics::record` and `ConsumerHandle::record_metrics` hand the same values to the recorder of the
[metrics](https://docs.rs/metrics) crate, and so to any exporter: `consumer-app/examples/prometheus.rs` is one. There a name is
`kafka.<group>.<name>`, which Prometheus shows as `kafka_consumer_fetch_manager_metrics_records_lag_max`, and tags are labels.

Totals count since the consumer was made. Averages, extremes and rates are of the last 30 to 60 s: two windows of 30 s, Java's defaults. What is not
known has no value, where Java has NaN or -1. Counting costs nothing per record: it is done once per response, and once per poll and partition.

This page is written from the code: `UPDATE_DOCS=1 cargo test -p consumer-app documentation`.
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut groups = Vec::new();
    for definition in definitions() {
        let section = (definition.is_java(), definition.group());
        if !groups.contains(&section) {
            groups.push(section);
        }
    }
    for (is_java, group) in groups {
        let of = if is_java { "" } else { ", of our own" };
        write!(
            page,
            "\n## {group}{of}\n\n| name | tags | type | unit | meaning |\n|---|---|---|---|---|\n"
        )
        .unwrap();
        let own = |metric: &&super::MetricDefinition| {
            (metric.is_java(), metric.group()) == (is_java, group)
        };
        for metric in definitions().iter().filter(own) {
            let kind = match metric.kind() {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
            };
            let (name, tags) = (metric.name(), metric.tags().join(", "));
            let (unit, meaning) = (metric.unit(), metric.meaning());
            writeln!(page, "| `{name}` | {tags} | {kind} | {unit} | {meaning} |").unwrap();
        }
    }
    page.push_str("\n## What Java has and this has not\n\n| group | names | tags | why |\n|---|---|---|---|\n");
    let mut reasons: BTreeMap<(String, String, &str), Vec<String>> = BTreeMap::new();
    for ((group, name, tags), reason) in left_out() {
        reasons.entry((group, tags, reason)).or_default().push(name);
    }
    for ((group, tags, reason), names) in reasons {
        let names = names.join("`, `");
        let tags = tags.replace(',', ", ");
        writeln!(page, "| {group} | `{names}` | {tags} | {reason} |").unwrap();
    }
    page
}

#[test]
fn the_documentation_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/metrics.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/metrics.md is not up to date: run UPDATE_DOCS=1 cargo test -p consumer-app documentation"
    );
}
