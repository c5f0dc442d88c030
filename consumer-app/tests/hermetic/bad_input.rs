//! Brokers that answer nonsense: each time a clear error or a recovery; no panic, no hang, nothing lost.

use std::time::Duration;

use bytes::Bytes;
use consumer_app::{Consumer, Error};
use test_broker::{ApiKey, Fault, TestBroker};

use crate::support::crafted::{self, FETCH_BY_NAME};
use crate::support::delivered::Delivered;
use crate::support::{
    broker, broker_of, builder, consumer, offsets_of, partitions, poll, poll_error, produce, run,
    tp,
};

const APIS: [ApiKey; 4] = [
    ApiKey::ApiVersions,
    ApiKey::Metadata,
    ApiKey::ListOffsets,
    ApiKey::Fetch,
];

/// Two partitions of three records, and a consumer that has not begun.
fn begin() -> (TestBroker, Consumer) {
    let broker = broker(2);
    produce(&broker, 0, 3);
    produce(&broker, 1, 3);
    let consumer = builder(&broker)
        .set("request.timeout.ms", "5000")
        .set("default.api.timeout.ms", "5000")
        .spawn_local()
        .unwrap();
    (broker, consumer)
}

/// Reads all six records; errors on the way must be about the brokers.
async fn recovers(consumer: &mut Consumer, what: &str) -> Vec<Error> {
    let mut delivered = Delivered::default();
    let mut errors = Vec::new();
    let begun = tokio::time::Instant::now();
    while delivered.records < 6 {
        match consumer.poll(Duration::from_secs(1)).await {
            Ok(records) => delivered.take(&records),
            Err(error) => errors.push(error),
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{what}: {errors:?}"
        );
    }
    for error in &errors {
        let of_brokers = matches!(
            error,
            Error::Unreachable { .. } | Error::BrokerUnusable { .. }
        );
        assert!(of_brokers, "{what}: {error}");
    }
    errors
}

fn random_bytes(random: &mut fastrand::Rng) -> Bytes {
    let length = random.usize(0..300);
    (0..length).map(|_| random.u8(..)).collect()
}

#[test]
fn f017_garbage_in_place_of_an_answer_of_every_api() {
    for api in APIS {
        for seed in 0..60 {
            run(async {
                let mut random = fastrand::Rng::with_seed(seed);
                let (broker, mut consumer) = begin();
                let bytes = random_bytes(&mut random);
                let fault = if random.bool() {
                    Fault::answer_body(bytes)
                } else {
                    Fault::answer_raw(bytes)
                };
                let fault = broker.inject(fault.on(api).times(random.u32(1..4)));
                consumer.assign(partitions(2)).await.unwrap();
                recovers(&mut consumer, &format!("{api:?} seed {seed}")).await;
                assert!(broker.fault_hits(fault) > 0);
            });
        }
    }
}

#[test]
fn f017_garbage_that_does_not_end_is_an_error_and_can_end() {
    for api in APIS {
        run(async {
            let (broker, mut consumer) = begin();
            let garbage = Bytes::from_static(&[0xa5; 40]);
            let fault = broker.inject(Fault::answer_body(garbage).on(api));
            consumer.assign(partitions(2)).await.unwrap();
            let error = poll_error(&mut consumer).await;
            let expected = match api {
                ApiKey::ApiVersions | ApiKey::Metadata => {
                    matches!(error, Error::Unreachable { .. })
                }
                _ => matches!(error, Error::BrokerUnusable { .. }),
            };
            assert!(expected, "{api:?}: {error}");
            let text = error.to_string();
            assert!(
                text.contains("broker 1") || text.contains("node-1"),
                "{text}"
            );
            // not at full speed
            broker.clear_requests();
            tokio::time::sleep(Duration::from_secs(30)).await;
            let requests = broker.requests_of(api).len();
            assert!((15..=150).contains(&requests), "{api:?}: {requests}");
            broker.remove_fault(fault);
            recovers(&mut consumer, &format!("{api:?}")).await;
        });
    }
}

