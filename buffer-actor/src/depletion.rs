//! For how long something was used up.

use std::time::{Duration, Instant};

/// Adds up the times during which it was so.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Depletion {
    since: Option<Instant>,
    total: Duration,
}

impl Depletion {
    /// How it is from now on.
    pub(crate) fn observe(&mut self, now: Instant, is_depleted: bool) {
        match (self.since, is_depleted) {
            (None, true) => self.since = Some(now),
            (Some(since), false) => {
                self.total += now.saturating_duration_since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    /// How long it was so, what lasts still included.
    pub(crate) fn total(&self, now: Instant) -> Duration {
        let lasting = self.since.map(|since| now.saturating_duration_since(since));
        self.total + lasting.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_while_it_lasts_and_after() {
        let start = tokio::time::Instant::now().into_std();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut depletion = Depletion::default();
        depletion.observe(at(1), true);
        depletion.observe(at(2), true);
        assert_eq!(depletion.total(at(3)), Duration::from_secs(2));
        depletion.observe(at(4), false);
        depletion.observe(at(5), false);
        depletion.observe(at(6), true);
        assert_eq!(depletion.total(at(8)), Duration::from_secs(5));
    }
}
