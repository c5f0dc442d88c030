//! Groups, as the cluster describes them.

use serde::Deserialize;
use serde_json::json;

use super::cluster::Cluster;
use super::error::Result;
use super::helper::QUICK;

/// A group as the Java admin client describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GroupDescription {
    /// `Stable`, `Empty` and so on, as Kafka names them.
    pub state: String,
    /// `Classic` or `Consumer` (KIP-848). A group with members of both protocols is of the second.
    pub protocol: String,
    /// The assignor in use, by its short name; empty while there is none.
    pub assignor: String,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct GroupMember {
    /// Its member id.
    pub id: String,
    /// How many partitions it has.
    pub partitions: usize,
    /// Whether it speaks the protocol of KIP-848; `None` in a classic group.
    pub upgraded: Option<bool>,
}

/// # Groups
impl Cluster {
    /// Describes a group of consumers.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) with the class of the Java exception; `GroupIdNotFoundException` if there is no such group.
    pub fn describe_group(&self, group: &str) -> Result<GroupDescription> {
        self.helper
            .call("describe_group", group, json!({"group": group}), QUICK)
    }
}