/// Counts that claim two billion elements, in the first array of each answer and in the length of the frame.
#[test]
fn f017_counts_and_lengths_that_lie() {
    let compact = [0xff, 0xff, 0xff, 0xff, 0x07];
    let classic = [0x7f, 0xff, 0xff, 0xff];
    let bodies = |head: &[u8]| {
        [&compact[..], &classic[..], &[0xff; 16]].map(|count| Bytes::from([head, count].concat()))
    };
    let lengths = [0x7fff_ffff_u32, 0xffff_ffff, 0, 3, 0x4854_5450, 0x1603_0300];
    for api in APIS {
        let head: &[u8] = match api {
            ApiKey::ApiVersions => &[0; 2],
            ApiKey::Fetch => &[0; 10],
            _ => &[0; 4],
        };
        let lies = bodies(head).map(Fault::answer_body);
        let raw = lengths.map(|length| Fault::answer_raw(length.to_be_bytes().to_vec()));
        for fault in lies.into_iter().chain(raw) {
            run(async {
                let (broker, mut consumer) = begin();
                let what = format!("{fault:?}");
                broker.inject(fault.on(api).times(2));
                consumer.assign(partitions(2)).await.unwrap();
                recovers(&mut consumer, &what).await;
                let used = consumer.metrics().await.unwrap().memory_used;
                assert!(used < 4 << 20, "{what}: {used}");
            });
        }
    }
}

/// A node whose frame claims to be huge, and does not come, holds the others up for no longer than a request may take.
#[test]
fn f039_a_frame_that_never_comes_holds_the_other_nodes_up_for_a_while_only() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = builder(&broker)
            .set("request.timeout.ms", "5000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        let lie = 0x6fff_ffff_u32.to_be_bytes().to_vec();
        broker.inject(Fault::answer_raw(lie).on(ApiKey::Fetch).node(1).times(1));
        let begun = tokio::time::Instant::now();
        for round in 0..200 {
            produce(&broker, 1, 1);
            let mut waited = Duration::ZERO;
            loop {
                let records = poll(&mut consumer).await;
                if !offsets_of(&records, 1).is_empty() {
                    break;
                }
                waited += Duration::from_secs(5);
                assert!(waited <= Duration::from_secs(10), "round {round}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(
            begun.elapsed() <= Duration::from_secs(20),
            "{:?}",
            begun.elapsed()
        );
        produce(&broker, 0, 1);
        let mut given = Vec::new();
        while given.is_empty() {
            given = offsets_of(&poll(&mut consumer).await, 0);
        }
        assert_eq!(given, [0]);
    });
}

/// Any single byte of any answer: what is wrong may not be found out, but nothing panics, nothing waits for ever, and the
/// partition that is not concerned is read.
#[test]
fn f017_every_byte_of_every_answer_flipped() {
    for api in APIS {
        for mask in [0x01, 0x80, 0xff] {
            for at in 0..250 {
                run(async {
                    let (broker, mut consumer) = begin();
                    let fault = broker.inject(Fault::flip(at, mask).on(api).times(1));
                    consumer.assign(partitions(2)).await.unwrap();
                    let begun = tokio::time::Instant::now();
                    let mut records = 0;
                    // a wrong throttle time may silence the broker for weeks
                    while records < 6 && begun.elapsed() < Duration::from_secs(30) {
                        if let Ok(given) = consumer.poll(Duration::from_secs(1)).await {
                            records += given.len();
                        }
                    }
                    if broker.fault_hits(fault) == 0 {
                        assert_eq!(records, 6, "{api:?} {at}");
                    }
                    consumer.close(Duration::from_secs(5)).await.unwrap();
                });
            }
        }
    }
}

