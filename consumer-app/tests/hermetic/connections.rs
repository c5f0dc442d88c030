//! Connections: how many, how often, what their end costs, and brokers that are old, far, slow or gone.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture, Stream};
use consumer_app::{Consumer, Error, WireError};
use kafka_protocol::messages::metadata_response::{
    MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic,
};
use kafka_protocol::messages::{BrokerId, MetadataResponse};
use kafka_protocol::protocol::StrBytes;
use test_broker::{ApiKey, Fault, TestBroker};

use crate::support::crafted;
use crate::support::delivered::Delivered;
use crate::support::pipes::{MortalPipe, Pipe};
use crate::support::traffic::{asked_at, count, fetches, sessions};
use crate::support::{
    broker, broker_of, builder, consumer, offsets_of, partitions, poll, poll_error, produce, read,
    run, settle, tp,
};

/// Leaves an API out.
#[expect(clippy::reversed_empty_ranges, reason = "an empty range is meant")]
const NO_VERSION: RangeInclusive<i16> = 1..=0;

/// A resolver that tests change, and a count of attempts by host. A host that it does not know is refused.
struct Directory {
    broker: TestBroker,
    nodes: Mutex<BTreeMap<String, i32>>,
    attempts: Mutex<BTreeMap<String, usize>>,
}

impl Directory {
    fn new(broker: &TestBroker, nodes: &[(&str, i32)]) -> Arc<Self> {
        let known = nodes.iter().map(|&(host, node)| (host.to_owned(), node));
        Arc::new(Self {
            broker: broker.clone(),
            nodes: Mutex::new(known.collect()),
            attempts: Mutex::default(),
        })
    }

    fn set(&self, nodes: &[(&str, i32)]) {
        let known = nodes.iter().map(|&(host, node)| (host.to_owned(), node));
        *self.nodes.lock().unwrap() = known.collect();
    }

    fn attempts(&self) -> BTreeMap<String, usize> {
        self.attempts.lock().unwrap().clone()
    }
}

impl Connect for Directory {
    fn connect<'a>(&'a self, host: &'a str, _port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            *self
                .attempts
                .lock()
                .unwrap()
                .entry(host.to_owned())
                .or_default() += 1;
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let node = self.nodes.lock().unwrap().get(host).copied();
            let stream = self.broker.connect(node.ok_or_else(refused)?);
            Ok(Box::new(stream.map_err(|_| refused())?) as Stream)
        })
    }
}

fn by(broker: &TestBroker, connector: Arc<dyn Connect>) -> Consumer {
    builder(broker).connector(connector).spawn_local().unwrap()
}

/// KIP-899: all brokers have moved to other addresses, which only the bootstrap name leads to.
#[test]
fn f037_when_every_known_address_fails_the_bootstrap_names_are_asked_again() {
    run(async {
        const VERSION: i16 = 9;
        let broker = TestBroker::builder()
            .topic("t", 1)
            .api_versions(ApiKey::Metadata, 0..=VERSION)
            .start_in_memory()
            .unwrap();
        let directory = Directory::new(&broker, &[("boot", 1), ("node-1", 1)]);
        let mut consumer = builder(&broker)
            .set("bootstrap.servers", "boot:9092")
            .connector(Arc::<Directory>::clone(&directory))
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        let moved = MetadataResponse::default()
            .with_brokers(vec![
                MetadataResponseBroker::default()
                    .with_node_id(BrokerId(1))
                    .with_host(StrBytes::from_static_str("moved"))
                    .with_port(9092),
            ])
            .with_topics(vec![
                MetadataResponseTopic::default()
                    .with_name(Some(crafted::topic_name("t")))
                    .with_partitions(vec![
                        MetadataResponsePartition::default()
                            .with_partition_index(0)
                            .with_leader_id(BrokerId(1))
                            // it rises when the node goes and when it comes back
                            .with_leader_epoch(2),
                    ]),
            ]);
        broker.inject(Fault::answer_body(crafted::body(&moved, VERSION)).on(ApiKey::Metadata));
        broker.kill_node(1).await.unwrap();
        directory.set(&[]);
        tokio::time::sleep(Duration::from_secs(30)).await;
        broker.restart_node(1).await.unwrap();
        directory.set(&[("boot", 1), ("moved", 1)]);
        produce(&broker, 0, 3);
        let begun = tokio::time::Instant::now();
        assert_eq!(read(&mut consumer, 3).await, [1, 2, 3]);
        // reconnect.backoff.max.ms, and as long again for the fetch
        assert!(
            begun.elapsed() <= Duration::from_millis(3000),
            "{:?}",
            begun.elapsed()
        );
        assert!(directory.attempts()["moved"] >= 1);
    });
}

