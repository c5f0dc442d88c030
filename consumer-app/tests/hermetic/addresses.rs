//! Brokers whose addresses change, that share one, that are taken out for good. Who is asked goes by the brokers' ids; where, by what
//! metadata tells last.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer_app::Consumer;
use consumer_app::connect::{Connect, ConnectFuture, Stream};
use test_broker::{ApiKey, TestBroker};

use crate::support::delivered::Delivered;
use crate::support::traffic::count;
use crate::support::{broker_of, builder, partitions, poll, produce, run};

/// Connects to whichever node has the address, and counts the attempts.
struct Doors {
    broker: TestBroker,
    attempts: Mutex<BTreeMap<(String, u16), usize>>,
}

impl Doors {
    fn of(broker: &TestBroker) -> Arc<Self> {
        Arc::new(Self {
            broker: broker.clone(),
            attempts: Mutex::default(),
        })
    }

    fn attempts(&self, host: &str, port: u16) -> usize {
        let attempts = self.attempts.lock().unwrap();
        attempts.get(&(host.to_owned(), port)).copied().unwrap_or(0)
    }
}

impl Connect for Doors {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        Box::pin(async move {
            let address = (host.to_owned(), port);
            *self.attempts.lock().unwrap().entry(address).or_default() += 1;
            let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
            let node = self.broker.node_at(host, port).ok_or_else(refused)?;
            let stream = self.broker.connect(node).map_err(|_| refused())?;
            Ok(Box::new(stream) as Stream)
        })
    }
}

/// Metadata is asked for every 5 s.
fn by(doors: &Arc<Doors>, group: &str) -> Consumer {
    let consumer = builder(&doors.broker)
        .set("metadata.max.age.ms", "5000")
        .connector(Arc::<Doors>::clone(doors));
    let consumer = match group {
        "" => consumer,
        group => consumer.group_id(group),
    };
    consumer.spawn_local().unwrap()
}

/// One record for each of so many partitions, and everything that there is.
async fn round(
    broker: &TestBroker,
    consumer: &mut Consumer,
    delivered: &mut Delivered,
    count: i32,
) {
    let wanted = delivered.records + count as usize;
    for partition in 0..count {
        produce(broker, partition, 1);
    }
    let mut polls = 0;
    while delivered.records < wanted {
        delivered.take(&poll(consumer).await);
        polls += 1;
        assert!(polls < 20, "{} of {wanted} records", delivered.records);
    }
}

#[test]
fn b121_a_broker_that_comes_back_at_another_address_is_found_there() {
    run(async {
        let broker = broker_of(2, 4);
        let doors = Doors::of(&broker);
        let mut consumer = by(&doors, "g");
        consumer.assign(partitions(4)).await.unwrap();
        let mut delivered = Delivered::default();
        for port in 20_001..20_011 {
            round(&broker, &mut consumer, &mut delivered, 4).await;
            consumer.commit().await.unwrap();
            broker.kill_node(2).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            broker.advertise(2, "node-2", port).unwrap();
            broker.restart_node(2).await.unwrap();
            let before = doors.attempts("node-2", port - 1);
            round(&broker, &mut consumer, &mut delivered, 4).await;
            assert!(doors.attempts("node-2", port) >= 1, "{port}");
            // where it was is left alone as soon as that is known
            let in_vain = doors.attempts("node-2", port - 1) - before;
            assert!(in_vain <= 3, "{in_vain} at {}", port - 1);
        }
        consumer.commit().await.unwrap();
        for partition in 0..4 {
            let committed = broker.committed("g", "t", partition).unwrap();
            assert_eq!(committed.offset, 20, "{partition}");
        }
    });
}

