//! Incremental fetch sessions (KIP-227), read off the broker's request log.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use test_broker::{ApiKey, Fault, ResponseError, SessionCacheConfig, TestBroker};

use crate::support::crafted::{self, FETCH_BY_NAME};
use crate::support::delivered::Delivered;
use crate::support::traffic::{
    asked_at, asks, count, fetches, session_fetches, session_names_again, sessions,
};
use crate::support::{
    broker, broker_of, builder, consumer, offsets, offsets_of, partitions, poll, produce,
    produce_batches, read, run, settle, tp,
};

/// The async pattern of KAFKA-17182: small polls, an application busy in between, responses that land at any moment.
#[test]
fn f011_b052_b056_a_slow_application_changes_nothing_about_the_sessions() {
    run(async {
        let broker = broker_of(2, 10);
        let mut random = fastrand::Rng::with_seed(17182);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "5")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(10)).await.unwrap();
        let mut delivered = Delivered::default();
        let mut produced = 0;
        while broker.counters().fetch_requests < 1000 {
            for _ in 0..random.usize(0..4) {
                let count = random.usize(1..10);
                produce(&broker, random.i32(0..10), count);
                produced += count;
                tokio::time::sleep(Duration::from_micros(random.u64(0..3000))).await;
            }
            delivered.take(
                &consumer
                    .poll(Duration::from_millis(random.u64(0..5)))
                    .await
                    .unwrap(),
            );
        }
        while delivered.records < produced {
            delivered.take(&poll(&mut consumer).await);
        }
        let stories = sessions(&broker);
        assert_eq!(stories.len(), 2);
        for (node, story) in &stories {
            assert_eq!(
                (story.ids.len(), story.full_requests),
                (1, 1),
                "node {node}"
            );
            assert!(
                story.forgotten.is_empty(),
                "node {node}: {:?}",
                story.forgotten
            );
            assert!(story.increments >= 400, "node {node}: {}", story.increments);
            let epochs = session_fetches(&broker).into_iter();
            let epochs: Vec<i32> = epochs
                .filter(|(at, _)| at == node)
                .map(|(_, fetch)| fetch.session_epoch)
                .collect();
            let last = i32::try_from(epochs.len()).unwrap();
            assert_eq!(epochs, (0..last).collect::<Vec<_>>(), "node {node}");
        }
        assert_eq!(session_names_again(&broker), 0);
        assert_eq!(consumer.metrics().await.unwrap().sessions_lost, 0);
    });
}

/// Whatever the application does to some partitions, the others never leave their session.
#[test]
fn f011_only_what_was_paused_moved_or_unassigned_is_ever_forgotten() {
    run(async {
        let broker = broker_of(2, 10);
        let mut random = fastrand::Rng::with_seed(227);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "7")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(10)).await.unwrap();
        let handle = consumer.handle();
        for _ in 0..800 {
            produce(&broker, random.i32(0..10), random.usize(1..20));
            // events hit partitions 6 to 9 only
            let hit = tp(random.i32(6..10));
            match random.u8(0..8) {
                0 => handle.pause([&hit]).await.unwrap(),
                1 => handle.resume([&hit]).await.unwrap(),
                2 => handle.seek(&hit, 0).await.unwrap(),
                3 => broker
                    .move_leader("t", hit.partition(), random.i32(1..3))
                    .unwrap(),
                4 => {
                    broker.inject(
                        Fault::error(ResponseError::UnknownServerError)
                            .on(ApiKey::Fetch)
                            .partition("t", hit.partition())
                            .times(1),
                    );
                }
                _ => {}
            }
            let wait = Duration::from_millis(random.u64(0..8));
            consumer.poll(wait).await.unwrap();
        }
        let stories = sessions(&broker);
        let forgotten: BTreeSet<i32> = stories
            .values()
            .flat_map(|story| story.forgotten.iter().map(|gone| gone.partition()))
            .collect();
        assert!(forgotten.iter().all(|&gone| gone >= 6), "{forgotten:?}");
        assert!(!forgotten.is_empty());
        for story in stories.values() {
            assert_eq!((story.ids.len(), story.full_requests), (1, 1));
        }
    });
}

#[test]
fn f008_b045_b054_what_is_revoked_is_forgotten_and_named_anew_when_it_comes_back() {
    run(async {
        let broker = broker(3);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(3)).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        consumer.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [0]);
        settle().await;
        let told = session_fetches(&broker).pop().unwrap().1;
        assert_eq!((told.session_epoch, told.forgotten.len()), (1, 2));
        assert!(told.forgotten.contains(&tp(1)) && told.forgotten.contains(&tp(2)));
        produce(&broker, 1, 5);
        assert!(poll(&mut consumer).await.is_empty());
        consumer.assign(partitions(2)).await.unwrap();
        assert_eq!(read(&mut consumer, 5).await, [0, 1, 2, 3, 4]);
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [1]);
        settle().await;
        let again = session_fetches(&broker);
        let named = again
            .iter()
            .any(|(_, f)| f.session_epoch > 1 && asks(f, &tp(1)).is_some());
        assert!(named, "{again:?}");
    });
}

