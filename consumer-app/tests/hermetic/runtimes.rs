//! Where a consumer can live: its own thread, an arbiter of the service, any executor; over TCP and real time.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use consumer_app::{Consumer, ConsumerBuilder, Error};
use test_broker::TestBroker;
use tokio::sync::oneshot;

use crate::support::{offsets, tp};

/// A broker on TCP with ten records, on a thread of its own until this is dropped.
struct Tcp {
    bootstrap_servers: String,
    _stop: oneshot::Sender<()>,
}

fn tcp() -> Tcp {
    let (ready, bootstrap_servers) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(async move {
            let broker = TestBroker::builder()
                .topic("t", 1)
                .start()
                .await
                .expect("a broker");
            let values = (0..10).map(|value| format!("value {value}"));
            broker.produce("t", 0, values).expect("appended");
            ready
                .send(broker.bootstrap_servers())
                .expect("the test waits");
            let _ = stopped.await;
            broker.shutdown().await;
        });
    });
    Tcp {
        bootstrap_servers: bootstrap_servers.recv().expect("a broker"),
        _stop: stop,
    }
}

fn builder(broker: &Tcp) -> ConsumerBuilder {
    Consumer::builder()
        .bootstrap_servers(&broker.bootstrap_servers)
        .set("auto.offset.reset", "earliest")
}

/// Reads the ten records, closes, and finds it closed.
async fn read_and_close(mut consumer: Consumer) {
    consumer.assign([tp(0)]).await.unwrap();
    let mut read = Vec::new();
    while read.len() < 10 {
        read.extend(offsets(
            &consumer.poll(Duration::from_secs(10)).await.unwrap(),
        ));
    }
    assert_eq!(read, (0..10).collect::<Vec<_>>());
    consumer.close(Duration::from_secs(5)).await.unwrap();
    assert!(matches!(
        consumer.poll(Duration::ZERO).await,
        Err(Error::Closed)
    ));
    consumer.close(Duration::from_secs(5)).await.unwrap();
}

#[test]
fn a_consumer_on_its_own_thread_serves_a_task_of_a_multi_threaded_runtime() {
    let broker = tcp();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let consumer = builder(&broker).build().await.unwrap();
        // the whole loop is `Send`
        tokio::spawn(read_and_close(consumer)).await.unwrap();
    });
}

#[test]
fn a_consumer_needs_no_tokio_where_it_is_polled() {
    let broker = tcp();
    block_on(async {
        let consumer = builder(&broker).build().await.unwrap();
        read_and_close(consumer).await;
    });
}

#[test]
fn a_consumer_lives_in_an_arbiter_of_a_service_that_runs_actix() {
    let broker = tcp();
    let system = actix_rt::System::new();
    system.block_on(async {
        let arbiter = actix_rt::Arbiter::new();
        let consumer = builder(&broker).spawn_in(&arbiter.handle()).await.unwrap();
        read_and_close(consumer).await;
        // the arbiter is the service's, and goes on
        let (ran, running) = oneshot::channel();
        assert!(arbiter.spawn(async move { ran.send(()).unwrap() }));
        running.await.unwrap();
        arbiter.stop();
        arbiter.join().unwrap();
    });
}

#[test]
fn an_arbiter_that_has_stopped_is_an_error() {
    let broker = tcp();
    let system = actix_rt::System::new();
    system.block_on(async {
        let arbiter = actix_rt::Arbiter::new();
        let handle = arbiter.handle();
        arbiter.stop();
        arbiter.join().unwrap();
        let error = builder(&broker).spawn_in(&handle).await.unwrap_err();
        assert!(matches!(error, Error::Start(_) | Error::Failed), "{error}");
    });
}

#[test]
fn records_outlive_the_consumer_and_move_to_other_threads() {
    let broker = tcp();
    let records = block_on(async {
        let mut consumer = builder(&broker).build().await.unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let records = consumer.poll(Duration::from_secs(10)).await.unwrap();
        drop(consumer);
        records
    });
    let read = std::thread::spawn(move || offsets(&records))
        .join()
        .unwrap();
    assert_eq!(read[0], 0);
}

/// An executor that knows nothing of tokio.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
