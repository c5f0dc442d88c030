//! What comes out of bytes: every vector of the record reader through the whole consumer, codecs, time stamps and headers.

use std::time::Duration;

use bytes::BytesMut;
use consumer_app::{Error, Records, TimestampType};
use test_broker::{BatchBuilder, ProducerRecord};

use crate::support::delivered::Delivered;
use crate::support::serving::{CODECS, reading_from, serving};
use crate::support::traffic::asked_offsets;
use crate::support::vectors::{self, Vector};
use crate::support::{
    broker, builder, consumer, offsets, partitions, poll, poll_error, produce, produce_batches,
    read, run, tp,
};

/// Writes records as the vectors' result column does.
fn describe(records: &Records) -> Vec<String> {
    let word = |bytes: Option<&[u8]>| match bytes {
        None => "null".to_owned(),
        Some([]) => "empty".to_owned(),
        Some(text) => String::from_utf8(text.to_vec()).unwrap(),
    };
    let described = records.iter().map(|record| {
        let headers: Vec<_> = record
            .headers()
            .iter()
            .map(|header| format!("{}={}", header.key_str().unwrap(), word(header.value())))
            .collect();
        let mut text = format!(
            "{}:{}:{}={}",
            record.offset(),
            record.timestamp(),
            word(record.key()),
            word(record.value())
        );
        if !headers.is_empty() {
            text += &format!(" headers({})", headers.join(", "));
        }
        text
    });
    described.collect()
}

async fn sound_vector_is_delivered(vector: &Vector) {
    let name = vector.name;
    let broker = serving(&vector.bytes, vector.next);
    let mut consumer = reading_from(&broker, vector.first).await;
    let mut given = Vec::new();
    while given
        .last()
        .is_none_or(|last: &String| !last.ends_with("=tail"))
    {
        given.extend(describe(&poll(&mut consumer).await));
    }
    given.pop();
    assert_eq!(given.join(", "), vector.records, "{name}");
    assert_eq!(consumer.position(&tp(0)), Some(vector.next + 1), "{name}");
    let asked = asked_offsets(&broker, &tp(0));
    assert_eq!(asked[..2], [vector.first, vector.next], "{name}");
}

/// The error names the partition; nothing comes before the application seeks, and then all that is behind.
async fn broken_vector_is_an_error(vector: &Vector) {
    let name = vector.name;
    let broker = serving(&vector.bytes, 50);
    let mut consumer = reading_from(&broker, vector.first).await;
    for _ in 0..3 {
        let error = poll_error(&mut consumer).await;
        assert_eq!(error.partition(), Some(&tp(0)), "{name}: {error}");
        assert!(
            matches!(error, Error::CorruptBatch { .. }),
            "{name}: {error}"
        );
        assert_eq!(consumer.position(&tp(0)), Some(vector.next), "{name}");
    }
    consumer.seek(&tp(0), 50).await.unwrap();
    assert_eq!(read(&mut consumer, 1).await, [50], "{name}");
}

#[test]
fn f045_f046_f047_f048_f049_f051_f053_b067_b068_b069_every_vector_through_the_consumer() {
    let vectors = vectors::all();
    assert_eq!(vectors.len(), 24);
    for vector in vectors {
        run(async {
            if vector.is_error {
                broken_vector_is_an_error(&vector).await;
            } else {
                sound_vector_is_delivered(&vector).await;
            }
        });
    }
}

#[test]
fn f001_b069_emptied_batches_are_stepped_over_at_once() {
    run(async {
        let broker = broker(1);
        let mut emptied = BytesMut::new();
        for batch in 0..5 {
            let empty = BatchBuilder::new().base_offset(100 + 10 * batch);
            emptied.extend(empty.last_offset_delta(9).build());
        }
        broker.append_raw("t", 0, &emptied.freeze()).unwrap();
        let behind = BatchBuilder::new().base_offset(200).record("behind");
        broker.append_raw("t", 0, &behind.build()).unwrap();
        let mut consumer = reading_from(&broker, 100).await;
        assert_eq!(read(&mut consumer, 1).await, [200]);
        assert_eq!(asked_offsets(&broker, &tp(0)), [100, 201]);
        consumer.seek(&tp(0), 120).await.unwrap();
        assert_eq!(read(&mut consumer, 1).await, [200]);
    });
}

