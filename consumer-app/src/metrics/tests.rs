//! The table against the names of a Java client, and the documentation that is made of it.

mod documentation;

use std::collections::{BTreeMap, BTreeSet};

use super::{MetricDefinition, definitions};

/// Taken from a running Java client.
const NAMES: &str = include_str!("tests/java/names.tsv");
const LEFT_OUT: &str = include_str!("tests/java/left_out.tsv");

/// Group, name, tags.
type Name = (String, String, String);

fn lines(table: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split('\t').collect())
}

fn name([group, name, tags]: [&str; 3]) -> Name {
    (group.to_owned(), name.to_owned(), tags.to_owned())
}

fn java() -> BTreeSet<Name> {
    lines(NAMES)
        .map(|columns| match columns[..] {
            [_, group, metric, tags] => name([group, metric, tags]),
            _ => panic!("four columns: {columns:?}"),
        })
        .collect()
}

/// With the reasons.
fn left_out() -> BTreeMap<Name, &'static str> {
    lines(LEFT_OUT)
        .map(|columns| match columns[..] {
            [group, metric, tags, reason] => (name([group, metric, tags]), reason),
            _ => panic!("four columns: {columns:?}"),
        })
        .collect()
}

fn defined(definition: &MetricDefinition) -> Name {
    let mut tags = definition.tags().to_vec();
    tags.sort_unstable();
    name([definition.group(), definition.name(), &tags.join(",")])
}

#[test]
fn b208_every_metric_of_the_java_client_is_there_or_left_out_for_a_reason() {
    let ours: BTreeSet<Name> = definitions().iter().map(defined).collect();
    let left_out = left_out();
    for metric in java() {
        let (has, leaves) = (ours.contains(&metric), left_out.contains_key(&metric));
        assert!(
            has != leaves,
            "{metric:?}: defined {has}, left out {leaves}"
        );
    }
    for (metric, reason) in &left_out {
        assert!(
            java().contains(metric),
            "Java has no {metric:?} to leave out"
        );
        assert!(!reason.is_empty(), "{metric:?} has no reason");
    }
}

#[test]
fn b208_what_is_said_to_be_javas_is_javas_and_every_name_is_there_once() {
    let java = java();
    let mut seen = BTreeSet::new();
    for definition in definitions() {
        let name = defined(definition);
        assert_eq!(java.contains(&name), definition.is_java(), "{name:?}");
        assert!(seen.insert(name), "{definition:?} is there twice");
        assert!(!definition.meaning().is_empty());
    }
}

/// What OpenMetrics asks of names, and Java does of its own.
#[test]
fn b208_totals_are_counters_and_nothing_else_is() {
    for definition in definitions() {
        let is_total = definition.name().ends_with("-total");
        let is_counter = definition.kind() == super::MetricKind::Counter;
        assert_eq!(is_total, is_counter, "{}", definition.name());
    }
}
