//! Runs that were not made, for tests.

use crate::run::{Pass, Run};

/// One pass of a million records of 100 bytes and keys of 10, with a log of 100 MiB that was fetched once, in 100 requests.
pub(crate) fn run(round: usize, topic: &str, peer: &str, cpu_ns: f64, mb_per_s: f64) -> Run {
    let (records, bytes) = (1_000_000, 110_000_000);
    let log = 100.0 * 1024.0 * 1024.0;
    Run {
        round,
        topic: topic.to_owned(),
        peer: peer.to_owned(),
        log,
        passes: vec![Pass {
            client: format!("{peer} 1.0"),
            records,
            bytes,
            wall_s: bytes as f64 / 1e6 / mb_per_s,
            cpu_s: cpu_ns * records as f64 / 1e9,
            max_rss: 20_000_000,
            checksum: "0".to_owned(),
            polls: 1,
        }],
        counted: 1,
        fetches: 100.0,
        bytes_out: log,
        broker_cpu_s: 0.1,
        other_load: 0.0,
    }
}