#[test]
fn f001_a_response_of_emptied_batches_alone_moves_the_position() {
    run(async {
        let vector = vectors::named("EMPTY");
        let broker = serving(&vector.bytes, 300);
        let mut consumer = reading_from(&broker, 100).await;
        let records = poll(&mut consumer).await;
        assert!(records.is_empty());
        assert_eq!(consumer.position(&tp(0)), Some(110));
        assert_eq!(read(&mut consumer, 1).await, [300]);
        assert_eq!(asked_offsets(&broker, &tp(0))[..2], [100, 110]);
    });
}

/// The position never decreases, whatever a broker repeats.
#[test]
fn f002_a_compacted_tail_is_given_once() {
    run(async {
        let vector = vectors::named("GAP");
        let broker = broker(1);
        broker.append_raw("t", 0, &vector.bytes).unwrap();
        let mut consumer = reading_from(&broker, 100).await;
        assert_eq!(offsets(&poll(&mut consumer).await), [103]);
        assert_eq!(consumer.position(&tp(0)), Some(110));
        assert!(poll(&mut consumer).await.is_empty());
        // from within the gap the same batch comes, and 103 is before the position
        consumer.seek(&tp(0), 104).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.position(&tp(0)), Some(110));
        assert_eq!(asked_offsets(&broker, &tp(0)), [100, 110, 104]);
    });
}

#[test]
fn b070_b071_a_compacted_log_gives_what_is_left() {
    run(async {
        let broker = broker(1);
        for key in 0..200_i32 {
            let key = format!("{}", key % 7);
            broker.produce("t", 0, [(key.as_str(), "value")]).unwrap();
        }
        for codec in CODECS {
            let records = (0..20).map(|n| (format!("{}", n % 3), format!("{n}")));
            broker.produce_compressed("t", 0, codec, records).unwrap();
        }
        broker.produce("t", 0, ["no key"]).unwrap();
        assert!(broker.compact("t", 0).unwrap() > 250);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        // the last of keys 0..6 among the first 200, of which 0, 1 and 2 come again in the last batch
        let expected = [193, 194, 198, 199, 297, 298, 299, 300];
        let mut given = Vec::new();
        while consumer.position(&tp(0)) != Some(301) {
            given.extend(offsets(&poll(&mut consumer).await));
        }
        let mut left = given.clone();
        left.sort_unstable();
        left.dedup();
        assert_eq!(left, given);
        assert_eq!(given[given.len() - 4..], expected[4..]);
        assert_eq!(given.len(), 8, "{given:?}");
    });
}

#[test]
fn b072_records_show_the_epoch_of_their_batch() {
    run(async {
        let broker = broker(1);
        for (offset, epoch) in [(0, 1), (1, 8), (2, 13)] {
            let batch = BatchBuilder::new().base_offset(offset).leader_epoch(epoch);
            broker
                .append_raw("t", 0, &batch.record("r").build())
                .unwrap();
        }
        broker
            .append_raw("t", 0, &vectors::named("V1_SNAPPY_REL").bytes)
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        let epochs: Vec<_> = records.iter().map(|record| record.leader_epoch()).collect();
        assert_eq!(epochs, [Some(1), Some(8), Some(13), None, None, None]);
    });
}

#[test]
fn f053_b074_b075_headers_and_nulls_arrive_as_they_were_sent() {
    run(async {
        let broker = broker(1);
        let record = ProducerRecord::new("")
            .header("h", "first")
            .null_header("h")
            .header("other", "")
            .header("h", "last");
        broker
            .produce("t", 0, [record, ProducerRecord::tombstone("k")])
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        let [full, tombstone] = records.iter().collect::<Vec<_>>()[..] else {
            panic!("two records");
        };
        assert_eq!((full.key(), full.value()), (None, Some(&b""[..])));
        let headers: Vec<_> = full
            .headers()
            .iter()
            .map(|header| {
                (
                    header.key_str().unwrap().to_owned(),
                    header.value().map(<[u8]>::to_vec),
                )
            })
            .collect();
        let expected = [
            ("h", Some("first")),
            ("h", None),
            ("other", Some("")),
            ("h", Some("last")),
        ]
        .map(|(key, value)| (key.to_owned(), value.map(|v| v.as_bytes().to_vec())));
        assert_eq!(headers, expected);
        assert_eq!(
            full.headers().last("h").unwrap().value(),
            Some(&b"last"[..])
        );
        assert_eq!(
            (tombstone.key(), tombstone.value()),
            (Some(&b"k"[..]), None)
        );
    });
}

