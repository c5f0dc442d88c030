//! What this process has used.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(super) struct Cost {
    /// User and system time of all threads, those that ended included.
    pub(super) cpu: Duration,
    /// The most memory that was resident at any time.
    pub(super) max_rss_bytes: u64,
}

#[cfg(unix)]
impl Cost {
    /// Since the process began.
    pub(super) fn so_far() -> anyhow::Result<Self> {
        use nix::sys::resource::{UsageWho, getrusage};

        /// The kernel counts in these: bytes on macOS, KiB elsewhere.
        const UNIT: u64 = if cfg!(target_vendor = "apple") {
            1
        } else {
            1024
        };

        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok(Self {
            cpu: duration(usage.user_time()) + duration(usage.system_time()),
            max_rss_bytes: u64::try_from(usage.max_rss())? * UNIT,
        })
    }
}

#[cfg(unix)]
fn duration(time: nix::sys::time::TimeVal) -> Duration {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec()).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

#[cfg(not(unix))]
impl Cost {
    /// Since the process began.
    pub(super) fn so_far() -> anyhow::Result<Self> {
        anyhow::bail!("CPU time and memory of the process are told by Unix systems only")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn work_and_memory_are_counted() {
        let before = Cost::so_far().unwrap();
        let bytes = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = Cost::so_far().unwrap();
        assert!(after.cpu > before.cpu, "{before:?}, {after:?}");
        assert!(after.max_rss_bytes >= bytes.len() as u64, "{after:?}");
        assert!(after.max_rss_bytes < 1 << 40, "{after:?}");
    }
}
