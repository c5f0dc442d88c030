//! From an assignment to records: what is asked for when, and what a poll gives.

use std::time::Duration;

use consumer_app::{Error, TopicPartition};
use test_broker::{ApiKey, BatchBuilder, Fault, ResponseError, SessionCacheConfig, TestBroker};

use crate::support::delivered::Delivered;
use crate::support::traffic::{asked_at, asked_offsets, asks, count, fetches, session_fetches};
use crate::support::{
    broker, broker_of, builder, consumer, offsets, offsets_of, partitions, poll, produce,
    produce_batches, read, run, settle, tp,
};

/// Records 1, 2, 3 in one batch.
fn append_a(broker: &TestBroker) {
    let batch = BatchBuilder::new().base_offset(1);
    let batch = batch.record("a1").record("a2").record("a3");
    broker.append_raw("t", 0, &batch.build()).unwrap();
}

#[test]
fn b001_what_is_sought_is_given_and_the_position_follows() {
    run(async {
        let broker = broker(1);
        append_a(&broker);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        consumer.seek(&tp(0), 0).await.unwrap();
        assert_eq!(offsets(&poll(&mut consumer).await), [1, 2, 3]);
        assert_eq!(consumer.position(&tp(0)), Some(4));
    });
}

#[test]
fn b003_the_next_offset_is_asked_for_as_soon_as_data_is_buffered() {
    run(async {
        let broker = broker(1);
        append_a(&broker);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "2")
            .spawn_local()
            .unwrap();
        consumer.assign_at([(tp(0), 1)]).await.unwrap();
        // nobody has polled
        asked_at(&broker, &tp(0), 4).await;
        assert_eq!(offsets(&poll(&mut consumer).await), [1, 2]);
        assert_eq!(consumer.position(&tp(0)), Some(3));
        assert_eq!(offsets(&poll(&mut consumer).await), [3]);
        assert_eq!(consumer.position(&tp(0)), Some(4));
        produce(&broker, 0, 2);
        assert_eq!(offsets(&poll(&mut consumer).await), [4, 5]);
        assert_eq!(consumer.position(&tp(0)), Some(6));
        assert_eq!(asked_offsets(&broker, &tp(0)), [1, 4, 6]);
    });
}

#[test]
fn b004_two_nodes_have_a_request_in_flight_whatever_is_polled() {
    run(async {
        let broker = broker_of(2, 2);
        produce(&broker, 0, 3);
        produce(&broker, 1, 3);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "2")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 3).await;
        asked_at(&broker, &tp(1), 3).await;
        for _ in 0..3 {
            assert_eq!(poll(&mut consumer).await.len(), 2);
            // the one for offset 0 was answered, the one for offset 3 is the long poll
            assert_eq!(count(&broker, 1, ApiKey::Fetch), 2);
            assert_eq!(count(&broker, 2, ApiKey::Fetch), 2);
        }
    });
}

#[test]
fn b005_a_poll_gives_max_poll_records_and_what_follows_was_asked_for_before() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 500);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        asked_at(&broker, &tp(0), 500).await;
        assert_eq!(poll(&mut consumer).await.len(), 500);
    });
}

#[test]
fn b006_what_cannot_be_fetched_or_is_buffered_does_not_hold_up_its_node() {
    run(async {
        let broker = broker(4);
        // 0 stays buffered, 1 awaits its reset, 2 has no leader, 3 goes on
        produce(&broker, 0, 5);
        broker.inject(
            Fault::error(ResponseError::OffsetNotAvailable)
                .on(ApiKey::ListOffsets)
                .partition("t", 1),
        );
        broker.remove_leader("t", 2).unwrap();
        let consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        asked_at(&broker, &tp(0), 5).await;
        for round in 1..=50 {
            produce(&broker, 3, 1);
            asked_at(&broker, &tp(3), round).await;
        }
        let named = |partition| !asked_offsets(&broker, &tp(partition)).is_empty();
        assert!(!named(1) && !named(2));
        assert!(
            session_fetches(&broker)
                .iter()
                .all(|(_, f)| f.forgotten.is_empty())
        );
    });
}