#[test]
fn b076_b077_every_codec_and_both_kinds_of_time_stamps() {
    run(async {
        let broker = broker(1);
        broker
            .create_topic_with("stamped", 1, [("message.timestamp.type", "LogAppendTime")])
            .unwrap();
        for topic in ["t", "stamped"] {
            for codec in CODECS {
                let records = (0..50)
                    .map(|n| ProducerRecord::new(format!("{codec} {n}")).timestamp(1_000 + n));
                broker.produce_compressed(topic, 0, codec, records).unwrap();
            }
        }
        let stamped = consumer_app::TopicPartition::new("stamped", 0);
        for (partition, kind) in [
            (tp(0), TimestampType::CreateTime),
            (stamped, TimestampType::LogAppendTime),
        ] {
            let mut consumer = consumer(&broker);
            consumer.assign([partition]).await.unwrap();
            let records = poll(&mut consumer).await;
            assert_eq!(records.len(), 250);
            for (record, n) in records.iter().zip(0_i64..) {
                let codec = CODECS[usize::try_from(n / 50).unwrap()];
                let value = format!("{codec} {}", n % 50);
                assert_eq!(record.value(), Some(value.as_bytes()));
                assert_eq!(record.timestamp_type(), kind);
                let produced = 1_000 + n % 50;
                assert_eq!(
                    record.timestamp() == produced,
                    kind == TimestampType::CreateTime
                );
            }
        }
    });
}

#[test]
fn b076_old_and_new_formats_in_one_log() {
    run(async {
        let broker = broker(1);
        broker
            .append_raw("t", 0, &vectors::named("SNAPPY_XERIAL").bytes)
            .unwrap();
        broker
            .append_raw("t", 0, &vectors::named("V0_LZ4_BROKENHC").bytes)
            .unwrap();
        let newest = BatchBuilder::new().base_offset(43).record("v2");
        broker.append_raw("t", 0, &newest.build()).unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 7).await, [0, 1, 2, 40, 41, 42, 43]);
    });
}

/// Its header has the offset of the last record in it only.
#[test]
fn f048_a_position_within_a_compressed_message_of_the_old_format_is_kept() {
    run(async {
        let broker = broker(1);
        broker
            .append_raw("t", 0, &vectors::named("V1_SNAPPY_REL").bytes)
            .unwrap();
        let mut consumer = reading_from(&broker, 41).await;
        assert_eq!(read(&mut consumer, 2).await, [41, 42]);
    });
}

/// The broker cuts the last batch of a response at the limit.
#[test]
fn f049_b078_a_cut_batch_is_asked_for_again_from_its_start_without_a_pause() {
    run(async {
        let broker = broker(2);
        for partition in 0..2 {
            produce_batches(&broker, partition, 20, 1000);
        }
        let mut consumer = builder(&broker)
            .set("max.partition.fetch.bytes", "2500")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let started = tokio::time::Instant::now();
        let mut delivered = Delivered::default();
        while delivered.records < 40 {
            delivered.take(&poll(&mut consumer).await);
        }
        // no long poll and no backoff in between
        assert!(started.elapsed() < Duration::from_millis(100));
        assert!(asked_offsets(&broker, &tp(0)).contains(&2));
    });
}

/// F003: without bytes the position stays; here the log has records that may not be read yet.
#[test]
fn f003_answers_without_bytes_move_nothing() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let open = BatchBuilder::new()
            .producer(5, 0, 0)
            .transactional()
            .base_offset(5);
        let open = (0..5).fold(open, |batch, n| batch.record(format!("{n}")));
        broker.append_raw("t", 0, &open.build()).unwrap();
        let mut consumer = builder(&broker)
            .set("isolation.level", "read_committed")
            .spawn_local()
            .unwrap();
        consumer.assign_at([(tp(0), 5)]).await.unwrap();
        for _ in 0..2 {
            assert!(poll(&mut consumer).await.is_empty());
            assert_eq!(consumer.position(&tp(0)), Some(5));
        }
        let commit = BatchBuilder::end_transaction(5, 0, true).base_offset(10);
        broker.append_raw("t", 0, &commit.build()).unwrap();
        assert_eq!(read(&mut consumer, 5).await, [5, 6, 7, 8, 9]);
        let asked = asked_offsets(&broker, &tp(0));
        assert!(
            asked.iter().all(|&offset| offset == 5 || offset == 11),
            "{asked:?}"
        );
    });
}
