//! When and on what machine it was measured.

use std::fs;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Setup {
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) short: bool,
}

impl Setup {
    pub(crate) fn now(short: bool) -> Result<Self> {
        Ok(Self {
            date: jiff::Timestamp::now().strftime("%F").to_string(),
            machine: machine()?,
            short,
        })
    }
}

fn machine() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let value = |line: &str| {
        line.split_once(':')
            .map(|(_, value)| value.trim().to_owned())
    };
    let model = cpu
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(value)
        .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = fs::read_to_string("/proc/meminfo")?;
    let kib: f64 = memory
        .split_whitespace()
        .nth(1)
        .context("/proc/meminfo")?
        .parse()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    Ok(format!(
        "{model}, {} cores, {:.0} GB, Linux {}; Apache Kafka 4.4.0",
        std::thread::available_parallelism()?,
        kib * 1024.0 / 1e9,
        kernel.trim()
    ))
}