/// A broker that goes on serving what was forgotten (or never asked for) is not believed.
#[test]
fn f008_b049_what_a_broker_serves_unasked_is_not_given() {
    run(async {
        let broker = TestBroker::builder()
            .topic("t", 2)
            .api_versions(ApiKey::Fetch, 4..=FETCH_BY_NAME)
            .start_in_memory()
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [0]);
        let (_, last) = session_fetches(&broker).pop().unwrap();
        // the long poll that is out is answered with a record of partition 1
        let stranger = crafted::with_record(crafted::partition_data(1, 9), 0, "of partition 1");
        let answer = crafted::fetch_answer(last.session_id, vec![stranger]);
        let fault = Fault::answer_body(crafted::body(&answer, FETCH_BY_NAME))
            .on(ApiKey::Fetch)
            .times(1);
        broker.inject(fault);
        produce(&broker, 0, 2);
        assert_eq!(read(&mut consumer, 2).await, [1, 2]);
        produce(&broker, 0, 1);
        assert_eq!(read(&mut consumer, 1).await, [3]);
        // rejected: the session is closed and begun anew, with everything named
        let full: Vec<_> = session_fetches(&broker)
            .into_iter()
            .filter(|(_, fetch)| fetch.session_epoch == 0)
            .map(|(_, fetch)| fetch.session_id)
            .collect();
        assert_eq!(full, [0, last.session_id]);
        assert_eq!(consumer.position(&tp(1)), None);
    });
}

#[test]
fn b049_an_answer_to_a_full_request_must_be_about_what_was_asked() {
    // missing: partition 1; too many: partition 2
    for wrong in [vec![0], vec![0, 1, 2]] {
        run(async {
            let broker = TestBroker::builder()
                .topic("t", 3)
                .api_versions(ApiKey::Fetch, 4..=FETCH_BY_NAME)
                .start_in_memory()
                .unwrap();
            produce(&broker, 0, 3);
            produce(&broker, 1, 3);
            let told = wrong.iter().map(|&partition| {
                crafted::with_record(crafted::partition_data(partition, 1), 0, "false")
            });
            let answer = crafted::fetch_answer(77, told.collect());
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
                assert!(
                    records
                        .iter()
                        .all(|record| record.value() != Some(b"false"))
                );
                delivered.take(&records);
            }
            let begun: Vec<_> = session_fetches(&broker)
                .into_iter()
                .filter(|(_, fetch)| fetch.session_epoch == 0)
                .map(|(_, fetch)| fetch.session_id)
                .collect();
            assert_eq!(begun, [0, 0], "{wrong:?}");
        });
    }
}

