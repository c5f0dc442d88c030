//! What differs between two brokers by nature, and the names under which it is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

/// Ids that no broker gives.
const NO_TOPIC: Uuid = Uuid::from_u128(77);
const NO_SESSION: i32 = 77;

/// How long UUIDs are as Java and as Kafka write them.
const HYPHENATED: usize = 36;
const BASE64: usize = 22;

/// Timestamps of the broker's clock are at most so many ms away from now, however long a subject takes.
const NOW_MS: i64 = 500_000;
/// The records of the cases are so many ms older, so that their times are not taken for the broker's clock.
pub(super) const RECORD_AGE_MS: i64 = 2 * NOW_MS;

/// The ids, ports and so on of one of the brokers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    topics: Vec<(Uuid, String)>,
    sessions: BTreeMap<String, i32>,
    ports: BTreeMap<u16, i32>,
    /// The ids of groups' members, with the names that the cases give them.
    members: Vec<(String, String)>,
    groups: BTreeSet<String>,
}

impl Names {
    pub(crate) fn new(ports: impl IntoIterator<Item = (i32, u16)>) -> Self {
        Self {
            ports: ports.into_iter().map(|(node, port)| (port, node)).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn set_topic(&mut self, name: &str, id: Uuid) {
        self.topics.push((id, name.to_owned()));
    }

    /// Gives a topic that was deleted another name, so that one of its old name is another one.
    pub(crate) fn rename_topic(&mut self, from: &str, to: &str) {
        for (_, name) in &mut self.topics {
            if name == from {
                to.clone_into(name);
            }
        }
    }

    /// The id of a topic; that of no topic if there is none of this name.
    pub(crate) fn topic(&self, name: &str) -> Uuid {
        let found = self.topics.iter().find(|(_, known)| known == name);
        found.map_or(NO_TOPIC, |(id, _)| *id)
    }

    pub(crate) fn set_session(&mut self, name: &str, id: i32) {
        self.sessions.insert(name.to_owned(), id);
    }

    /// The id of a session; that of no session if there is none of this name.
    pub(crate) fn session(&self, name: &str) -> i32 {
        let found = self.sessions.get(name);
        found.copied().unwrap_or(NO_SESSION)
    }

    /// Names a member whose id the broker chose.
    pub(crate) fn set_member(&mut self, name: &str, id: &str) {
        self.members.retain(|(_, known)| known != name);
        self.members.push((id.to_owned(), name.to_owned()));
    }

    /// The id of a member; its name if the broker gave it none.
    pub(crate) fn member(&self, name: &str) -> StrBytes {
        let found = self.members.iter().find(|(_, known)| known == name);
        StrBytes::from_string(found.map_or(name, |(id, _)| id).to_owned())
    }

    /// Makes a group one of those that lists are compared by: others are those of other subjects.
    pub(crate) fn add_group(&mut self, id: &str) {
        self.groups.insert(id.to_owned());
    }

    pub(crate) fn has_group(&self, id: &str) -> bool {
        self.groups.contains(id)
    }

    /// The value by which a field is compared.
    pub(crate) fn normal(&self, path: &str, value: String) -> String {
        let field = path.rsplit('.').next().unwrap_or(path);
        match field {
            "topic_id" => self.normal_topic(value),
            "session_id" => self.normal_session(value),
            "port" => self.normal_port(value),
            "member_id" | "leader" => self.normal_member(value),
            "controller_id" if value != "-1" => "a node".to_owned(),
            // the words are the broker's own
            "error_message" | "cluster_id" if value != "None" => "a text".to_owned(),
            // only InitProducerId has it at the top
            "producer_id" if path == field && value != "-1" => "an id".to_owned(),
            "log_append_time_ms" | "timestamp" | "max_timestamp" if is_now(&value) => {
                "now".to_owned()
            }
            _ => value,
        }
    }

    fn normal_topic(&self, value: String) -> String {
        let id: Option<Uuid> = value.parse().ok();
        match id {
            Some(id) => match self.topics.iter().find(|(known, _)| *known == id) {
                Some((_, name)) => format!("of {name}"),
                None if id.as_u128() <= u128::from(u32::MAX) => value,
                None => "a new one".to_owned(),
            },
            None => value,
        }
    }

    fn normal_session(&self, value: String) -> String {
        let known = self.sessions.iter().find(|(_, id)| id.to_string() == value);
        match known {
            Some((name, id)) if *id != 0 => format!("of {name}"),
            _ if value == "0" || value == NO_SESSION.to_string() => value,
            _ => "a new one".to_owned(),
        }
    }

    fn normal_member(&self, value: String) -> String {
        // strings come with their quotation marks
        let id = value.trim_matches('"');
        if let Some((_, name)) = self.members.iter().find(|(known, _)| known == id) {
            return format!("of {name}");
        }
        // the broker's own are random, but for what comes before
        let tail = |length: usize| {
            id.len()
                .checked_sub(length)
                .and_then(|at| id.split_at_checked(at))
        };
        match (tail(HYPHENATED), tail(BASE64)) {
            (Some((name, random)), _) if Uuid::try_parse(random).is_ok() => format!("{name}(UUID)"),
            (_, Some(("", _))) => "(UUID in Base64)".to_owned(),
            _ => value,
        }
    }

    fn normal_port(&self, value: String) -> String {
        let node = value
            .parse()
            .ok()
            .and_then(|port: u16| self.ports.get(&port));
        node.map_or(value, |node| format!("of node {node}"))
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.context("the clock is before 1970")?;
    Ok(i64::try_from(since.as_millis())?)
}

fn is_now(value: &str) -> bool {
    let distance = |time: i64| now_ms().map(|now| now.abs_diff(time));
    let time = value.parse().ok().map(distance);
    matches!(time, Some(Ok(distance)) if distance < NOW_MS.unsigned_abs())
}
