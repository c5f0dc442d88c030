//! Kinds that serve one key.

use super::{Kind, ListOf, OneOf, Refusal};
use crate::config::bootstrap::{BootstrapServers, HostPort};
use crate::config::choice::{Assignor, Choice, SecurityProtocol};
use crate::config::feature::Feature;
use crate::config::offset_reset::OffsetReset;

const NOT_YET: &str = " (not supported yet)";

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
        "latest, earliest, none, by_duration:PnDTnHnMn.nS".to_owned()
    }

    fn parse(&self, text: &str) -> Result<OffsetReset, Refusal> {
        OffsetReset::parse(text).ok_or(None)
    }

    fn write(&self, value: &OffsetReset) -> Option<String> {
        Some(value.to_string())
    }
}

/// `security.protocol`.
pub(in crate::config) struct Protocol;

impl Kind for Protocol {
    type Value = SecurityProtocol;

    fn type_name(&self) -> &'static str {
        "string"
    }

    fn allowed(&self) -> String {
        let described = SecurityProtocol::ALL.iter().map(|protocol| {
            let is_built = protocol.features().all(Feature::is_built);
            format!("{protocol}{}", if is_built { "" } else { NOT_YET })
        });
        described.collect::<Vec<_>>().join(", ")
    }

    fn parse(&self, text: &str) -> Result<SecurityProtocol, Refusal> {
        OneOf::in_any_case().parse(text)
    }

    fn write(&self, value: &SecurityProtocol) -> Option<String> {
        OneOf::in_any_case().write(value)
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
