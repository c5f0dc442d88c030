//! A partition that comes back to a node whose long poll is out has no part in that poll, and does not wait for its end all the
//! same.

use std::time::Duration;

use consumer_app::Consumer;
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};
use tokio::time::sleep;

use super::{delay_of_a_lone_record, warm_up};
use crate::support::traffic::{fetches, session_fetches};
use crate::support::{broker, builder, consumer, partitions, run, tp};

/// Lane 2 polls for a moment at a time.
const A_MOMENT: Duration = Duration::from_millis(52);

#[derive(Debug, Clone, Copy)]
enum Event {
    Resumed,
    Sought,
    Assigned,
    InErrorBefore,
}

/// Partition 0 is in a long poll, partition 1 is what happens to it.
async fn world(event: Event) -> (TestBroker, Consumer) {
    let broker = broker(2);
    let mut consumer = consumer(&broker);
    let first = match event {
        Event::Assigned => 1,
        Event::Resumed | Event::Sought | Event::InErrorBefore => 2,
    };
    consumer.assign(partitions(first)).await.unwrap();
    if let Event::Resumed = event {
        consumer.pause(&[tp(1)]).await.unwrap();
    }
    warm_up(&broker, &mut consumer, &[0]).await;
    (broker, consumer)
}

async fn happen(event: Event, broker: &TestBroker, consumer: &mut Consumer) {
    match event {
        Event::Resumed => consumer.resume(&[tp(1)]).await.unwrap(),
        Event::Sought => consumer.seek(&tp(1), 0).await.unwrap(),
        Event::Assigned => consumer.assign(partitions(2)).await.unwrap(),
        Event::InErrorBefore => {
            let error = Fault::error(ResponseError::NotLeaderOrFollower);
            broker.inject(error.on(ApiKey::Fetch).partition("t", 1).times(1));
            delay_of_a_lone_record(broker, consumer, 0).await;
            // its pause is over
            sleep(Duration::from_millis(130)).await;
        }
    }
}

/// However the time of the record lies to that of the event and to the long poll.
fn delays(event: Event) -> Vec<Duration> {
    let mut delays = Vec::new();
    for happens_after in (10..500).step_by(70) {
        for produced_after in (1..700).step_by(33) {
            delays.push(run(async {
                let (broker, mut consumer) = world(event).await;
                sleep(Duration::from_millis(happens_after)).await;
                happen(event, &broker, &mut consumer).await;
                sleep(Duration::from_millis(produced_after)).await;
                delay_of_a_lone_record(&broker, &mut consumer, 1).await
            }));
        }
    }
    delays.sort_unstable();
    delays
}

#[test]
fn a_lone_record_of_a_partition_that_became_fetchable_does_not_wait_for_the_end_of_a_long_poll() {
    for event in [
        Event::Resumed,
        Event::Sought,
        Event::Assigned,
        Event::InErrorBefore,
    ] {
        let delays = delays(event);
        let longest = delays[delays.len() - 1];
        assert!(longest <= A_MOMENT, "{event:?}: {delays:?}");
        let at_once = delays.iter().filter(|delay| **delay <= super::AT_ONCE);
        assert!(
            at_once.count() * 10 > delays.len() * 9,
            "{event:?}: {delays:?}"
        );
    }
}

/// Lane 2 is a bridge: what it polled for is in lane 1's session when the long poll after the next begins.
#[test]
fn what_lane_2_polled_for_is_soon_in_the_session_again() {
    for event in [Event::Resumed, Event::Sought, Event::Assigned] {
        run(async {
            let (broker, mut consumer) = world(event).await;
            sleep(Duration::from_millis(100)).await;
            broker.clear_requests();
            happen(event, &broker, &mut consumer).await;
            sleep(Duration::from_secs(1)).await;
            let bridge = fetches(&broker).len();
            assert!(bridge <= 20, "{event:?}: {bridge} requests");
            broker.clear_requests();
            sleep(Duration::from_secs(10)).await;
            let (all, session) = (fetches(&broker), session_fetches(&broker));
            assert!(all.len() <= 21, "{event:?}: {} requests", all.len());
            assert_eq!(all.len(), session.len(), "{event:?}: lane 2 is in use");
        });
    }
}

/// Two partitions on two lanes, records in each: neither starves the other, and in the end both are in one long poll.
#[test]
fn records_keep_coming_while_a_partition_is_on_its_way_back() {
    run(async {
        let (broker, mut consumer) = world(Event::Resumed).await;
        for round in 0..20u64 {
            consumer.pause(&[tp(1)]).await.unwrap();
            sleep(Duration::from_millis(37 * round)).await;
            consumer.resume(&[tp(1)]).await.unwrap();
            for _ in 0..30 {
                let delay = delay_of_a_lone_record(&broker, &mut consumer, 0).await;
                assert!(delay <= super::AT_ONCE, "partition 0, {delay:?}");
                let delay = delay_of_a_lone_record(&broker, &mut consumer, 1).await;
                assert!(delay <= A_MOMENT, "partition 1, {delay:?}");
                sleep(Duration::from_millis(10)).await;
            }
        }
    });
}

/// `fetch.min.bytes` makes records wait, for `fetch.max.wait.ms` and no longer.
#[test]
fn few_bytes_wait_for_fetch_max_wait_and_no_longer() {
    run(async {
        let broker = broker(2);
        let mut consumer = builder(&broker)
            .set("fetch.min.bytes", "1048576")
            .set("fetch.max.wait.ms", "500")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        warm_up(&broker, &mut consumer, &[0]).await;
        broker.clear_requests();
        let begun = tokio::time::Instant::now();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..100 {
            sleep(Duration::from_millis(random.u64(0..700))).await;
            let delay = delay_of_a_lone_record(&broker, &mut consumer, random.i32(0..2)).await;
            assert!(delay <= Duration::from_millis(502), "{delay:?}");
        }
        let polls = (begun.elapsed().as_millis() / 500) as usize;
        let requests = fetches(&broker).len();
        assert!(
            requests <= polls + 2,
            "{requests} requests in {polls} polls"
        );
    });
}

#[test]
fn one_live_partition_of_a_thousand() {
    run(async {
        let broker = broker(1_000);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(1_000)).await.unwrap();
        warm_up(&broker, &mut consumer, &[617]).await;
        sleep(Duration::from_secs(2)).await;
        broker.clear_requests();
        let longest = super::longest_delay(&broker, &mut consumer, &[617], 1_000).await;
        assert!(longest <= super::AT_ONCE, "{longest:?}");
        let all = fetches(&broker);
        assert!(all.len() <= 1_030, "{} requests", all.len());
        let named: usize = all.iter().map(|(_, fetch)| fetch.partitions.len()).sum();
        assert!(named <= 1_001, "{named} partitions are named");
    });
}