/// The broker stays where it is and is told of elsewhere, as when `advertised.listeners` changes: the old connections serve until
/// metadata tells of the new address, and are closed then.
#[test]
fn b121_an_address_that_changes_under_living_connections_is_moved_to() {
    run(async {
        let broker = broker_of(2, 4);
        let doors = Doors::of(&broker);
        let mut consumer = by(&doors, "g");
        consumer.assign(partitions(4)).await.unwrap();
        let mut delivered = Delivered::default();
        round(&broker, &mut consumer, &mut delivered, 4).await;
        consumer.commit().await.unwrap();
        for port in 20_001..20_011 {
            for node in [1, 2] {
                broker
                    .advertise(node, format!("node-{node}"), port)
                    .unwrap();
            }
            // until metadata was asked for once at the former addresses, and once at these
            for _ in 0..12 {
                round(&broker, &mut consumer, &mut delivered, 4).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            consumer.commit().await.unwrap();
            for node in [1, 2] {
                let attempts = doors.attempts(&format!("node-{node}"), port);
                assert!(
                    (1..=5).contains(&attempts),
                    "node {node} at {port}: {:?}",
                    doors.attempts
                );
            }
        }
        // two lanes to each node, metadata and the coordinator; those to the former addresses are closed
        tokio::time::sleep(Duration::from_secs(10)).await;
        let open = broker.counters().connections_open;
        assert!(open <= 8, "{open} connections");
        assert!(broker.counters().fetch_sessions <= 2);
    });
}

/// Of two brokers with one address only one can answer there. The other's partitions wait, without a hot loop, and those of the first go
/// on; when each has its own again, nothing is missing.
#[test]
fn b121_brokers_that_share_an_address_stop_nobody_else() {
    run(async {
        let broker = broker_of(2, 2);
        let doors = Doors::of(&broker);
        let mut consumer = by(&doors, "");
        consumer.assign(partitions(2)).await.unwrap();
        let mut delivered = Delivered::default();
        round(&broker, &mut consumer, &mut delivered, 2).await;
        broker.advertise(1, "shared", 9092).unwrap();
        broker.advertise(2, "shared", 9092).unwrap();
        // until both are gone to
        tokio::time::sleep(Duration::from_secs(10)).await;
        while !poll(&mut consumer).await.is_empty() {}
        broker.clear_requests();
        let shared = delivered.records;
        produce(&broker, 1, 1);
        for _ in 0..30 {
            round(&broker, &mut consumer, &mut delivered, 1).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(delivered.records, shared + 30, "partition 0 alone");
        let (asked, metadata) = (
            count(&broker, 1, ApiKey::Fetch),
            count(&broker, 1, ApiKey::Metadata),
        );
        println!("shared: {asked} fetches and {metadata} metadata requests in 30 s");
        // long polls of both, and a refusal of the other's partition after each backoff of up to a second
        assert!(asked <= 300, "{asked} fetches in 30 s");
        assert!(metadata <= 100, "{metadata} questions in 30 s");
        broker.advertise(2, "its-own", 9092).unwrap();
        tokio::time::sleep(Duration::from_secs(6)).await;
        while delivered.records < shared + 31 {
            delivered.take(&poll(&mut consumer).await);
        }
        round(&broker, &mut consumer, &mut delivered, 2).await;
    });
}

/// A broker is taken out for good: its partitions have other leaders, and its address is not tried again. Then a new one has its address.
#[test]
fn b121_a_broker_that_is_taken_out_is_forgotten_and_its_address_is_anothers() {
    run(async {
        let broker = TestBroker::builder()
            .nodes(3)
            .replication_factor(3)
            .topic("t", 6)
            .start_in_memory()
            .unwrap();
        for node in 1..=3 {
            broker
                .advertise(node, format!("node-{node}"), 9092)
                .unwrap();
        }
        // it comes later
        broker.kill_node(3).await.unwrap();
        let doors = Doors::of(&broker);
        let mut consumer = by(&doors, "");
        consumer.assign(partitions(6)).await.unwrap();
        let mut delivered = Delivered::default();
        round(&broker, &mut consumer, &mut delivered, 6).await;
        broker.kill_node(2).await.unwrap();
        round(&broker, &mut consumer, &mut delivered, 6).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let tried = doors.attempts("node-2", 9092);
        for _ in 0..20 {
            round(&broker, &mut consumer, &mut delivered, 6).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        assert_eq!(doors.attempts("node-2", 9092), tried);
        assert!(broker.counters().connections_open <= 3);

        broker.advertise(2, "nowhere", 9092).unwrap();
        broker.advertise(3, "node-2", 9092).unwrap();
        broker.restart_node(3).await.unwrap();
        for partition in 0..3 {
            broker.move_leader("t", partition, 3).unwrap();
        }
        round(&broker, &mut consumer, &mut delivered, 6).await;
        assert!(doors.attempts("node-2", 9092) > tried);
        assert_eq!(doors.attempts("nowhere", 9092), 0);
    });
}
