//! One process, and what it tells of itself.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use integration_tests::kafka::Jars;

use crate::case::{Application, Case, Client, Extent, NODES, PARTITIONS};

/// What a process told.
#[derive(Debug, Clone, Default)]
pub(crate) struct Measured {
    /// By moment and name.
    values: BTreeMap<(String, String), u64>,
}

impl Measured {
    pub(crate) fn get(&self, moment: &str, name: &str) -> Option<u64> {
        let key = (moment.to_owned(), name.to_owned());
        self.values.get(&key).copied()
    }

    /// What is told at the end, 0 by a client that has nothing like it.
    pub(crate) fn end(&self, name: &str) -> u64 {
        self.get("end", name).unwrap_or(0)
    }

    /// Connections beyond two to each node: lane 2 is opened when it is first needed.
    pub(crate) fn reconnects(&self) -> u64 {
        self.end("connections").saturating_sub(2 * NODES as u64)
    }

    pub(crate) fn parse(output: &str) -> Result<Self> {
        let mut values = BTreeMap::new();
        for line in output.lines() {
            let mut words = line.split_whitespace();
            let moment = words.next().unwrap_or_default();
            for word in words {
                let (name, value) = word.split_once('=').with_context(|| line.to_owned())?;
                let value = value.parse().with_context(|| line.to_owned())?;
                values.insert((moment.to_owned(), name.to_owned()), value);
            }
        }
        Ok(Self { values })
    }
}

/// How many records the application reads.
pub(crate) fn records(case: &Case) -> u32 {
    match case.application {
        Application::Stop | Application::Keep => case.load.records,
        Application::One => case.load.records_of(0),
    }
}

/// Runs one case to its end.
pub(crate) fn measure(case: &Case, extent: Extent, servers: &str) -> Result<Measured> {
    let stop = extent.stop().as_millis().to_string();
    let records = records(case).to_string();
    let mut command = match case.client {
        Client::Ours(memory) => {
            let mut command = Command::new(std::env::current_exe()?);
            let application = match case.application {
                Application::Stop => "stop",
                Application::Keep => "keep",
                Application::One => "one",
            };
            command.args(["read", "--servers", servers, "--topic", case.load.topic]);
            command.args(["--records", &records, "--memory", &memory.to_string()]);
            command.args(["--application", application, "--stop-ms", &stop]);
            command
        }
        Client::Java => {
            let mut command = Jars::fetch()?.java();
            command.args(["MemoryLab", servers, case.load.topic]);
            command.args([&PARTITIONS.to_string(), &records, &stop]);
            command
        }
    };
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(
        output.status.success(),
        "{} of {}: {}",
        case.client,
        case.load.topic,
        output.status
    );
    Measured::parse(&String::from_utf8(output.stdout)?)
}
