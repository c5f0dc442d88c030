//! Our consumer.

use std::time::{Duration, Instant};

use anyhow::Result;
use consumer_app::{Consumer, OffsetReset, Policy, TopicPartition};

use crate::Course;
use crate::client::Measured;

const POLL: Duration = Duration::from_secs(1);

/// The consumer has a thread of its own, and so has the application, which blocks it.
pub(crate) fn read(policy: Policy, course: &Course, work: Duration) -> Result<Measured> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut builder = Consumer::builder()
            .bootstrap_servers(&course.servers)
            .auto_offset_reset(OffsetReset::Earliest)
            .fetch_policy(policy);
        for (key, value) in course.properties {
            builder = builder.set(key, value);
        }
        let mut consumer = builder.build().await?;
        let partitions =
            (0..course.partitions).map(|index| TopicPartition::new(course.topic, index));
        consumer.assign(partitions).await?;
        let mut work = Work {
            each: work,
            owed: 0,
        };
        let mut skipped = 0;
        while skipped < course.skip {
            skipped += work.on(consumer.poll(POLL).await?.len());
        }
        let before = consumer.metrics().await?.fetch_requests;
        let begun = Instant::now();
        let (mut records, mut polls) = (0, 0);
        while records < course.records {
            records += work.on(consumer.poll(POLL).await?.len());
            polls += 1;
        }
        let time = begun.elapsed();
        let fetches = consumer.metrics().await?.fetch_requests - before;
        consumer.close(POLL).await?;
        Ok(Measured {
            records,
            time,
            polls,
            fetches,
        })
    })
}

/// Work that needs no processor. A rest that was too long is taken off the next one.
struct Work {
    each: Duration,
    owed: i64,
}

impl Work {
    /// Works on so many records and says how many they were.
    fn on(&mut self, records: usize) -> u64 {
        self.owed += (self.each.as_nanos() * records as u128) as i64;
        while let Ok(nanos @ 1..) = u64::try_from(self.owed) {
            let begun = Instant::now();
            std::thread::sleep(Duration::from_nanos(nanos));
            self.owed -= begun.elapsed().as_nanos() as i64;
        }
        records as u64
    }
}
