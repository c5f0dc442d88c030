//! A node's `server.properties`.

use std::fmt::Write as _;
use std::path::Path;

/// A listener that a test asks for besides the plain one.
#[derive(Clone, Debug)]
pub(crate) struct Listener {
    pub(crate) name: String,
    pub(crate) protocol: String,
}

/// What tells one node's configuration from another's.
#[derive(Debug)]
pub(crate) struct NodeProperties<'a> {
    pub(crate) id: i32,
    pub(crate) nodes: usize,
    pub(crate) data: &'a Path,
    /// Where the controller, which is in node 1, listens.
    pub(crate) controller_port: u16,
    /// The plain listener's port, then those of `listeners`.
    pub(crate) ports: &'a [u16],
    pub(crate) listeners: &'a [Listener],
    /// Addresses that clients are told in place of a listener's own: name and address.
    pub(crate) advertised: &'a [(&'a str, &'a str)],
}

/// The name of the listener that every node has.
pub(crate) const PLAIN: &str = "PLAINTEXT";
const CONTROLLER: &str = "CONTROLLER";

impl NodeProperties<'_> {
    /// The file's text: small defaults for small machines, then `overrides`, the last of which wins.
    pub(crate) fn text<'a>(&self, overrides: impl Iterator<Item = (&'a str, &'a str)>) -> String {
        let mut all = self.defaults();
        for (key, value) in overrides {
            all.retain(|(known, _)| known != key);
            all.push((key.to_owned(), value.to_owned()));
        }
        all.iter().fold(String::new(), |mut text, (key, value)| {
            // a backslash begins an escape in a properties file, and a line ends a value
            let value = value.replace('\\', "\\\\").replace('\n', "\\n");
            let _ = writeln!(text, "{key}={value}");
            text
        })
    }

    fn defaults(&self) -> Vec<(String, String)> {
        let names = || {
            std::iter::once(PLAIN)
                .chain(self.listeners.iter().map(|listener| listener.name.as_str()))
        };
        let ports = || names().zip(self.ports);
        let mut listeners: Vec<String> = ports()
            .map(|(name, port)| format!("{name}://127.0.0.1:{port}"))
            .collect();
        let told = |name| self.advertised.iter().rev().find(|(of, _)| *of == name);
        let advertised: Vec<String> = ports()
            .map(|(name, port)| match told(name) {
                Some((_, address)) => format!("{name}://{address}"),
                None => format!("{name}://127.0.0.1:{port}"),
            })
            .collect();
        let mut protocols = vec![format!("{PLAIN}:{PLAIN}"), format!("{CONTROLLER}:{PLAIN}")];
        protocols.extend(
            self.listeners
                .iter()
                .map(|listener| format!("{}:{}", listener.name, listener.protocol)),
        );
        let controller = format!("127.0.0.1:{}", self.controller_port);
        if self.is_controller() {
            listeners.push(format!("{CONTROLLER}://{controller}"));
        }
        let replication = self.nodes.min(3).to_string();
        [
            (
                "process.roles",
                if self.is_controller() {
                    "broker,controller"
                } else {
                    "broker"
                },
            ),
            ("node.id", &self.id.to_string()),
            ("controller.quorum.bootstrap.servers", &controller),
            ("listeners", &listeners.join(",")),
            ("advertised.listeners", &advertised.join(",")),
            ("listener.security.protocol.map", &protocols.join(",")),
            ("controller.listener.names", CONTROLLER),
            ("inter.broker.listener.name", PLAIN),
            ("log.dirs", &self.data.display().to_string()),
            ("num.network.threads", "2"),
            ("num.io.threads", "2"),
            ("auto.create.topics.enable", "false"),
            ("offsets.topic.num.partitions", "4"),
            ("offsets.topic.replication.factor", &replication),
            ("transaction.state.log.num.partitions", "4"),
            ("transaction.state.log.replication.factor", &replication),
            ("transaction.state.log.min.isr", "1"),
            ("share.coordinator.state.topic.num.partitions", "4"),
            (
                "share.coordinator.state.topic.replication.factor",
                &replication,
            ),
            ("share.coordinator.state.topic.min.isr", "1"),
            ("group.initial.rebalance.delay.ms", "0"),
            ("log.cleaner.dedupe.buffer.size", "16777216"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .to_vec()
    }

    /// Node 1 is broker and controller, the others are brokers.
    pub(crate) fn is_controller(&self) -> bool {
        self.id == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: i32, overrides: &[(&str, &str)]) -> String {
        let listeners = [Listener {
            name: "SECURE".into(),
            protocol: "SASL_PLAINTEXT".into(),
        }];
        NodeProperties {
            id,
            nodes: 2,
            data: Path::new("/data"),
            controller_port: 9093,
            ports: &[9092, 9094],
            listeners: &listeners,
            advertised: &[("SECURE", "proxy:1")],
        }
        .text(overrides.iter().copied())
    }

    #[test]
    fn only_the_first_node_is_a_controller() {
        let (first, second) = (text(1, &[]), text(2, &[]));
        assert!(first.contains("process.roles=broker,controller\n"));
        assert!(first.contains(
            "\nlisteners=PLAINTEXT://127.0.0.1:9092,SECURE://127.0.0.1:9094,CONTROLLER://127.0.0.1:9093\n"
        ));
        assert!(second.contains("process.roles=broker\n"));
        assert!(
            second.contains("\nlisteners=PLAINTEXT://127.0.0.1:9092,SECURE://127.0.0.1:9094\n")
        );
        assert!(
            second.contains("\nadvertised.listeners=PLAINTEXT://127.0.0.1:9092,SECURE://proxy:1\n")
        );
        assert!(
            second.contains("=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_PLAINTEXT\n")
        );
    }

    #[test]
    fn the_last_override_wins_and_a_key_is_there_once() {
        let text = text(
            1,
            &[
                ("num.io.threads", "8"),
                ("broker.rack", "a\\b"),
                ("num.io.threads", "9"),
            ],
        );
        assert_eq!(text.matches("num.io.threads").count(), 1);
        assert!(text.contains("num.io.threads=9\n"));
        assert!(text.contains("broker.rack=a\\\\b\n"));
    }
}