#[test]
fn f039_a_slow_node_and_a_partition_that_is_not_read_hold_up_nobody() {
    run(async {
        let broker = broker_of(2, 4);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        broker.inject(
            Fault::delay(Duration::from_secs(20))
                .on(ApiKey::Fetch)
                .node(1),
        );
        let mut delivered = Delivered::default();
        for round in 1..=60 {
            // partitions 1 and 3 are on node 2
            produce(&broker, 0, 1);
            produce(&broker, 1, 1);
            let begun = tokio::time::Instant::now();
            while delivered.next(&tp(1)) < round {
                delivered.take(&poll(&mut consumer).await);
            }
            assert!(begun.elapsed() <= Duration::from_millis(500));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(delivered.next(&tp(0)) > 0);
        while delivered.next(&tp(0)) < 60 {
            delivered.take(&poll(&mut consumer).await);
        }
    });
}

#[test]
fn f040_connections_do_not_grow_with_restarts() {
    run(async {
        let broker = broker_of(2, 2);
        let directory = Directory::new(&broker, &[("boot", 1), ("node-1", 1), ("node-2", 2)]);
        let mut consumer = builder(&broker)
            .set("bootstrap.servers", "boot:1234")
            .connector(Arc::<Directory>::clone(&directory))
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let mut delivered = Delivered::default();
        let mut open = Vec::new();
        for restart in 1..=200 {
            let node = 1 + restart % 2;
            broker.kill_node(node).await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
            broker.restart_node(node).await.unwrap();
            produce(&broker, 0, 1);
            produce(&broker, 1, 1);
            let all = usize::try_from(2 * restart).unwrap();
            while delivered.records < all {
                delivered.take(&poll(&mut consumer).await);
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
            open.push(broker.counters().connections_open);
        }
        assert!(open.iter().all(|&count| count <= 2 * 2 + 1), "{open:?}");
        assert!(
            open[100..].iter().max() <= open[..100].iter().max(),
            "{open:?}"
        );
    });
}

#[test]
fn f041_b197_brokers_that_are_down_are_tried_at_growing_intervals() {
    run(async {
        let broker = broker_of(2, 2);
        let directory = Directory::new(&broker, &[("node-1", 1), ("node-2", 2)]);
        let mut consumer = builder(&broker)
            .set("default.api.timeout.ms", "20000")
            .connector(Arc::<Directory>::clone(&directory))
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        for node in 1..3 {
            broker.kill_node(node).await.unwrap();
        }
        let before: usize = directory.attempts().values().sum();
        let begun = tokio::time::Instant::now();
        let mut told = 0;
        while begun.elapsed() < Duration::from_secs(60) {
            match consumer.poll(Duration::from_secs(1)).await {
                Ok(records) => assert!(records.is_empty()),
                Err(error) => {
                    assert!(matches!(error, Error::Unreachable { .. }), "{error}");
                    assert!(error.is_retriable());
                    told += 1;
                }
            }
        }
        // one each 20 s
        assert!((2..=3).contains(&told), "{told}");
        let attempts = directory.attempts().values().sum::<usize>() - before;
        // two nodes: metadata and fetching, about once a second each
        assert!((60..=300).contains(&attempts), "{attempts}");
        for node in 1..3 {
            broker.restart_node(node).await.unwrap();
        }
        produce(&broker, 0, 2);
        let mut given = Vec::new();
        while given.len() < 2 {
            if let Ok(records) = consumer.poll(Duration::from_secs(1)).await {
                given.extend(offsets_of(&records, 0));
            }
        }
        assert_eq!(given, [1, 2]);
    });
}

#[test]
fn f042_a_connection_that_a_broker_closed_while_idle_costs_nothing() {
    run(async {
        let broker = TestBroker::builder()
            .topic("t", 1)
            .connections_max_idle(Duration::from_secs(5))
            .start_in_memory()
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        for round in 1..=12 {
            consumer.pause([&tp(0)]).await.unwrap();
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(broker.counters().connections_open, 0);
            produce(&broker, 0, 1);
            consumer.resume([&tp(0)]).await.unwrap();
            let begun = tokio::time::Instant::now();
            assert_eq!(read(&mut consumer, 1).await, [round]);
            assert!(begun.elapsed() <= Duration::from_millis(5));
        }
        // the session is the broker's, not the connection's
        assert_eq!(sessions(&broker)[&1].ids.len(), 1);
        assert_eq!(consumer.metrics().await.unwrap().sessions_lost, 0);
    });
}

/// KIP-511, KIP-896: each API in whatever versions a broker has.
#[test]
fn f044_brokers_of_every_age() {
    let cases = [
        (ApiKey::Fetch, 4, 4),
        (ApiKey::Fetch, 4, 6),
        (ApiKey::Fetch, 4, 7),
        (ApiKey::Fetch, 4, 11),
        (ApiKey::Fetch, 4, 12),
        (ApiKey::Fetch, 4, 13),
        (ApiKey::Fetch, 4, 17),
        (ApiKey::Fetch, 13, 17),
        (ApiKey::Metadata, 0, 1),
        (ApiKey::Metadata, 0, 4),
        (ApiKey::Metadata, 0, 6),
        (ApiKey::Metadata, 0, 8),
        (ApiKey::Metadata, 0, 9),
        (ApiKey::Metadata, 0, 12),
        (ApiKey::ListOffsets, 1, 1),
        (ApiKey::ListOffsets, 1, 3),
        (ApiKey::ListOffsets, 1, 5),
        (ApiKey::ListOffsets, 1, 7),
        (ApiKey::ApiVersions, 0, 0),
        (ApiKey::ApiVersions, 0, 2),
        (ApiKey::ApiVersions, 0, 3),
    ];
    for (api, least, most) in cases {
        run(async {
            let broker = TestBroker::builder()
                .nodes(2)
                .topic("t", 4)
                .api_versions(api, least..=most)
                .start_in_memory()
                .unwrap();
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(4)).await.unwrap();
            let mut delivered = Delivered::default();
            for round in 1..=5 {
                for partition in 0..4 {
                    produce(&broker, partition, 1);
                }
                while delivered.records < 4 * round {
                    delivered.take(&poll(&mut consumer).await);
                }
                broker
                    .move_leader("t", 0, 1 + i32::try_from(round % 2).unwrap())
                    .unwrap();
            }
            let used = broker.requests_of(api);
            let used: Vec<_> = used.iter().map(|r| r.api_version).collect();
            // ApiVersions is tried at our newest first
            let sound = used.iter().all(|v| (least..=most).contains(v));
            assert!(sound || api == ApiKey::ApiVersions, "{api:?} {used:?}");
            assert!(
                fetches(&broker)
                    .iter()
                    .all(|(_, f)| api != ApiKey::Fetch || most >= 7 || f.session_id == 0)
            );
        });
    }
}

#[test]
fn f044_b192_no_version_in_common_is_an_error_that_names_them() {
    run(async {
        let broker = TestBroker::builder()
            .topic("t", 1)
            .api_versions(ApiKey::Metadata, NO_VERSION)
            .start_in_memory()
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let error = poll_error(&mut consumer).await;
        assert!(
            matches!(
                &error,
                Error::Unreachable {
                    source: WireError::UnsupportedVersion { .. }
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains("Metadata"), "{error}");
    });
    run(async {
        let broker = TestBroker::builder()
            .topic("t", 1)
            .api_versions(ApiKey::Fetch, NO_VERSION)
            .start_in_memory()
            .unwrap();
        produce(&broker, 0, 1);
        let mut consumer = builder(&broker)
            .set("default.api.timeout.ms", "5000")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let error = poll_error(&mut consumer).await;
        assert!(matches!(error, Error::BrokerUnusable { .. }), "{error}");
        assert!(error.to_string().contains("Fetch"), "{error}");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let attempts = count(&broker, 1, ApiKey::ApiVersions);
        assert!(attempts <= 200, "{attempts}");
    });
}

#[test]
fn b038_connections_that_live_for_a_second_for_10_minutes() {
    run(async {
        let broker = broker_of(2, 4);
        let pipe = MortalPipe {
            pipe: Pipe(broker.clone()),
            seed: AtomicU64::new(38),
        };
        let mut consumer = by(&broker, Arc::new(pipe));
        consumer.assign(partitions(4)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(38);
        let begun = tokio::time::Instant::now();
        let mut delivered = Delivered::default();
        let mut produced = 0;
        while begun.elapsed() < Duration::from_secs(600) {
            let count = random.usize(1..50);
            produce(&broker, random.i32(0..4), count);
            produced += count;
            delivered.take(
                &consumer
                    .poll(Duration::from_millis(random.u64(0..200)))
                    .await
                    .unwrap(),
            );
            tokio::time::sleep(Duration::from_millis(random.u64(0..50))).await;
        }
        while delivered.records < produced {
            delivered.take(&poll(&mut consumer).await);
        }
        assert!(broker.counters().connections_accepted > 1000);
    });
}

/// The end of a connection in the middle of an answer, wherever that is.
#[test]
fn b195_answers_that_are_cut_at_every_byte() {
    for api in [
        ApiKey::ApiVersions,
        ApiKey::Metadata,
        ApiKey::ListOffsets,
        ApiKey::Fetch,
    ] {
        for cut in (0..200).chain([500, 1000]) {
            run(async {
                let broker = broker(2);
                produce(&broker, 0, 3);
                produce(&broker, 1, 3);
                broker.inject(Fault::truncate(cut).on(api).times(2));
                let mut consumer = consumer(&broker);
                consumer.assign(partitions(2)).await.unwrap();
                let mut delivered = Delivered::default();
                let mut errors = 0;
                while delivered.records < 6 {
                    match consumer.poll(Duration::from_secs(5)).await {
                        Ok(records) => delivered.take(&records),
                        Err(error) => {
                            assert!(
                                matches!(error, Error::Unreachable { .. }),
                                "{api:?} {cut}: {error}"
                            );
                            errors += 1;
                        }
                    }
                    assert!(errors <= 2, "{api:?} {cut}");
                }
            });
        }
    }
}

/// A broker that takes a request and says nothing, while the connection stays open.
#[test]
fn f038_a_request_that_is_never_answered_ends_at_its_deadline() {
    for api in [
        ApiKey::ApiVersions,
        ApiKey::Metadata,
        ApiKey::ListOffsets,
        ApiKey::Fetch,
    ] {
        run(async {
            let broker = broker(1);
            produce(&broker, 0, 3);
            let silence = broker.inject(Fault::silence().on(api).times(1));
            let mut consumer = builder(&broker)
                .set("request.timeout.ms", "5000")
                .set("socket.connection.setup.timeout.ms", "5000")
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            let begun = tokio::time::Instant::now();
            assert_eq!(read(&mut consumer, 3).await, [0, 1, 2], "{api:?}");
            assert!(
                begun.elapsed() <= Duration::from_millis(5500),
                "{api:?}: {:?}",
                begun.elapsed()
            );
            assert_eq!(broker.fault_hits(silence), 1);
        });
    }
}

/// The number of connections is that of the nodes, whatever is asked of the consumer: control, lane 1, lane 2 at most.
#[test]
fn b195_a_node_has_three_connections_at_most() {
    run(async {
        let broker = broker_of(2, 8);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(8)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(195);
        for _ in 0..300 {
            let partition = tp(random.i32(0..8));
            produce(&broker, partition.partition(), 5);
            match random.u8(0..4) {
                0 => consumer.seek(&partition, 0).await.unwrap(),
                1 => consumer.pause([&partition]).await.unwrap(),
                2 => consumer.resume(&partitions(8)).await.unwrap(),
                _ => drop(consumer.seek_to_beginning(&partition).await.unwrap()),
            }
            consumer.poll(Duration::from_millis(3)).await.unwrap();
            for node in 1..3 {
                let open = broker.node_counters(node).unwrap().connections_open;
                assert!(open <= 3, "{open}");
            }
        }
        let accepted = broker.counters().connections_accepted;
        // the bootstrap address is closed after its one use
        assert!(accepted <= 7, "{accepted}");
    });
}

#[test]
fn f039_a_paused_partition_with_a_full_buffer_leaves_its_neighbours_alone() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 1000);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 1000).await;
        consumer.pause([&tp(0)]).await.unwrap();
        for round in 0..100 {
            produce(&broker, 0, 100);
            produce(&broker, 1, 1);
            let records = poll(&mut consumer).await;
            assert_eq!(offsets_of(&records, 1), [round]);
            assert!(offsets_of(&records, 0).is_empty());
        }
        settle().await;
        consumer.resume([&tp(0)]).await.unwrap();
        assert_eq!(
            read(&mut consumer, 11_000).await,
            (0..11_000).collect::<Vec<_>>()
        );
    });
}

