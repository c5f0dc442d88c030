//! Polls that are dropped each millisecond.

use std::time::Duration;

use tokio::time::{Instant, interval};

use super::AT_ONCE;
use crate::support::delivered::Delivered;
use crate::support::traffic::fetches;
use crate::support::{broker_of, consumer, partitions, produce, run};

#[test]
fn f060_a_poll_dropped_each_millisecond_makes_progress_and_loses_nothing() {
    run(async {
        let broker = broker_of(3, 6);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(6)).await.unwrap();
        let mut delivered = Delivered::default();
        let mut tick = interval(Duration::from_millis(1));
        let (mut produced, mut dropped, mut longest) = (0, 0, Duration::ZERO);
        let mut since = Instant::now();
        for millisecond in 0..20_000 {
            if millisecond % 10 == 0 {
                // the one before came
                assert_eq!(delivered.records, produced, "after {millisecond} ms");
                produce(&broker, millisecond / 10 % 6, 1);
                produced += 1;
                since = Instant::now();
            }
            tokio::select! {
                biased;
                _ = tick.tick() => dropped += 1,
                records = consumer.poll(Duration::from_secs(5)) => {
                    delivered.take(&records.unwrap());
                    // the very first one waits for metadata and positions
                    if delivered.records > 1 {
                        longest = longest.max(since.elapsed());
                    }
                }
            }
        }
        assert_eq!(produced, 2_000);
        assert!(dropped > 15_000, "{dropped}");
        assert!(longest <= AT_ONCE + Duration::from_millis(1), "{longest:?}");
        // a dropped poll asks for nothing again
        let requests = fetches(&broker).len();
        assert!(requests <= 2_000 + 3 * 42 + 50, "{requests} requests");
    });
}
