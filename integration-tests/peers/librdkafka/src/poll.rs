//! A record per call, through the crate's consumer.

use std::time::Duration;

use anyhow::Result;
use contract::{Arguments, Meter, Tally};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};

const WAIT: Duration = Duration::from_secs(1);
/// The clock is looked at once in so many calls.
const CHECK_EACH: u64 = 4096;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut config = ClientConfig::new();
    for (key, value) in crate::properties(arguments) {
        config.set(key, value);
    }
    let consumer: BaseConsumer = config.create()?;
    let mut all = TopicPartitionList::new();
    for partition in 0..arguments.partitions {
        all.add_partition_offset(&arguments.topic, partition, Offset::Beginning)?;
    }
    for _ in 0..arguments.passes {
        let meter = Meter::begin(arguments)?;
        consumer.assign(&all)?;
        let mut tally = Tally::default();
        while tally.records() < arguments.records {
            tally.polled();
            if let Some(polled) = consumer.poll(WAIT) {
                let record = polled?;
                let length = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
                tally.add(
                    record.offset(),
                    length(record.key()),
                    length(record.payload()),
                );
            } else {
                meter.check(&tally)?;
            }
            if tally.polls().is_multiple_of(CHECK_EACH) {
                meter.check(&tally)?;
            }
        }
        meter.end(&crate::client(), &tally)?;
        consumer.unassign()?;
    }
    Ok(())
}
