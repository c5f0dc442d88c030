//! Batches that cannot be read: an error of their partition, with the offset behind them, until the application seeks.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use consumer_app::{Error, PartitionError, TopicPartition};
use record_batch::{BatchErrorKind, Compression};
use test_broker::{BatchBuilder, Fault, TestBroker};

use crate::support::serving::{CODECS, reading_from, serving};
use crate::support::traffic::{asked_at, asked_offsets};
use crate::support::vectors;
use crate::support::{
    broker, builder, consumer, offsets, offsets_of, partitions, poll, poll_error, produce, read,
    run, tp,
};

/// In the middle of a log a batch is corrupt, on its way to us only; partition 1 is sound.
#[test]
fn f050_b079_b080_b085_b190_a_corrupt_batch_is_an_error_until_the_application_seeks() {
    run(async {
        let broker = broker(2);
        for _ in 0..3 {
            produce(&broker, 0, 3);
        }
        let size = usize::try_from(broker_bytes(&broker).await).unwrap() / 3;
        // a byte of the second batch's records, in every answer
        broker.inject(Fault::flip_records(size + 70, 0x40).partition("t", 0));
        broker.clear_requests();
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        assert_eq!(offsets(&poll(&mut consumer).await), [0, 1, 2]);
        let begun = tokio::time::Instant::now();
        for telling in 0..6 {
            let error = poll_error(&mut consumer).await;
            let Error::CorruptBatch {
                partition,
                position,
                source,
            } = &error
            else {
                panic!("{error}");
            };
            assert_eq!((partition, *position), (&tp(0), 3));
            assert_eq!((source.base_offset(), source.last_offset()), (3, Some(5)));
            assert!(!source.offsets_verified());
            assert!(matches!(source.kind(), BatchErrorKind::WrongCrc { .. }));
            assert!(error.to_string().contains("seek to 6"), "{error}");
            // the other partition goes on in between
            produce(&broker, 1, 2);
            let next = 2 * telling;
            assert_eq!(offsets_of(&poll(&mut consumer).await, 1), [next, next + 1]);
        }
        // repeated at the pace of a retry: 0.1, 0.2, 0.4, 0.8, 1 s
        assert!(begun.elapsed() >= Duration::from_secs(2));
        let fetched = asked_offsets(&broker, &tp(0));
        assert_eq!(fetched, [0, 9]);
        broker.clear_faults();
        consumer.seek(&tp(0), 6).await.unwrap();
        assert_eq!(read(&mut consumer, 3).await, [6, 7, 8]);
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [9]);
    });
}

/// Bytes of the records of partition 0, as the broker sends them.
async fn broker_bytes(broker: &TestBroker) -> u64 {
    let before = broker.counters().record_bytes_sent;
    let mut consumer = consumer(broker);
    consumer.assign([tp(0)]).await.unwrap();
    poll(&mut consumer).await;
    consumer.close(Duration::from_secs(1)).await.unwrap();
    broker.counters().record_bytes_sent - before
}

#[test]
fn b079_without_checks_a_bad_crc_is_not_looked_at() {
    run(async {
        let broker = serving(&vectors::named("BADCRC").bytes, 3);
        let mut consumer = builder(&broker)
            .set("check.crcs", "false")
            .spawn_local()
            .unwrap();
        consumer.assign_at([(tp(0), 0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 4).await, [0, 1, 2, 3]);
    });
}

/// Each message of the old formats has a CRC of its own.
#[test]
fn b081_a_bad_message_of_the_old_format_stops_there() {
    run(async {
        // length, CRC-32, magic 0, attributes 0, key "k", value "v"
        let content = *b"\0\0\0\x10\x1f\xec\xd7\x0a\0\0\0\0\0\x01k\0\0\0\x01v";
        let v0 = |offset: i64, damage: u8| {
            let mut message = [&offset.to_be_bytes()[..], &content].concat();
            message[15] ^= damage;
            message
        };
        let log = [v0(0, 0), v0(1, 1), v0(2, 0)].concat();
        let broker = broker(1);
        broker.append_raw("t", 0, &Bytes::from(log)).unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(offsets(&poll(&mut consumer).await), [0]);
        for _ in 0..2 {
            poll_error(&mut consumer).await;
            assert_eq!(consumer.position(&tp(0)), Some(1));
        }
        consumer.seek(&tp(0), 2).await.unwrap();
        assert_eq!(read(&mut consumer, 1).await, [2]);
    });
}

#[test]
fn b082_unknown_magic_and_codec_are_named() {
    let sound = BatchBuilder::new().record("r").build();
    let mut magic = BytesMut::from(&sound[..]);
    magic[16] = 9;
    let mut codec = BytesMut::from(&sound[..]);
    codec[22] = 7;
    record_batch::produced::write_crc(&mut codec).unwrap();
    for (bytes, named) in [(magic, "unknown magic 9"), (codec, "codec 7")] {
        run(async {
            let broker = serving(&bytes.freeze(), 50);
            let mut consumer = reading_from(&broker, 0).await;
            for _ in 0..2 {
                let error = poll_error(&mut consumer).await.to_string();
                assert!(error.contains(named), "{error}");
            }
            consumer.seek(&tp(0), 50).await.unwrap();
            assert_eq!(read(&mut consumer, 1).await, [50]);
        });
    }
}

#[test]
fn f052_b086_a_bomb_is_bounded_by_the_cap_and_can_be_stepped_over() {
    for codec in CODECS {
        if codec == Compression::None {
            continue;
        }
        run(async {
            let broker = broker(1);
            produce(&broker, 0, 1);
            let bomb = BatchBuilder::new().compression(codec).base_offset(1);
            let bomb = bomb.record(vec![0_u8; 8 << 20]).build();
            broker.append_raw("t", 0, &bomb).unwrap();
            produce(&broker, 0, 1);
            let mut consumer = builder(&broker)
                .set("max.decompressed.batch.bytes", "1000000")
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            assert_eq!(offsets(&poll(&mut consumer).await), [0]);
            let error = poll_error(&mut consumer).await;
            let Error::CorruptBatch { source, .. } = &error else {
                panic!("{error}");
            };
            assert!(source.kind().is_too_large(), "{error}");
            assert_eq!(source.step_over(), Some(2));
            let used = consumer.metrics().await.unwrap().memory_used;
            assert!(used < 4 << 20, "{codec}: {used}");
            consumer.seek(&tp(0), 2).await.unwrap();
            assert_eq!(read(&mut consumer, 1).await, [2], "{codec}");
        });
    }
}

/// What cannot be read takes no memory from what can: with the budget small, large batches of the others come.
#[test]
fn f015_a_batch_that_cannot_be_read_holds_no_memory_of_the_others() {
    run(async {
        let broker = broker(2);
        let large = [("max.message.bytes", "100000000")];
        broker.create_topic_with("large", 1, large).unwrap();
        let bad = BatchBuilder::new().record(vec![b'x'; 300_000]).build();
        let mut bad = bad.to_vec();
        bad[100] ^= 1;
        broker.append_raw("t", 0, &bad.into()).unwrap();
        for _ in 0..3 {
            let record = vec![b'x'; 8 << 20];
            broker.produce("large", 0, [record]).unwrap();
        }
        let mut consumer = builder(&broker)
            .set("buffer.memory", "1048576")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let error = poll_error(&mut consumer).await;
        assert!(matches!(error, Error::CorruptBatch { .. }), "{error}");
        consumer
            .assign([tp(0), TopicPartition::new("large", 0)])
            .await
            .unwrap();
        let mut given = 0;
        let begun = tokio::time::Instant::now();
        while given < 3 {
            // the error is told again now and then
            given += consumer
                .poll(Duration::from_secs(5))
                .await
                .map_or(0, |records| records.len());
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(60), "{given} came");
        }
        let now = consumer.metrics().await.unwrap();
        assert_eq!(now.discarded_replies, 0, "{now:?}");
    });
}

