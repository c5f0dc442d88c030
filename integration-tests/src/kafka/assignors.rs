//! The Java client's assignors, which need no cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cache::RunFolder;
use super::error::Result;
use super::helper::{Helper, LONG};
use super::jars::Jars;

/// Nothing connects to it.
const NO_CLUSTER: &str = "127.0.0.1:1";

/// A JVM with the assignors of the Java client. It ends when this is dropped.
#[derive(Debug)]
pub struct JavaAssignors {
    helper: Helper,
    // after the helper, which writes its log there
    _run: RunFolder,
}

/// What the leader of a group has before it when it assigns.
#[derive(Debug, Clone, Serialize)]
pub struct AssignCase {
    /// By name: for each partition, the racks of its replicas.
    pub topics: BTreeMap<String, Vec<Vec<String>>>,
    /// By member id.
    pub members: BTreeMap<String, CaseMember>,
}

/// A member of a group.
#[derive(Debug, Clone, Serialize)]
pub struct CaseMember {
    /// Its `group.instance.id`, if it is static.
    pub instance_id: Option<String>,
    /// The bytes it joined with.
    pub subscription: Vec<u8>,
}

/// What the Java client makes of a member.
#[derive(Debug, Clone, Deserialize)]
pub struct Assigned {
    /// The bytes that the leader sends for it.
    pub assignment: Vec<u8>,
    /// Its subscription, read and written again.
    pub subscription: Vec<u8>,
}

impl JavaAssignors {
    /// Starts the JVM.
    ///
    /// # Errors
    ///
    /// Those of [`Jars::fetch`], and [`Error::Io`](super::Error::Io).
    pub fn start() -> Result<Self> {
        let jars = Jars::fetch()?;
        let run = RunFolder::create()?;
        let helper = Helper::start(&jars, NO_CLUSTER, &run.path().join("helper.log"))?;
        Ok(Self { helper, _run: run })
    }

    /// What an assignor, named as in `partition.assignment.strategy`, gives each member of each case; or the exception
    /// that it ends with: its sticky ones do where claims are odd.
    ///
    /// # Errors
    ///
    /// [`Error::Command`](super::Error::Command) with the class of the Java exception.
    pub fn assign(
        &self,
        assignor: &str,
        cases: &[AssignCase],
    ) -> Result<Vec<Result<BTreeMap<String, Assigned>, String>>> {
        let arguments = json!({"assignor": assignor, "cases": cases});
        self.helper.call("assign", assignor, arguments, LONG)
    }
}
