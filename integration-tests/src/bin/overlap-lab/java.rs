//! The Java client, in a process of its own.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use integration_tests::kafka::{Cluster, Jars};

use crate::Course;
use crate::client::Measured;

pub(crate) fn read(
    protocol: &str,
    course: &Course,
    work: Duration,
    kafka: &Cluster,
) -> Result<Measured> {
    let mut command = Jars::fetch()?.java();
    // as users run it
    command.args(["-XX:TieredStopAtLevel=4", "OverlapLab", course.topic]);
    command.arg(course.partitions.to_string());
    command.arg(course.skip.to_string());
    command.arg(course.records.to_string());
    command.arg(work.as_nanos().to_string());
    command.arg(format!("bootstrap.servers={}", course.servers));
    command.arg(format!("group.protocol={protocol}"));
    command.arg("auto.offset.reset=earliest");
    command.arg("enable.metrics.push=false");
    let properties = course.properties.iter();
    command.args(properties.map(|(key, value)| format!("{key}={value}")));
    let log = kafka.log(1)?.with_file_name("overlap.err");
    let output = command.stderr(std::fs::File::create(&log)?).output()?;
    let line = String::from_utf8(output.stdout)?;
    ensure!(
        output.status.success(),
        "{}: {}",
        output.status,
        std::fs::read_to_string(log)?
    );
    let numbers: Vec<u64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("it printed {line:?}"))?;
    let [records, nanos, polls, fetches] = numbers[..] else {
        anyhow::bail!("it printed {line:?}");
    };
    Ok(Measured {
        records,
        time: Duration::from_nanos(nanos),
        polls,
        fetches,
    })
}
