//! How much a client gets out of a long line: one partition, whose fetches can only follow one another, and eight, that one broker leads.
//!
//! Without work all clients get the same of eight: a full reply for each partition a round trip (`max.partition.fetch.bytes`), more is not to be had
//! of positions that are known with the reply before. So eight are read once more by an application that takes as long for a buffer as it takes to fetch.

use std::time::Duration;

use anyhow::Result;
use integration_tests::kafka::{Partitioning, ProduceSpec, Value};

use crate::client::{Client, DEFAULT, JAVA_ASYNC, Measured, Run};
use crate::report::{Verdict, fetching_takes, median};
use crate::{Course, behind_a_line, rounds};

const DELAY: Duration = Duration::from_millis(50);
const RECORD_BYTES: u32 = 1_000;
/// What a record takes in the log beside its value, at least.
const RECORD_OVERHEAD: u32 = 8;
/// The defaults of `max.partition.fetch.bytes` in all clients.
const PARTITION_FETCH_BYTES: u32 = 1 << 20;
/// Of full replies one after the other, each a round trip long.
const LEAST_OF_LINE: f64 = 0.9;
/// Of the faster one of Java's consumers.
const LEAST_OF_JAVA: f64 = 1.5;

const JAVA: [Client; 2] = [JAVA_ASYNC, Client::Java("classic")];
const CLIENTS: [Client; 3] = [DEFAULT, JAVA[0], JAVA[1]];

/// The topics, their partitions, and for each partition the records that are measured: some fifty replies.
const TOPICS: [(&str, i32); 2] = [("one", 1), ("eight", 8)];
const RECORDS: u64 = 50_000;
const SKIP: u64 = 10_000;

pub(crate) fn run(repeats: u32) -> Result<Vec<Verdict>> {
    let (kafka, servers) = behind_a_line(DELAY)?;
    let mut runs = Vec::new();
    let mut working = Vec::new();
    for (topic, partitions) in TOPICS {
        let each = partitions as u64;
        kafka.create_topic(topic, partitions, 1, &[])?;
        kafka.produce(ProduceSpec {
            topic: topic.into(),
            // the last answers are smaller: no client gets to them
            records: each * (SKIP + RECORDS) * 21 / 20,
            values: vec![Value::Random(RECORD_BYTES)],
            partitioning: Partitioning::RoundRobin,
            linger_ms: 5,
            ..ProduceSpec::default()
        })?;
        let course = Course {
            servers: servers.clone(),
            topic,
            partitions,
            properties: &[("enable.auto.commit", "false")],
            skip: each * SKIP,
            records: each * RECORDS,
        };
        let free = rounds(&CLIENTS, repeats, &course, Duration::ZERO, &kafka)?;
        if partitions > 1 {
            let work = fetching_takes(&free);
            working = rounds(&CLIENTS, repeats, &course, work, &kafka)?;
        }
        runs.push((partitions, "none", free));
    }
    runs.push((TOPICS[1].1, "as long", working));
    println!(
        "{} ms each way, values of {RECORD_BYTES} bytes, {RECORDS} records a partition after {SKIP}, medians of {repeats}\n",
        DELAY.as_millis(),
    );
    println!("{}", table(&runs));
    Ok(verdicts(&runs[0].2, &runs[2].2))
}

fn records_per_second(runs: &[Run], client: Client) -> f64 {
    1.0 / median(runs, client, Measured::seconds_per_record)
}

fn table(all: &[(i32, &str, Vec<Run>)]) -> String {
    let mut text = String::from(
        "| partitions | work | client | MB/s | ms/fetch | records/fetch |\n|--:|---|---|--:|--:|--:|\n",
    );
    for (partitions, work, runs) in all {
        for client in CLIENTS {
            text += &format!(
                "| {partitions} | {work} | {client} | {:.1} | {:.0} | {:.0} |\n",
                records_per_second(runs, client) * f64::from(RECORD_BYTES) / 1e6,
                median(runs, client, |one| {
                    one.seconds_per_record() * one.records_per_fetch() * 1e3
                }),
                median(runs, client, Measured::records_per_fetch),
            );
        }
    }
    text
}

/// Of one partition without work, and of eight with work.
fn verdicts(one: &[Run], eight: &[Run]) -> Vec<Verdict> {
    let full_reply = f64::from(PARTITION_FETCH_BYTES / (RECORD_BYTES + RECORD_OVERHEAD));
    let of_line = records_per_second(one, DEFAULT) * (2 * DELAY).as_secs_f64() / full_reply;
    let java = JAVA.map(|client| records_per_second(eight, client));
    let of_java = records_per_second(eight, DEFAULT) / java[0].max(java[1]);
    vec![
        Verdict {
            what: format!(
                "one partition, of a full reply each round trip: {of_line:.2}, at least {LEAST_OF_LINE}"
            ),
            reached: of_line >= LEAST_OF_LINE,
        },
        Verdict {
            what: format!(
                "eight partitions, with work, records per second, of the faster one of Java's consumers: {of_java:.2}, at least {LEAST_OF_JAVA}"
            ),
            reached: of_java >= LEAST_OF_JAVA,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(millis: [u64; 3]) -> Vec<Run> {
        let run = |(client, millis)| Run {
            client,
            measured: Measured {
                records: 10_400,
                time: Duration::from_millis(millis),
                polls: 100,
                fetches: 10,
            },
        };
        CLIENTS.into_iter().zip(millis).map(run).collect()
    }

    #[test]
    fn the_line_and_the_faster_one_of_javas_are_compared() {
        let reached = |one, eight| -> Vec<bool> {
            let verdicts = verdicts(&runs(one), &runs(eight));
            verdicts.iter().map(|verdict| verdict.reached).collect()
        };
        assert_eq!(reached([1_000, 1, 1], [1_000, 1_600, 1_900]), [true, true]);
        assert_eq!(reached([1_100, 1, 1], [1_000, 1_600, 1_400]), [true, false]);
        assert_eq!(
            reached([1_200, 1, 1], [1_000, 1_400, 1_600]),
            [false, false]
        );
    }
}