#[test]
fn b040_a_broker_without_a_slot_is_asked_for_a_session_at_growing_intervals() {
    run(async {
        let mut cache = SessionCacheConfig::default();
        cache.slots = 0;
        let broker = TestBroker::builder()
            .topic("t", 2)
            .session_cache(cache)
            .start_in_memory()
            .unwrap();
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        for round in 0..60 {
            produce(&broker, round % 2, 1);
            assert_eq!(poll(&mut consumer).await.len(), 1);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let all = fetches(&broker);
        assert!(all.iter().all(|(_, fetch)| fetch.session_id == 0));
        let begun = all.iter().filter(|(_, fetch)| fetch.session_epoch == 0);
        // after 0, 1, 3, 7, 15 and 31 s
        assert_eq!(begun.count(), 6);
        let named = |fetch: &test_broker::FetchSummary| fetch.partitions.len();
        let full = all.iter().filter(|(_, fetch)| named(fetch) == 2).count();
        assert!(full >= 60, "{full}");
    });
}

#[test]
fn b041_b042_b053_an_increment_names_what_changed() {
    run(async {
        let broker = broker(2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        produce(&broker, 1, 1);
        read(&mut consumer, 1).await;
        for count in [4, 2] {
            produce(&broker, 0, count);
            read(&mut consumer, count).await;
            // and one without anything new
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        let all = session_fetches(&broker);
        let named: Vec<Vec<(i32, i64)>> = all
            .iter()
            .map(|(_, fetch)| {
                let partitions = fetch.partitions.iter();
                partitions
                    .map(|p| (p.partition.partition(), p.fetch_offset))
                    .collect()
            })
            .filter(|named: &Vec<_>| !named.is_empty())
            .collect();
        let expected: [&[(i32, i64)]; 4] = [&[(0, 0), (1, 0)], &[(1, 1)], &[(0, 4)], &[(0, 6)]];
        assert_eq!(named, expected);
        assert_eq!((all[0].1.session_id, all[0].1.session_epoch), (0, 0));
        let id = all[1].1.session_id;
        assert!(id > 0 && all[1..].iter().all(|(_, fetch)| fetch.session_id == id));
    });
}

/// After each error the next request is full; it closes the old session unless the broker says that there is none.
#[test]
fn b043_each_error_of_a_session_begins_a_new_one() {
    let closes_old = true;
    for (error, closes, refreshes) in [
        (ResponseError::InvalidFetchSessionEpoch, closes_old, false),
        (ResponseError::FetchSessionIdNotFound, false, false),
        (ResponseError::FetchSessionTopicIdError, closes_old, true),
        (ResponseError::UnknownServerError, closes_old, false),
    ] {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 1);
            let mut consumer = consumer(&broker);
            consumer.assign(partitions(2)).await.unwrap();
            read(&mut consumer, 1).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let metadata = count(&broker, 1, ApiKey::Metadata);
            let (_, last) = session_fetches(&broker).pop().unwrap();
            broker.inject(Fault::error(error).on(ApiKey::Fetch).times(1));
            produce(&broker, 1, 3);
            assert_eq!(read(&mut consumer, 3).await, [0, 1, 2], "{error:?}");
            produce(&broker, 0, 1);
            assert_eq!(read(&mut consumer, 1).await, [1], "{error:?}");
            let anew: Vec<_> = session_fetches(&broker)
                .into_iter()
                .map(|(_, fetch)| fetch)
                .filter(|fetch| fetch.session_epoch == 0)
                .collect();
            assert_eq!(anew.len(), 2, "{error:?}");
            let closed = if closes { last.session_id } else { 0 };
            assert_eq!(
                (anew[1].session_id, anew[1].partitions.len()),
                (closed, 2),
                "{error:?}"
            );
            // no sooner than retry.backoff.ms after the last one
            tokio::time::sleep(Duration::from_secs(1)).await;
            let refreshed = count(&broker, 1, ApiKey::Metadata) > metadata;
            assert_eq!(refreshed, refreshes, "{error:?}");
        });
    }
}

#[test]
fn f010_faults_of_a_session_cost_one_request_each_and_no_record() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        let mut delivered = Delivered::default();
        for round in 1..=12 {
            // the request that is out is answered with the record; the fault is for the one behind it
            match round {
                2 => Some(Fault::error(ResponseError::InvalidFetchSessionEpoch)),
                5 => Some(Fault::error(ResponseError::FetchSessionIdNotFound)),
                8 => Some(Fault::close()),
                _ => None,
            }
            .map(|fault| broker.inject(fault.on(ApiKey::Fetch).times(1)));
            produce(&broker, 0, 1);
            delivered.take(&poll(&mut consumer).await);
            assert_eq!(delivered.records, round);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // one request for each record, the one that is out, one more for each fault
        assert_eq!(count(&broker, 1, ApiKey::Fetch), 12 + 1 + 3);
    });
}

#[test]
fn b044_a_lost_answer_moves_nothing_and_the_next_request_closes_the_session() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 1).await;
        settle().await;
        let (_, last) = session_fetches(&broker).pop().unwrap();
        broker.inject(Fault::close().on(ApiKey::Fetch).after_applying().times(1));
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        produce(&broker, 0, 3);
        assert_eq!(read(&mut consumer, 3).await, [2, 3, 4]);
        let all = session_fetches(&broker);
        let anew: Vec<_> = all.iter().filter(|(_, f)| f.session_epoch == 0).collect();
        assert_eq!(anew.len(), 2);
        assert_eq!(anew[1].1.session_id, last.session_id);
        assert_eq!(asks(&anew[1].1, &tp(0)), Some(2));
    });
}

#[test]
fn b046_a_node_of_which_nothing_is_assigned_any_more_loses_its_session() {
    run(async {
        let broker = broker_of(2, 2);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(1), 0).await;
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(broker.counters().fetch_sessions, 2);
        consumer.assign([tp(0)]).await.unwrap();
        settle().await;
        assert_eq!(broker.node_counters(2).unwrap().fetch_sessions, 0);
        assert_eq!(broker.node_counters(1).unwrap().fetch_sessions, 1);
        produce(&broker, 1, 1);
        consumer.assign(partitions(2)).await.unwrap();
        assert_eq!(offsets_of(&poll(&mut consumer).await, 1), [0]);
    });
}