/// Bytes that bring no offset forward: an error, slow repetition, and the neighbour is not held up.
#[test]
fn b039_b073_answers_without_progress_do_not_spin() {
    let below = BatchBuilder::new().record("below the position").build();
    for bytes in [Bytes::from_static(&[0; 8]), below] {
        run(async {
            let broker = broker(2);
            let tail = BatchBuilder::new().base_offset(10).record("tail").build();
            broker.append_raw("t", 0, &tail).unwrap();
            let fault = broker.inject(Fault::records(bytes).partition("t", 0));
            let mut consumer = reading_from(&broker, 5).await;
            consumer.assign_at([(tp(0), 5), (tp(1), 0)]).await.unwrap();
            let error = poll_error(&mut consumer).await;
            let Error::Partition(PartitionError::NoProgress {
                partition,
                offset: 5,
            }) = &error
            else {
                panic!("{error}");
            };
            assert_eq!(*partition, tp(0));
            assert_eq!(consumer.position(&tp(0)), Some(5));
            broker.clear_requests();
            let mut next = 0;
            let started = tokio::time::Instant::now();
            while started.elapsed() < Duration::from_secs(20) {
                produce(&broker, 1, 1);
                tokio::time::sleep(Duration::from_millis(100)).await;
                match consumer.poll(Duration::from_secs(1)).await {
                    Ok(records) => {
                        for offset in offsets_of(&records, 1) {
                            assert_eq!(offset, next);
                            next += 1;
                        }
                    }
                    Err(error) => assert_eq!(error.partition(), Some(&tp(0))),
                }
            }
            let asked = asked_offsets(&broker, &tp(0)).len();
            assert!((15..=26).contains(&asked), "{asked}");
            broker.remove_fault(fault);
            while consumer.position(&tp(0)) != Some(11) {
                let _ = consumer.poll(Duration::from_secs(5)).await;
            }
        });
    }
}

#[test]
fn b184_seek_past_what_cannot_be_read_in_the_middle_of_a_poll_loop() {
    run(async {
        let broker = broker(1);
        for _ in 0..10 {
            produce(&broker, 0, 10);
        }
        let size = usize::try_from(broker_bytes(&broker).await).unwrap() / 10;
        for batch in [2, 5] {
            // the answer that begins at offset 0 has both; after a seek the answers begin elsewhere
            broker.inject(
                Fault::flip_records(batch * size + 70, 1)
                    .partition("t", 0)
                    .times(1),
            );
        }
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        asked_at(&broker, &tp(0), 100).await;
        let mut given = Vec::new();
        while given.len() < 90 {
            match consumer.poll(Duration::from_secs(1)).await {
                Ok(records) => given.extend(offsets(&records)),
                Err(Error::CorruptBatch {
                    partition, source, ..
                }) => {
                    consumer
                        .seek(&partition, source.step_over().unwrap())
                        .await
                        .unwrap();
                }
                Err(error) => panic!("{error}"),
            }
        }
        let expected: Vec<i64> = (0..100).filter(|n| !(20..30).contains(n)).collect();
        assert_eq!(given, expected);
    });
}
