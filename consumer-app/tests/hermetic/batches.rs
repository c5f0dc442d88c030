//! `poll_batches`: whole batches, decoded elsewhere.

use std::time::Duration;

use consumer_app::{Batches, Consumer, Error, PartitionBatches};
use record_batch::Compression;
use test_broker::TestBroker;

use crate::support::{broker, builder, consumer, offsets, poll, poll_error, run, tp};

async fn poll_batches(consumer: &mut Consumer) -> Batches {
    consumer
        .poll_batches(Duration::from_secs(5))
        .await
        .expect("batches")
}

fn produce_zstd(broker: &TestBroker, partition: i32, count: usize) {
    let values = (0..count).map(|value| format!("value {value}"));
    broker
        .produce_compressed("t", partition, Compression::Zstd, values)
        .expect("appended");
}

#[test]
fn batches_are_decoded_on_other_threads_and_the_position_moves_past_them() {
    fn assert_send<T: Send + 'static>(_: &T) {}
    run(async {
        let broker = broker(2);
        for partition in 0..2 {
            produce_zstd(&broker, partition, 100);
            produce_zstd(&broker, partition, 100);
        }
        // max.poll.records is of no meaning for whole batches
        let mut consumer = builder(&broker)
            .set("max.poll.records", "1")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0), tp(1)]).await.unwrap();
        let mut threads = Vec::new();
        while threads.len() < 2 {
            for batches in poll_batches(&mut consumer).await.into_partitions() {
                assert_send(&batches);
                assert_eq!(batches.next_offset(), 200);
                assert!(batches.bytes() < 200 * "value".len(), "still compressed");
                threads.push(std::thread::spawn(move || batches.decode()));
            }
        }
        for thread in threads {
            let records = thread.join().unwrap().unwrap();
            let read: Vec<i64> = records.iter().map(|record| record.offset()).collect();
            assert_eq!(read, (0..200).collect::<Vec<_>>());
        }
        assert_eq!(consumer.position(&tp(0)), Some(200));
        assert_eq!(consumer.position(&tp(1)), Some(200));
        produce_zstd(&broker, 0, 1);
        assert_eq!(offsets(&poll(&mut consumer).await), [200]);
    });
}

#[test]
fn what_a_poll_began_is_given_by_poll_batches_from_where_it_stands() {
    run(async {
        let broker = broker(1);
        produce_zstd(&broker, 0, 10);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "4")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(offsets(&poll(&mut consumer).await), [0, 1, 2, 3]);
        let batches: Vec<PartitionBatches> = poll_batches(&mut consumer)
            .await
            .into_partitions()
            .collect();
        assert_eq!(batches.len(), 1);
        for batches in batches {
            let records = batches.decode().unwrap();
            let read: Vec<i64> = records.iter().map(|record| record.offset()).collect();
            assert_eq!(read, [4, 5, 6, 7, 8, 9]);
        }
    });
}

#[test]
fn f050_a_batch_that_cannot_be_decoded_elsewhere_is_the_next_polls_error_its_position_still_there()
{
    run(async {
        let broker = broker(2);
        produce_zstd(&broker, 0, 5);
        let mut bad = test_broker::BatchBuilder::new()
            .base_offset(5)
            .record("six")
            .build()
            .to_vec();
        let last = bad.len() - 1;
        bad[last] ^= 1;
        broker.append_raw("t", 0, &bad.into()).unwrap();
        produce_zstd(&broker, 0, 5);
        produce_zstd(&broker, 1, 3);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0), tp(1)]).await.unwrap();
        let mut failures = 0;
        let mut good = Vec::new();
        while failures == 0 {
            for batches in poll_batches(&mut consumer).await.into_partitions() {
                let partition = batches.topic_partition().partition();
                match batches.decode() {
                    Ok(records) => good.extend(records.iter().map(|r| (partition, r.offset()))),
                    Err(failed) => {
                        failures += 1;
                        let decoded = failed.decoded.iter();
                        good.extend(decoded.map(|r| (partition, r.offset())));
                        assert!(matches!(
                            *failed.source,
                            Error::CorruptBatch { position: 5, .. }
                        ));
                    }
                }
            }
        }
        good.sort_unstable();
        let expected: Vec<_> = (0..5)
            .map(|o| (0, o))
            .chain((0..3).map(|o| (1, o)))
            .collect();
        assert_eq!(good, expected);
        // told by the consumer too, again and again, its position before the bad batch
        for _ in 0..2 {
            let error = poll_error(&mut consumer).await;
            assert!(
                matches!(error, Error::CorruptBatch { position: 5, .. }),
                "{error}"
            );
            assert_eq!(consumer.position(&tp(0)), Some(5));
        }
        // the other partition goes on, and a seek steps over it
        produce_zstd(&broker, 1, 1);
        assert_eq!(offsets(&poll(&mut consumer).await), [3]);
        consumer.seek(&tp(0), 6).await.unwrap();
        assert_eq!(offsets(&poll(&mut consumer).await), [6, 7, 8, 9, 10]);
    });
}

#[test]
fn a_seek_while_batches_are_decoded_elsewhere_wins() {
    run(async {
        let broker = broker(1);
        produce_zstd(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let batches = poll_batches(&mut consumer).await;
        consumer.seek(&tp(0), 3).await.unwrap();
        for batches in batches.into_partitions() {
            batches.decode().unwrap();
        }
        assert_eq!(consumer.position(&tp(0)), Some(3));
        assert_eq!(offsets(&poll(&mut consumer).await)[0], 3);
    });
}
