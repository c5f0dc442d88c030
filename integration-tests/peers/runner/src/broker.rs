//! The broker, and what it counts.

use std::fs;

use anyhow::{Context, Result};
use integration_tests::kafka::Cluster;

/// USER_HZ, which is 100 wherever Linux runs.
const TICKS: f64 = 100.0;

pub(crate) fn start() -> Result<Cluster> {
    Ok(Cluster::builder()
        // as in production: both compilers, and a heap that is no matter
        .jvm_option("-XX:TieredStopAtLevel=4")
        .jvm_option("-Xmx1g")
        .start()?)
}

/// What the broker and the machine have done so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counters {
    /// Fetch requests, of whatever client.
    pub(crate) fetches: f64,
    /// Bytes of records that left the broker, of one topic.
    pub(crate) bytes_out: f64,
    /// The broker's processor time, in seconds.
    pub(crate) broker_cpu: f64,
    /// That of everything on the machine.
    pub(crate) machine_cpu: f64,
}

impl Counters {
    pub(crate) fn read(kafka: &Cluster, topic: &str) -> Result<Self> {
        let fetches =
            "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Fetch,version=*";
        let bytes =
            format!("kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic={topic}");
        // the nodes come first
        let broker = *kafka.pids().first().context("there is no broker")?;
        Ok(Self {
            fetches: kafka.metric_sum(1, fetches, "Count")?,
            bytes_out: kafka.metric_sum(1, &bytes, "Count")?,
            broker_cpu: process_cpu(broker)?,
            machine_cpu: machine_cpu()?,
        })
    }
}

fn process_cpu(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).context("the broker has ended")?;
    // the name, in brackets, may have blanks
    let (_, fields) = stat.rsplit_once(')').context("/proc/PID/stat")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks =
        |at: usize| -> Result<f64> { Ok(fields.get(at).context("/proc/PID/stat")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) / TICKS)
}

/// All that processes of this machine have used: idle time, waiting for disks, and what a hypervisor took are not in it.
fn machine_cpu() -> Result<f64> {
    let stat = fs::read_to_string("/proc/stat")?;
    let fields = stat.lines().next().context("/proc/stat")?;
    let ticks: Vec<f64> = fields
        .split_whitespace()
        .skip(1)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let [
        user,
        nice,
        system,
        _idle,
        _wait,
        interrupt,
        soft_interrupt,
        ..,
    ] = ticks[..]
    else {
        anyhow::bail!("/proc/stat begins with {fields}");
    };
    Ok((user + nice + system + interrupt + soft_interrupt) / TICKS)
}