/// Attempts at a port where something else listens end in an error that says what it is.
#[test]
fn b193_f017_other_servers_are_told_by_their_first_bytes() {
    let cases: [(&[u8], &str); 3] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (&[0x15, 3, 3, 0, 2, 2, 70], "TLS"),
        (&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0], "2147483647"),
    ];
    for (bytes, named) in cases {
        run(async {
            let broker = broker(1);
            broker.inject(Fault::answer_raw(bytes));
            let mut consumer = consumer(&broker);
            consumer.assign([tp(0)]).await.unwrap();
            let begun = tokio::time::Instant::now();
            let error = poll_error(&mut consumer).await;
            assert!(matches!(error, Error::Unreachable { .. }), "{error}");
            assert!(error.to_string().contains(named), "{error}");
            // waiting would not help: it is said at once
            assert!(
                begun.elapsed() < Duration::from_secs(6),
                "{named}: {:?}",
                begun.elapsed()
            );
        });
    }
}

/// Ends of connections that come one after the other, each in another phase.
#[test]
fn b044_closes_at_every_api_cost_no_record() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(44);
        let mut delivered = Delivered::default();
        let hits = AtomicU64::new(0);
        for round in 1..=200 {
            let api = [ApiKey::ApiVersions, ApiKey::Metadata, ApiKey::Fetch][random.usize(0..3)];
            let fault = Fault::close().on(api).times(1);
            let fault = if random.bool() {
                fault.after_applying()
            } else {
                fault
            };
            let injected = broker.inject(fault);
            produce(&broker, 0, 1);
            produce(&broker, 1, 1);
            while delivered.records < 2 * round {
                delivered.take(&poll(&mut consumer).await);
            }
            hits.fetch_add(broker.fault_hits(injected), Ordering::Relaxed);
        }
        assert!(hits.into_inner() > 40);
    });
}