/// KIP-227 answers from a peer that has lost its way: partitions twice, topics never asked for.
#[test]
fn b087_partitions_that_come_twice_or_unasked() {
    for strangers in [false, true] {
        run(async {
            let broker = TestBroker::builder()
                .topic("t", 2)
                .api_versions(ApiKey::Fetch, 4..=FETCH_BY_NAME)
                .start_in_memory()
                .unwrap();
            produce(&broker, 0, 3);
            produce(&broker, 1, 3);
            let told = |partition, offset| {
                crafted::with_record(crafted::partition_data(partition, 3), offset, "value 0")
            };
            let mut all = vec![told(0, 0), told(0, 0), told(1, 0), told(0, 0)];
            if strangers {
                all.push(told(7, 0));
            }
            let mut answer = crafted::fetch_answer(9, all);
            if strangers {
                let mut other = answer.responses[0].clone();
                other.topic = crafted::topic_name("never asked for");
                answer.responses.push(other);
            }
            broker.inject(
                Fault::answer_body(crafted::body(&answer, FETCH_BY_NAME))
                    .on(ApiKey::Fetch)
                    .times(1),
            );
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            let mut delivered = Delivered::default();
            while delivered.records < 6 {
                let records = poll(&mut consumer).await;
                assert!(records.iter().all(|record| record.topic() == "t"));
                delivered.take(&records);
            }
            assert!(poll(&mut consumer).await.is_empty());
        });
    }
}

/// Random bytes as the records of partition 0.
#[test]
fn f050_garbage_as_records_is_that_partitions_error() {
    for seed in 0..60 {
        run(async {
            let mut random = fastrand::Rng::with_seed(seed);
            let broker = broker(2);
            produce(&broker, 0, 3);
            let length = random.usize(1..400);
            let mut bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
            if random.bool() && length > 17 {
                // as if it were a batch, as far as the magic goes
                bytes[..8].fill(0);
                bytes[8..12].copy_from_slice(&(length as u32 - 12).to_be_bytes());
                bytes[16] = random.u8(0..3);
            }
            let fault = broker.inject(Fault::records(bytes).partition("t", 0));
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            produce(&broker, 1, 5);
            let (mut errors, mut others, mut own) = (0, 0, 0);
            for _ in 0..10 {
                match consumer.poll(Duration::from_secs(1)).await {
                    Ok(records) => {
                        others += offsets_of(&records, 1).len();
                        own += offsets_of(&records, 0).len();
                    }
                    Err(error) => {
                        assert_eq!(error.partition(), Some(&tp(0)), "seed {seed}: {error}");
                        errors += 1;
                    }
                }
            }
            assert_eq!((others, own), (5, 0), "seed {seed}");
            assert!(errors > 0, "seed {seed}");
            broker.remove_fault(fault);
            consumer.seek(&tp(0), 0).await.unwrap();
            let mut given = Vec::new();
            while given.len() < 3 {
                if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                    given.extend(offsets_of(&records, 0));
                }
            }
            assert_eq!(given, [0, 1, 2], "seed {seed}");
        });
    }
}

#[test]
fn everything_that_is_wrong_with_a_configuration_is_said_at_once() {
    run(async {
        let broker = broker(1);
        let refused = builder(&broker)
            .set("fetch.min.byts", "1")
            .set("max.poll.records", "0")
            .set("isolation.level", "read_everything")
            .set("buffer.memory", "1000")
            .set("key.deserializer", "org.example.Mine")
            .set("bootstrap.servers", "no port:at all")
            .spawn_local()
            .expect_err("refused");
        assert!(matches!(refused, Error::Config(_)));
        let text = refused.to_string();
        for said in [
            "fetch.min.byts",
            "fetch.min.bytes",
            "max.poll.records",
            "read_everything",
            "read_committed",
            "buffer.memory",
            "key.deserializer",
            "no port",
        ] {
            assert!(text.contains(said), "{said} in {text}");
        }
        assert!(!refused.is_retriable());
    });
}