#[test]
fn b007_b008_buffered_data_of_what_is_unassigned_is_dropped_and_its_memory_freed() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 3);
        produce(&broker, 1, 3);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "2")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 3).await;
        asked_at(&broker, &tp(1), 3).await;
        consumer.assign([tp(1)]).await.unwrap();
        let mut given = Vec::new();
        while given.len() < 3 {
            let records = poll(&mut consumer).await;
            assert!(offsets_of(&records, 0).is_empty());
            given.extend(offsets(&records));
        }
        produce(&broker, 1, 1);
        assert_eq!(read(&mut consumer, 1).await, [3]);
        assert_eq!(consumer.assignment(), [tp(1)]);
        // records are in hand when the last partition goes
        produce(&broker, 1, 100);
        assert_eq!(poll(&mut consumer).await.len(), 2);
        consumer.assign(partitions(0)).await.unwrap();
        let nothing = consumer.poll(Duration::ZERO).await;
        assert!(matches!(nothing, Err(Error::NothingAssigned)));
        settle().await;
        assert_eq!(consumer.metrics().await.unwrap().memory_used, 0);
    });
}

#[test]
fn b009_a_partition_that_is_unassigned_while_it_is_fetched_gives_nothing() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 3);
        broker.inject(
            Fault::delay(Duration::from_millis(200))
                .on(ApiKey::Fetch)
                .after_applying()
                .times(1),
        );
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        consumer.assign([tp(1)]).await.unwrap();
        produce(&broker, 1, 1);
        let records = poll(&mut consumer).await;
        assert_eq!(
            (offsets_of(&records, 0), offsets_of(&records, 1)),
            (vec![], vec![0])
        );
        assert!(poll(&mut consumer).await.is_empty());
    });
}

#[test]
fn b010_reassigned_while_it_is_fetched_a_reply_counts_only_if_the_partition_was_kept() {
    for (kept, asked) in [(true, vec![0, 3]), (false, vec![0, 0, 3])] {
        run(async {
            let broker = broker(2);
            produce(&broker, 0, 3);
            broker.inject(
                Fault::delay(Duration::from_millis(200))
                    .on(ApiKey::Fetch)
                    .after_applying()
                    .times(1),
            );
            let mut consumer = consumer(&broker);
            consumer.assign([tp(0)]).await.unwrap();
            asked_at(&broker, &tp(0), 0).await;
            if !kept {
                consumer.assign(partitions(0)).await.unwrap();
            }
            consumer.assign(partitions(2)).await.unwrap();
            assert_eq!(read(&mut consumer, 3).await, [0, 1, 2]);
            assert!(poll(&mut consumer).await.is_empty());
            assert_eq!(asked_offsets(&broker, &tp(0)), asked, "kept: {kept}");
        });
    }
}

#[test]
fn b011_a_partition_without_a_position_does_not_hold_up_the_others() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 5);
        broker.inject(
            Fault::error(ResponseError::OffsetNotAvailable)
                .on(ApiKey::ListOffsets)
                .partition("t", 1),
        );
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(2)).await.unwrap();
        let records = poll(&mut consumer).await;
        assert_eq!(offsets_of(&records, 0), [0, 1, 2, 3, 4]);
        assert_eq!(consumer.position(&tp(1)), None);
    });
}

/// In a session the broker turns the order (KAFKA-12330); without one the requests do.
#[test]
fn b012_without_a_session_a_partition_that_gave_data_is_named_last() {
    run(async {
        let mut cache = SessionCacheConfig::default();
        cache.slots = 0;
        let broker = TestBroker::builder()
            .topic("t", 3)
            .session_cache(cache)
            .start_in_memory()
            .unwrap();
        for partition in 0..3 {
            produce_batches(&broker, partition, 6, 1000);
        }
        let mut consumer = builder(&broker)
            .set("fetch.max.bytes", "1100")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(3)).await.unwrap();
        read(&mut consumer, 18).await;
        let mut former: Option<Vec<(TopicPartition, i64)>> = None;
        let mut turns = 0;
        for (_, fetch) in fetches(&broker) {
            if fetch.partitions.len() != 3 {
                continue;
            }
            let named = fetch.partitions.iter();
            let now: Vec<_> = named
                .map(|p| (p.partition.clone(), p.fetch_offset))
                .collect();
            for (partition, offset) in former.iter().flatten() {
                if asks(&fetch, partition) > Some(*offset) {
                    assert_eq!(now.last().unwrap().0, *partition);
                    turns += 1;
                }
            }
            former = Some(now);
        }
        assert!(turns >= 10, "{turns}");
    });
}

#[test]
fn b015_a_batch_larger_than_every_limit_is_delivered() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 1);
        produce_batches(&broker, 0, 1, 1_000_000);
        produce(&broker, 0, 1);
        let mut consumer = builder(&broker)
            .set("max.partition.fetch.bytes", "1")
            .set("fetch.max.bytes", "1")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 3).await, [0, 1, 2]);
    });
}

