//! Kinds that serve one key.

use super::{Kind, ListOf, OneOf, Refusal};
use crate::config::bootstrap::{BootstrapServers, HostPort};
use crate::config::choice::Assignor;
use crate::config::feature::Feature;
use crate::config::offset_reset::OffsetReset;

/// `partition.assignment.strategy`: the assignors' own names, or the Java classes of them.
pub(in crate::config) struct Assignors;

impl Assignors {
    const CLASSES: [(&'static str, Assignor); 4] = [
        (
            "org.apache.kafka.clients.consumer.RangeAssignor",
            Assignor::Range,
        ),
        (
            "org.apache.kafka.clients.consumer.RoundRobinAssignor",
            Assignor::RoundRobin,
        ),
        (
            "org.apache.kafka.clients.consumer.StickyAssignor",
            Assignor::Sticky,
        ),
        (
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
            Assignor::CooperativeSticky,
        ),
    ];
}

impl Kind for Assignors {
    type Value = Vec<Assignor>;

    fn type_name(&self) -> &'static str {
        "list"
    }

    fn allowed(&self) -> String {
        let names = OneOf::<Assignor>::exactly().allowed();
        format!("one or more of {names}, or their Java classes, none twice")
    }

    fn parse(&self, text: &str) -> Result<Self::Value, Refusal> {
        let mut assignors = Vec::new();
        for item in text.split(',').map(str::trim) {
            let of_class = Self::CLASSES
                .iter()
                .find(|(class, _)| *class == item)
                .map(|(_, assignor)| *assignor);
            let assignor = of_class.map_or_else(|| OneOf::exactly().parse(item), Ok)?;
            if assignors.contains(&assignor) {
                return Err(Some(format!("{assignor} is named twice")));
            }
            assignors.push(assignor);
        }
        Ok(assignors)
    }

    fn write(&self, value: &Self::Value) -> Option<String> {
        ListOf(OneOf::exactly()).write(value)
    }
}

/// `auto.offset.reset`.
pub(in crate::config) struct Reset;

impl Kind for Reset {
    type Value = OffsetReset;

    fn type_name(&self) -> &'static str {
        "string"
    }

    fn allowed(&self) -> String {
        let by_duration = if Feature::ResetByDuration.is_built() {
            ""
        } else {
            " (not supported yet)"
        };
        format!("latest, earliest, none, by_duration:PnDTnHnMn.nS{by_duration}")
    }

    fn parse(&self, text: &str) -> Result<OffsetReset, Refusal> {
        OffsetReset::parse(text).ok_or(None)
    }

    fn write(&self, value: &OffsetReset) -> Option<String> {
        Some(value.to_string())
    }
}

/// `bootstrap.servers`.
pub(in crate::config) struct Servers;

impl Kind for Servers {
    type Value = BootstrapServers;

    fn type_name(&self) -> &'static str {
        "list"
    }

    fn allowed(&self) -> String {
        "host:port or [IPv6 address]:port, with commas between them".to_owned()
    }

    fn parse(&self, text: &str) -> Result<BootstrapServers, Refusal> {
        BootstrapServers::parse(text).map_err(Some)
    }

    fn write(&self, value: &BootstrapServers) -> Option<String> {
        value
            .iter()
            .next()
            .map(|_first: &HostPort| value.to_string())
    }
}
