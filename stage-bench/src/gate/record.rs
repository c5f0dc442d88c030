//! The record of counts, a file of the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

const HEAD: &str = "\
# Instructions of each stage under callgrind; a stage that takes 5 % more than is written here fails.
# Written by `UPDATE_COUNTS=1 cargo run -p stage-bench`: see docs/decisions/instruction-counts.md.

";

/// What the counts depend on besides the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tools {
    pub(crate) rustc: String,
    pub(crate) valgrind: String,
    pub(crate) target: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) tools: Tools,
    pub(crate) instructions: BTreeMap<String, u64>,
}

impl Record {
    pub(crate) const fn new(tools: Tools) -> Self {
        Self {
            tools,
            instructions: BTreeMap::new(),
        }
    }

    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path);
        let text = text.with_context(|| format!("read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("read {}", path.display()))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{HEAD}{}", toml::to_string(self)?);
        fs::write(path, text).with_context(|| format!("write {}", path.display()))
    }
}
