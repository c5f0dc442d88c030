//! Connectors are code of users: one that panics is an error of that connection, whoever wanted it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use consumer_app::connect::{Connect, ConnectFuture};
use test_broker::TestBroker;

use crate::support::pipes::Pipe;
use crate::support::{broker, produce, run};

/// Panics instead of one of its connections, or of all from one on.
struct Panics {
    pipe: Pipe,
    calls: AtomicUsize,
    at: usize,
    for_good: bool,
    in_future: bool,
}

impl Connect for Panics {
    fn connect<'a>(&'a self, host: &'a str, port: u16) -> ConnectFuture<'a> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let panics = call == self.at || (self.for_good && call > self.at);
        if panics && self.in_future {
            return Box::pin(async { panic!("a connector's future is broken") });
        }
        assert!(!panics, "a connector is broken");
        self.pipe.connect(host, port)
    }
}

fn connector(broker: &TestBroker, at: usize, for_good: bool, in_future: bool) -> Arc<Panics> {
    Arc::new(Panics {
        pipe: Pipe(broker.clone()),
        calls: AtomicUsize::new(0),
        at,
        for_good,
        in_future,
    })
}

#[test]
fn a_connector_that_panics_once_is_asked_again() {
    // metadata's, the coordinator's, a lane's, whichever comes when
    for at in 0..5 {
        for in_future in [false, true] {
            run(async {
                let broker = broker(1);
                produce(&broker, 0, 3);
                let builder = crate::support::builder(&broker).group_id("g");
                let builder = builder.connector(connector(&broker, at, false, in_future));
                let mut consumer = builder.spawn_local().unwrap();
                consumer.subscribe(["t"]).await.unwrap();
                let mut came = 0;
                for _ in 0..100 {
                    came += consumer
                        .poll(Duration::from_millis(200))
                        .await
                        .unwrap()
                        .len();
                }
                assert_eq!(came, 3, "{at} {in_future}");
                consumer.commit().await.unwrap();
                consumer.close(Duration::from_secs(5)).await.unwrap();
            });
        }
    }
}

#[test]
fn a_connector_that_always_panics_is_named() {
    run(async {
        let broker = broker(1);
        let builder = crate::support::builder(&broker).set("default.api.timeout.ms", "2000");
        let builder = builder.connector(connector(&broker, 0, true, false));
        let mut consumer = builder.spawn_local().unwrap();
        consumer.assign([crate::support::tp(0)]).await.unwrap();
        let told = loop {
            match consumer.poll(Duration::from_millis(200)).await {
                Ok(records) => assert!(records.is_empty()),
                Err(error) => break error.to_string(),
            }
        };
        assert!(
            told.contains("the connector panicked: a connector is broken"),
            "{told}"
        );
        consumer.close(Duration::from_secs(1)).await.unwrap();
    });
}
