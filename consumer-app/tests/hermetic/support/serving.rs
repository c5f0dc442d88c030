//! Brokers that give bytes of the test's own making in place of their records.

use bytes::Bytes;
use consumer_app::Consumer;
use record_batch::Compression;
use test_broker::{BatchBuilder, Fault, TestBroker};

use super::{broker, builder, tp};

/// Every codec.
pub(crate) const CODECS: [Compression; 5] = [
    Compression::None,
    Compression::Gzip,
    Compression::Snappy,
    Compression::Lz4,
    Compression::Zstd,
];

/// A broker that gives the bytes once for partition 0, asked for at `first`; behind them, at `next`, its log goes on.
pub(crate) fn serving(bytes: &Bytes, next: i64) -> TestBroker {
    let broker = broker(2);
    let tail = BatchBuilder::new().base_offset(next).record("tail");
    broker.append_raw("t", 0, &tail.build()).unwrap();
    broker.inject(Fault::records(bytes.clone()).partition("t", 0).times(1));
    broker
}

/// A consumer without a reset policy, of partition 0 from an offset on.
pub(crate) async fn reading_from(broker: &TestBroker, first: i64) -> Consumer {
    let consumer = builder(broker)
        .set("auto.offset.reset", "none")
        .spawn_local()
        .unwrap();
    consumer.assign_at([(tp(0), first)]).await.unwrap();
    consumer
}
