//! Averages, extremes and rates of the last minute, as the Java client samples its metrics: two windows of 30 s, its defaults of
//! `metrics.num.samples` and `metrics.sample.window.ms`.

use std::time::{Duration, Instant};

/// `metrics.sample.window.ms`.
const WINDOW: Duration = Duration::from_secs(30);

/// Values of the last 30 to 60 s. A fixed size, whatever is recorded.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// The newer one first.
    windows: [Option<Window>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Window {
    start: Instant,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

/// A reading of [`Samples`]. Without a value in the last minute there is no average, and no extreme.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampled {
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// How long they were recorded, no less than one window: what a rate is taken over.
    pub elapsed: Duration,
}

impl Sampled {
    /// The mean of the values.
    pub fn avg(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// Values per second.
    pub fn frequency(&self) -> f64 {
        per_second(self.count as f64, self.elapsed)
    }

    /// Sum of the values per second.
    pub fn rate(&self) -> f64 {
        per_second(self.sum, self.elapsed)
    }
}

fn per_second(amount: f64, elapsed: Duration) -> f64 {
    if elapsed.is_zero() {
        0.0
    } else {
        amount / elapsed.as_secs_f64()
    }
}

impl Samples {
    /// Adds a value.
    pub fn record(&mut self, now: Instant, value: f64) {
        match &mut self.windows[0] {
            Some(window) if now.saturating_duration_since(window.start) < WINDOW => {
                window.count += 1;
                window.sum += value;
                window.min = window.min.min(value);
                window.max = window.max.max(value);
            }
            newest => {
                let former = newest.replace(Window {
                    start: now,
                    count: 1,
                    sum: value,
                    min: value,
                    max: value,
                });
                self.windows[1] = former;
            }
        }
    }

    /// Adds a time, in milliseconds.
    pub fn record_time(&mut self, now: Instant, time: Duration) {
        self.record(now, time.as_secs_f64() * 1000.0);
    }

    /// What was recorded in the last minute.
    pub fn read(&self, now: Instant) -> Sampled {
        let age = |window: &Window| now.saturating_duration_since(window.start);
        let live = |window: &&Window| age(window) < 2 * WINDOW;
        let mut sampled = Sampled::default();
        for window in self.windows.iter().flatten().filter(live) {
            sampled.count += window.count;
            sampled.sum += window.sum;
            sampled.min = Some(sampled.min.map_or(window.min, |min| min.min(window.min)));
            sampled.max = Some(sampled.max.map_or(window.max, |max| max.max(window.max)));
            // as Java: what was recorded a moment ago does not count as the rate of that moment
            sampled.elapsed = sampled.elapsed.max(age(window)).max(WINDOW);
        }
        sampled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> Instant {
        tokio::time::Instant::now().into_std()
    }

    #[test]
    fn b206_average_and_maximum_of_throttle_times() {
        let now = start();
        let mut samples = Samples::default();
        for time in [100, 200, 300, 400] {
            samples.record_time(now, Duration::from_millis(time));
        }
        let sampled = samples.read(now);
        assert_eq!(sampled.avg(), Some(250.0));
        assert_eq!((sampled.min, sampled.max), (Some(100.0), Some(400.0)));
    }

    #[test]
    fn values_are_forgotten_window_by_window() {
        let begin = start();
        let mut samples = Samples::default();
        samples.record(begin, 9.0);
        samples.record(begin + Duration::from_secs(40), 1.0);
        let at = |seconds| samples.read(begin + Duration::from_secs(seconds));
        assert_eq!(at(59).max, Some(9.0));
        assert_eq!(at(60).max, Some(1.0));
        assert_eq!(at(100), Sampled::default());
    }

    #[test]
    fn a_rate_is_taken_over_one_window_at_least() {
        let begin = start();
        let mut samples = Samples::default();
        samples.record(begin, 60.0);
        assert_eq!(samples.read(begin).rate(), 2.0);
        samples.record(begin + Duration::from_secs(40), 20.0);
        let sampled = samples.read(begin + Duration::from_secs(40));
        assert_eq!(sampled.rate(), 2.0);
        assert_eq!(sampled.frequency(), 0.05);
    }

    #[test]
    fn f068_nothing_recorded_is_nothing_known() {
        let sampled = Samples::default().read(start());
        assert_eq!(
            (sampled.avg(), sampled.min, sampled.max),
            (None, None, None)
        );
        assert_eq!((sampled.rate(), sampled.frequency()), (0.0, 0.0));
    }
}
