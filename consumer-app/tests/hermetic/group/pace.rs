//! Applications that are slow, asleep, or busy with a long lease.

use std::time::Duration;

use consumer_app::{Consumer, GroupError};
use test_broker::{ApiKey, TestBroker};

use super::support::{
    Listener, Protocol, asked, automatic, committed, each, each_of, group_error, heartbeats,
    joined, joins, leaves, manual, member_id, members, owns, read,
};
use crate::support::{broker, offsets_of, produce, produce_batches, tp};

#[test]
fn f024_b145_whoever_does_not_poll_in_time_leaves_and_comes_back_with_the_next_poll() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let told = Listener::default();
        let builder = manual(&broker, protocol)
            .set("max.poll.interval.ms", "6000")
            .rebalance_listener(told.clone());
        let mut consumer = joined(builder, 1).await;
        read(&mut consumer, 2).await;
        consumer.commit().await.unwrap();
        read(&mut consumer, 1).await;
        told.calls();
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(members(&broker), 1);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(members(&broker), 0);
        assert_eq!(leaves(&broker), 1);
        let error = group_error(consumer.commit().await);
        assert!(matches!(error, GroupError::CommitFailed { .. }), "{error}");
        assert!(error.to_string().contains("max.poll.interval.ms"));
        assert_eq!(committed(&broker, 0), Some(2));
        // what was given and not committed comes again, and nothing else before it
        assert_eq!(read(&mut consumer, 2).await, [(tp(0), 2), (tp(0), 3)]);
        assert_eq!(told.calls(), [("lost", vec![0]), ("assigned", vec![0])]);
        assert_eq!(members(&broker), 1);
        consumer.commit().await.unwrap();
        assert_eq!(committed(&broker, 0), Some(4));
    });
}

#[test]
fn f024_to_wait_for_records_is_to_poll() {
    each(|protocol| async move {
        let broker = broker(1);
        let builder = manual(&broker, protocol).set("max.poll.interval.ms", "6000");
        let mut consumer = joined(builder, 1).await;
        let id = member_id(&broker);
        broker.clear_requests();
        assert!(
            consumer
                .poll(Duration::from_secs(60))
                .await
                .unwrap()
                .is_empty()
        );
        assert_eq!(member_id(&broker), id);
        assert_eq!(joins(&broker), 0);
    });
}

/// 50,000 records of one lease, one at a time, 10 ms each: longer than max.poll.interval.ms, and seen through all the same.
#[test]
fn a_long_lease_hides_neither_a_rebalance_nor_a_seek() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(2);
        let values = |count: usize| (0..count).map(|_| "v");
        broker.produce("t", 0, values(25_000)).unwrap();
        broker.produce("t", 1, values(25_000)).unwrap();
        let builder = manual(&broker, protocol).set("max.poll.interval.ms", "5000");
        let mut one = joined(builder, 2).await;
        let id = member_id(&broker);
        let fetches = asked(&broker, ApiKey::Fetch);
        for _ in 0..40_000 {
            assert_eq!(one.poll(Duration::from_secs(1)).await.unwrap().len(), 1);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(member_id(&broker), id, "400 s are over");
        one.commit().await.unwrap();
        // all of it came with what was fetched at first: long polls of fetch.max.wait.ms since, and no more
        let more = asked(&broker, ApiKey::Fetch) - fetches;
        assert!(more <= 802, "{more}");
        let mut two = manual(&broker, protocol).spawn_local().unwrap();
        two.subscribe(["t"]).await.unwrap();
        let others = tokio::task::spawn_local(async move {
            owns(&mut two, 1).await;
            two
        });
        let mut polls = 0;
        while one.assignment().len() == 2 {
            let records = one.poll(Duration::from_secs(1)).await.unwrap();
            // what this poll gives is its own: it is not taken away in the middle
            let own = one.assignment();
            for record in &records {
                assert!(own.contains(record.topic_partition()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            polls += 1;
            assert!(polls < 500, "the rebalance is not seen");
        }
        let two = others.await.unwrap();
        let kept = one.assignment()[0].clone();
        assert!(!two.assignment().contains(&kept));
        for _ in 0..500 {
            let records = one.poll(Duration::from_secs(1)).await.unwrap();
            assert!(
                records
                    .iter()
                    .all(|record| *record.topic_partition() == kept)
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let handle = one.handle();
        let to = kept.clone();
        tokio::task::spawn_local(async move { handle.seek(&to, 20_000).await })
            .await
            .unwrap()
            .unwrap();
        for expected in 20_000..20_100 {
            let records = one.poll(Duration::from_secs(1)).await.unwrap();
            assert_eq!(offsets_of(&records, kept.partition()), [expected]);
        }
        assert_eq!(members(&broker), 2);
    });
}

async fn asleep(consumer: &Consumer, broker: &TestBroker, protocol: Protocol) {
    let id = member_id(broker);
    broker.clear_requests();
    tokio::time::sleep(Duration::from_secs(120)).await;
    let expected = match protocol {
        // heartbeat.interval.ms is 3 s
        Protocol::Eager | Protocol::Cooperative => 38..=41,
        // the broker says 5 s
        Protocol::Consumer => 23..=25,
    };
    let heartbeats = heartbeats(broker);
    assert!(expected.contains(&heartbeats), "{heartbeats}");
    assert_eq!(member_id(broker), id);
    assert_eq!(joins(broker), 0);
    assert!(!consumer.assignment().is_empty());
}

#[test]
fn heartbeats_go_on_while_the_buffer_is_full_and_the_application_sleeps() {
    each(|protocol| async move {
        let broker = broker(2);
        produce_batches(&broker, 0, 400, 10_000);
        produce_batches(&broker, 1, 400, 10_000);
        let builder = automatic(&broker, protocol)
            .set("buffer.memory", "1048576")
            .set("fetch.max.bytes", "1048576")
            .set("max.partition.fetch.bytes", "1048576");
        let mut consumer = joined(builder, 2).await;
        let first = read(&mut consumer, 1).await;
        asleep(&consumer, &broker, protocol).await;
        assert_eq!(first.len(), 1);
        assert_eq!(crate::support::read(&mut consumer, 799).await.len(), 799);
        consumer.commit().await.unwrap();
        assert_eq!(committed(&broker, 0), Some(400));
    });
}