/// KIP-219: a muted broker answers with nothing, and asks to be left alone.
#[test]
fn b050_b196_a_throttled_answer_is_empty_and_the_node_is_left_alone_for_so_long() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 3);
        broker.inject(
            Fault::throttle(Duration::from_secs(3))
                .on(ApiKey::Fetch)
                .times(1),
        );
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 3).await, [0, 1, 2]);
        let requests = broker.requests_of(ApiKey::Fetch);
        assert!(requests[1].time - requests[0].time >= Duration::from_secs(3));
        let again = requests[1].fetch().unwrap();
        assert_eq!((again.session_id, again.session_epoch), (0, 0));
        // within a session the epoch is used up, and the session goes on
        settle().await;
        broker.inject(
            Fault::throttle(Duration::from_secs(2))
                .on(ApiKey::Fetch)
                .times(1),
        );
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        produce(&broker, 0, 2);
        assert_eq!(read(&mut consumer, 2).await, [4, 5]);
        assert_eq!(sessions(&broker)[&1].full_requests, 2);
    });
}

/// A newcomer with a larger session takes the only slot of the smaller, older one.
#[test]
fn b055_an_evicted_session_loses_no_record() {
    run(async {
        let mut cache = SessionCacheConfig::default();
        cache.slots = 1;
        cache.shards = 1;
        cache.min_eviction_age = Duration::from_millis(100);
        let broker = TestBroker::builder()
            .topic("t", 4)
            .session_cache(cache)
            .start_in_memory()
            .unwrap();
        let mut small = consumer(&broker);
        small.assign([tp(0)]).await.unwrap();
        produce(&broker, 0, 2);
        let mut delivered = Delivered::default();
        delivered.take(&poll(&mut small).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut large = consumer(&broker);
        large.assign(partitions(4)).await.unwrap();
        assert_eq!(poll(&mut large).await.len(), 2);
        assert_eq!(broker.counters().sessions_evicted, 1);
        for _ in 0..20 {
            produce(&broker, 0, 3);
            delivered.take(&poll(&mut small).await);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        while delivered.records < 62 {
            delivered.take(&poll(&mut small).await);
        }
        assert_eq!(read(&mut large, 60).await.len(), 60);
        assert_eq!(small.metrics().await.unwrap().sessions_lost, 1);
        // neither takes the other's slot back and forth
        assert_eq!(broker.counters().sessions_evicted, 1);
    });
}

#[test]
fn f009_a_partition_that_moves_away_is_forgotten_by_the_id_of_its_topic() {
    run(async {
        let broker = TestBroker::builder()
            .nodes(2)
            .topic("t", 1)
            .topic("u", 1)
            .start_in_memory()
            .unwrap();
        let u = consumer_app::TopicPartition::new("u", 0);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0), u.clone()]).await.unwrap();
        produce(&broker, 0, 4);
        read(&mut consumer, 4).await;
        settle().await;
        assert_eq!(broker.leader("t", 0).unwrap().0, Some(1));
        broker.move_leader("t", 0, 2).unwrap();
        produce(&broker, 0, 2);
        assert_eq!(read(&mut consumer, 2).await, [4, 5]);
        broker.produce("u", 0, ["more"]).unwrap();
        read(&mut consumer, 1).await;
        settle().await;
        let all = session_fetches(&broker);
        let forgotten: Vec<_> = all
            .iter()
            .flat_map(|(node, f)| f.forgotten.iter().map(move |gone| (*node, gone.clone())))
            .collect();
        // the log names the topic of an id that it knows; an id of zeros would have no name
        assert_eq!(forgotten, [(1, tp(0))]);
        let moved: Vec<_> = all.iter().filter(|(node, _)| *node == 2).collect();
        assert_eq!(asks(&moved[0].1, &tp(0)), Some(4));
        assert!(
            broker
                .requests_of(ApiKey::Fetch)
                .iter()
                .all(|r| r.api_version >= 13)
        );
    });
}

/// Brokers let a session go after 120 s without a request; ours is touched while nothing may be fetched.
#[test]
fn a_session_outlives_ten_minutes_in_which_the_application_does_not_poll() {
    run(async {
        let broker = broker(2);
        produce_batches(&broker, 0, 60, 100_000);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        assert_eq!(poll(&mut consumer).await.len(), 10);
        tokio::time::sleep(Duration::from_secs(600)).await;
        produce(&broker, 1, 1);
        let mut given: BTreeMap<i32, usize> = BTreeMap::new();
        while given.values().sum::<usize>() < 51 {
            let records = poll(&mut consumer).await;
            for offset in offsets(&records) {
                assert!(offset < 60);
            }
            for record in &records {
                *given.entry(record.partition()).or_default() += 1;
            }
        }
        let metrics = consumer.metrics().await.unwrap();
        assert!((9..=11).contains(&metrics.session_touches), "{metrics:?}");
        let story = &sessions(&broker)[&1];
        assert_eq!((story.ids.len(), story.full_requests), (1, 1));
        assert_eq!((metrics.sessions_lost, story.forgotten.len()), (0, 0));
    });
}
