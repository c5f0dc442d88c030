//! The broker as a host of a simulated network, twice with the same seed.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use test_broker::{ApiKey, Clock, Listener, TestBroker};
use turmoil::net::{TcpListener, TcpStream};

use crate::client::{Client, Fetch, batches, named};

struct Simulated(TcpListener);

impl Listener for Simulated {
    type Stream = TcpStream;

    async fn accept(&mut self) -> io::Result<TcpStream> {
        self.0.accept().await.map(|(stream, _)| stream)
    }
}

/// What a client saw, with simulated times in ms.
fn run() -> turmoil::Result<Vec<(u128, usize)>> {
    let mut simulation = turmoil::Builder::new()
        .rng_seed(11)
        .simulation_duration(Duration::from_secs(60))
        .min_message_latency(Duration::from_millis(5))
        .max_message_latency(Duration::from_millis(50))
        .build();
    let started: Arc<Mutex<Option<TestBroker>>> = Arc::default();
    let for_host = Arc::clone(&started);
    simulation.host("kafka", move || {
        let started = Arc::clone(&for_host);
        async move {
            let broker = TestBroker::builder()
                .advertised(1, "kafka", 9092)
                .topic("t", 1)
                .clock(Clock::starting_at(1_000_000))
                .start_in_memory()?;
            let listener = TcpListener::bind((IpAddr::from(Ipv4Addr::UNSPECIFIED), 9092)).await?;
            broker.serve(1, Simulated(listener))?;
            *started.lock().expect("no panic") = Some(broker.clone());
            loop {
                tokio::time::sleep(Duration::from_millis(300)).await;
                broker.produce("t", 0, ["tick"])?;
            }
        }
    });
    let seen: Arc<Mutex<Vec<(u128, usize)>>> = Arc::default();
    let for_client = Arc::clone(&seen);
    let handle = Arc::clone(&started);
    simulation.client("consumer", async move {
        let mut client = Client::new(TcpStream::connect("kafka:9092").await?);
        let broker = handle.lock().expect("no panic").clone().expect("started");
        let mut offset = 0;
        for _ in 0..10 {
            let fetch = Fetch::at(&broker, "t", 0, offset).wait(10_000);
            let read = named(&client.fetch(&fetch).await).remove(0);
            let batches = batches(&read);
            offset = batches.last().map_or(offset, |(_, last)| last + 1);
            let now = turmoil::elapsed().as_millis();
            for_client
                .lock()
                .expect("no panic")
                .push((now, batches.len()));
        }
        assert_eq!(broker.requests_of(ApiKey::Fetch).len(), 10);
        Ok(())
    });
    simulation.run()?;
    let seen = seen.lock().expect("no panic").clone();
    Ok(seen)
}

#[test]
fn a_simulated_network_gives_the_same_run_again() {
    let first = run().expect("a run");
    assert_eq!(first.len(), 10);
    assert!(first.iter().all(|(_, batches)| *batches > 0), "{first:?}");
    assert_eq!(first, run().expect("another run"));
}
