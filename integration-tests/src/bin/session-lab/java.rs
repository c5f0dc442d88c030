//! Java clients, in processes of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use integration_tests::kafka::{Cluster, Jars, Process};

use crate::TOPIC;
use crate::mode::{Client, Version};
use crate::setting::{Habit, Load, PARTITIONS, PAUSE};

/// A process with Java clients. Dropping it kills it.
pub(crate) struct Clients {
    what: String,
    process: Process,
    out: PathBuf,
    err: PathBuf,
}

impl Clients {
    /// Writes to all clusters at the same time.
    pub(crate) fn write(load: &Load, jars: &Jars, clusters: &[&Cluster]) -> Result<Self> {
        let mut command = jars.java();
        command.args(["SessionLab", "write", TOPIC]);
        command.arg(PARTITIONS.to_string());
        command.arg(load.records.to_string());
        command.arg(load.record_bytes.to_string());
        command.arg(load.period.as_millis().to_string());
        command.args(clusters.iter().map(|kafka| kafka.bootstrap_servers()));
        let first = clusters.first().context("no cluster to write to")?;
        Self::start("writer", command, first)
    }

    /// As many consumers of one kind as the load says, which work on the records of a poll as it says. With a life and a rest, each is
    /// closed after the first, and another takes its place after the second.
    pub(crate) fn read(
        (client, version): (Client, Version),
        life: Option<(Duration, Duration)>,
        load: &Load,
        servers: &str,
        kafka: &Cluster,
    ) -> Result<Self> {
        let jars = match version {
            Version::V4_4_0 => Jars::fetch()?,
            Version::V3_9_1 => Jars::fetch_client_3_9()?,
        };
        let mut command = jars.java();
        command.args(["SessionLab", "read", TOPIC]);
        command.arg(PARTITIONS.to_string());
        command.arg(load.readers.to_string());
        let (life_span, rest) = life.unwrap_or_default();
        command.arg(life_span.as_millis().to_string());
        command.arg(rest.as_millis().to_string());
        command.arg(match load.habit {
            Habit::Assigned => "assigned".to_owned(),
            Habit::InGroup => "in-group".to_owned(),
            Habit::Pausing => PAUSE.as_millis().to_string(),
        });
        command.arg(load.work.0.as_millis().to_string());
        command.arg(load.work.1.as_millis().to_string());
        let properties = load.properties(servers).into_iter();
        command.args(properties.map(|(key, value)| format!("{key}={value}")));
        command.arg(format!("group.protocol={}", client.group_protocol()));
        // the one request more that only Java makes
        command.arg("enable.metrics.push=false");
        let what = format!(
            "{}-{version:?}-{}-{}",
            client.group_protocol(),
            load.readers,
            life_span.as_secs()
        );
        Self::start(&what, command, kafka)
    }

    fn start(what: &str, command: Command, kafka: &Cluster) -> Result<Self> {
        let log = kafka.log(1)?;
        let out = log.with_file_name(format!("{what}.out"));
        let err = log.with_file_name(format!("{what}.err"));
        Ok(Self {
            what: what.to_owned(),
            process: Process::spawn(&command, &out, &err)?,
            out,
            err,
        })
    }

    /// Records read so far, as of a second ago at most.
    pub(crate) fn records(&self) -> Result<u64> {
        let out = fs::read_to_string(&self.out)?;
        let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let last = whole.lines().last().unwrap_or("0");
        last.parse()
            .with_context(|| format!("{last:?} of {}", self.what))
    }

    /// That no client has failed.
    pub(crate) fn check(&mut self) -> Result<()> {
        if let Some(status) = self.process.ended()? {
            let err = fs::read_to_string(&self.err)?;
            bail!("{} ended, {status}: {err}", self.what);
        }
        Ok(())
    }
}