#[test]
fn b016_a_large_batch_that_is_not_the_first_of_a_response_comes_with_a_later_one() {
    run(async {
        let broker = broker(2);
        produce_batches(&broker, 0, 1, 10_000);
        produce_batches(&broker, 1, 1, 500_000);
        broker.inject(Fault::delay(Duration::from_millis(100)).on(ApiKey::Fetch));
        let mut consumer = builder(&broker)
            .set("fetch.max.bytes", "100000")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let first = poll(&mut consumer).await;
        assert_eq!(
            (offsets_of(&first, 0), offsets_of(&first, 1)),
            (vec![0], vec![])
        );
        let sent = broker.counters().record_bytes_sent;
        assert!(sent <= 100_000, "{sent}");
        assert_eq!(offsets_of(&poll(&mut consumer).await, 1), [0]);
    });
}

#[test]
fn b017_f041_an_empty_topic_costs_one_request_per_max_wait() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        for _ in 0..12 {
            assert!(poll(&mut consumer).await.is_empty());
        }
        // 60 s at fetch.max.wait.ms 500, the first answered at once or not
        let requests = count(&broker, 1, ApiKey::Fetch);
        assert!((118..=122).contains(&requests), "{requests}");
        let connections = broker.counters().connections_accepted;
        assert!(connections <= 3, "{connections}");
    });
}

#[test]
fn b018_what_is_produced_is_consumed_in_order() {
    run(async {
        let broker = broker(1);
        for batch in 0..10 {
            let values = (0..10).map(|record| format!("{}", batch * 10 + record));
            broker.produce("t", 0, values).unwrap();
        }
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let mut delivered = Delivered::default();
        while delivered.records < 100 {
            let records = poll(&mut consumer).await;
            for record in &records {
                let value = String::from_utf8(record.value().unwrap().to_vec()).unwrap();
                assert_eq!(value, record.offset().to_string());
            }
            delivered.take(&records);
        }
        assert_eq!(consumer.position(&tp(0)), Some(100));
    });
}

#[test]
fn b019_one_poll_gives_100_000_records() {
    run(async {
        let broker = broker(1);
        for _ in 0..100 {
            produce(&broker, 0, 1000);
        }
        let mut consumer = builder(&broker)
            .set("max.poll.records", "100000")
            .set("max.partition.fetch.bytes", "16777216")
            .spawn_local()
            .unwrap();
        consumer.assign([tp(0)]).await.unwrap();
        let records = poll(&mut consumer).await;
        assert_eq!(offsets(&records), (0..100_000).collect::<Vec<_>>());
    });
}

#[test]
fn b020_hundreds_of_topics_and_names_of_249_characters() {
    run(async {
        let broker = broker_of(2, 1);
        let names: Vec<String> = (0..300).map(|n| format!("{n:0>249}")).collect();
        for name in &names {
            broker.create_topic(name, 1).unwrap();
            broker.produce(name, 0, [name.as_str()]).unwrap();
        }
        let mut consumer = consumer(&broker);
        let all = names
            .iter()
            .map(|name| TopicPartition::new(name.as_str(), 0));
        consumer.assign(all).await.unwrap();
        let mut seen = Vec::new();
        while seen.len() < 300 {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty());
            for record in &records {
                assert_eq!(record.value(), Some(record.topic().as_bytes()));
                seen.push(record.topic().to_owned());
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, names);
    });
}

#[test]
fn b022_a_poll_tells_the_next_offset_of_every_assigned_partition() {
    run(async {
        let broker = broker(3);
        produce(&broker, 0, 3);
        let mut consumer = consumer(&broker);
        consumer
            .assign_at([(tp(0), 1), (tp(1), 0), (tp(2), 0)])
            .await
            .unwrap();
        let records = poll(&mut consumer).await;
        assert_eq!(offsets(&records), [1, 2]);
        let next: Vec<_> = records.next_offsets().into_iter().collect();
        assert_eq!(next, [(tp(0), 3), (tp(1), 0), (tp(2), 0)]);
    });
}

#[test]
fn b024_what_makes_no_sense_is_refused_and_an_empty_assignment_gives_nothing() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        let nothing = |result| matches!(result, Err(Error::NothingAssigned));
        assert!(nothing(consumer.poll(Duration::ZERO).await));
        consumer.assign([tp(0)]).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        consumer.assign(partitions(0)).await.unwrap();
        assert!(nothing(consumer.poll(Duration::ZERO).await));
        assert!(consumer.assignment().is_empty());
        let blank = consumer.assign([TopicPartition::new(" ", 0)]).await;
        assert!(matches!(blank, Err(Error::BlankTopic)));
        let negative = consumer.assign_at([(tp(0), -1)]).await;
        assert!(matches!(
            negative,
            Err(Error::NegativeOffset { offset: -1, .. })
        ));
        assert!(consumer.assignment().is_empty());
    });
}
