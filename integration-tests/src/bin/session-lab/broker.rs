//! What the broker says of sessions: gauges and counters over JMX, and the lines of its log that say what became of each.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};

use anyhow::{Context, Result};
use integration_tests::kafka::Cluster;

use crate::mode::Mode;
use crate::setting::Load;

/// The listener of the readers that are measured: what goes through it is theirs alone.
const READERS: &str = "READERS";

/// Starts brokers with few session slots that log what they do with sessions.
pub(crate) fn start(load: &Load) -> Result<Cluster> {
    let kafka = Cluster::builder()
        .nodes(usize::try_from(load.brokers)?)
        .listener(READERS, "PLAINTEXT")
        .property(
            "max.incremental.fetch.session.cache.slots",
            &load.slots.to_string(),
        )
        .log_level("org.apache.kafka.server.FetchManager", "debug")
        .log_level("org.apache.kafka.server.FetchSessionCacheShard", "trace")
        .start()?;
    Ok(kafka)
}

/// Where the readers that are measured connect.
pub(crate) fn readers_address(kafka: &Cluster) -> Result<String> {
    let address = kafka.listener_address(1, READERS)?;
    Ok(address.context("the listener of the readers")?.to_string())
}

/// Sessions at one time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sessions {
    pub(crate) sessions: f64,
    pub(crate) partitions: f64,
}

impl Sessions {
    /// Of all brokers.
    pub(crate) fn read(kafka: &Cluster, load: &Load) -> Result<Self> {
        let pattern = "kafka.server:type=FetchSessionCache,name=NumIncrementalFetch*,*";
        let mut all = Self {
            sessions: 0.0,
            partitions: 0.0,
        };
        for node in 1..=load.brokers {
            for (bean, value) in kafka.metric(node, pattern, "Value")? {
                if bean.contains("NumIncrementalFetchSessions") {
                    all.sessions += value;
                } else if bean.contains("NumIncrementalFetchPartitionsCached") {
                    all.partitions += value;
                }
            }
        }
        Ok(all)
    }
}

/// What the brokers have counted since they started.
#[derive(Debug, Clone)]
pub(crate) struct Counters {
    pub(crate) evictions: f64,
    pub(crate) id_not_found: f64,
    /// All requests of the readers, of whatever type, and their bytes in and out.
    pub(crate) requests: f64,
    pub(crate) request_bytes: f64,
    pub(crate) response_bytes: f64,
    /// Where the log of each ends.
    logs: Vec<u64>,
}

impl Counters {
    pub(crate) fn read(kafka: &Cluster, load: &Load) -> Result<Self> {
        let readers = format!(
            "kafka.server:type=socket-server-metrics,listener={READERS},networkProcessor=*"
        );
        let sum = |pattern: &str, attribute: &str| -> Result<f64> {
            let mut sum = 0.0;
            for node in 1..=load.brokers {
                sum += kafka.metric_sum(node, pattern, attribute)?;
            }
            Ok(sum)
        };
        let of_readers = |attribute: &str| sum(&readers, attribute);
        let mut logs = Vec::new();
        for node in 1..=load.brokers {
            logs.push(kafka.log(node)?.metadata()?.len());
        }
        Ok(Self {
            evictions: sum(
                "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec*,*",
                "Count",
            )?,
            id_not_found: sum(
                "kafka.network:type=RequestMetrics,name=ErrorsPerSec,request=Fetch*,error=FETCH_SESSION_ID_NOT_FOUND",
                "Count",
            )?,
            requests: of_readers("response-total")?,
            request_bytes: of_readers("incoming-byte-total")?,
            response_bytes: of_readers("outgoing-byte-total")?,
            logs,
        })
    }
}

/// What the brokers have logged between two readings of its [`Counters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Logged {
    /// Requests with epoch 0 that were given a session, and those that were not.
    pub(crate) created: u64,
    pub(crate) refused: u64,
    /// Evictions of sessions that had not been used for longer than [`SESSION_AGE`](crate::setting::SESSION_AGE).
    pub(crate) evicted_by_age: u64,
    /// Evictions for a larger session.
    pub(crate) evicted_by_size: u64,
    /// Partitions that requests have taken out of their sessions.
    pub(crate) forgotten: u64,
}

impl Logged {
    pub(crate) fn between(kafka: &Cluster, from: &Counters, to: &Counters) -> Result<Self> {
        let mut logged = Self::default();
        for (node, (&from, &to)) in (1..).zip(from.logs.iter().zip(&to.logs)) {
            let mut log = File::open(kafka.log(node)?)?;
            log.seek(SeekFrom::Start(from))?;
            let mut left = to - from;
            for line in BufReader::new(log).lines() {
                let line = line?;
                let length = line.len() as u64 + 1;
                if length > left {
                    break;
                }
                left -= length;
                logged.count(&line)?;
            }
        }
        Ok(logged)
    }

    fn count(&mut self, line: &str) -> Result<()> {
        if line.contains(" Created fetch session ") {
            self.created += 1;
        } else if line.contains(" No fetch session created ") {
            self.refused += 1;
        } else if line.contains(" Evicting stale FetchSession ") {
            self.evicted_by_age += 1;
        } else if line.contains(" Evicting ") {
            self.evicted_by_size += 1;
        } else if line.contains(" Created a new incremental FetchContext ") {
            // …: added 0 partition(s), updated 2 partition(s), removed 0 partition(s)
            let removed = line
                .rsplit_once(" removed ")
                .and_then(|(_, rest)| rest.split_once(' '))
                .and_then(|(number, _)| number.parse::<u64>().ok());
            self.forgotten += removed.with_context(|| format!("the broker logged {line:?}"))?;
        }
        Ok(())
    }
}

/// Whether a broker's own counter and its log tell the same of evictions: if not, the log is not understood.
pub(crate) fn agree(mode: Mode, load: &Load, evictions: f64, logged: &Logged) -> Result<()> {
    let lines = logged.evicted_by_age + logged.evicted_by_size;
    anyhow::ensure!(
        (evictions - lines as f64).abs() <= f64::from(load.brokers),
        "{mode}: the brokers counted {evictions} evictions and logged {lines}"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_apache_kafka_4_4_are_counted() -> Result<()> {
        let session =
            "FetchSession(id=7, privileged=false, partitionMap.size=24, usesTopicIds=true)";
        let cache = "DEBUG org.apache.kafka.server.FetchSessionCacheShard - [Shard 0]";
        let requests = "DEBUG org.apache.kafka.server.FetchManager -";
        let incremental = "Created a new incremental FetchContext for session id 7, epoch 3:";
        let mut logged = Logged::default();
        for line in [
            format!("{cache} Created fetch session {session}"),
            format!("{cache} No fetch session created for privileged=false, size=24."),
            format!("{cache} No fetch session created for privileged=false, size=23."),
            format!("{cache} Evicting stale FetchSession 7."),
            format!("{cache} Evicting {session} with EvictableKey."),
            format!("{requests} Created a new full FetchContext with 24 partition(s)."),
            format!(
                "{requests} {incremental} added 1 partition(s), updated 2 partition(s), removed 0 partition(s)"
            ),
            format!(
                "{requests} {incremental} added 0 partition(s), updated 0 partition(s), removed 23 partition(s)"
            ),
        ] {
            logged.count(&line)?;
        }
        let expected = Logged {
            created: 1,
            refused: 2,
            evicted_by_age: 1,
            evicted_by_size: 1,
            forgotten: 23,
        };
        assert_eq!(logged, expected);
        let unknown = format!("{requests} {incremental} without numbers");
        assert!(logged.count(&unknown).is_err());
        Ok(())
    }
}
