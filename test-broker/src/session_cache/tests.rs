use super::context::Answer;
use super::*;
use kafka_protocol::ResponseError;
use std::sync::Arc;
use uuid::Uuid;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn cache(slots: usize, shards: u32, min_eviction_age: u64) -> SessionCache {
    let config = SessionCacheConfig {
        slots,
        shards,
        min_eviction_age: ms(min_eviction_age),
    };
    SessionCache::new(&config, Rng::with_seed(7))
}

fn key(partition: i32) -> PartitionKey {
    PartitionKey {
        topic: Some(Arc::from("t")),
        topic_id: Uuid::from_u128(1),
        partition,
    }
}

fn at(fetch_offset: i64) -> FetchParameters {
    FetchParameters {
        fetch_offset,
        max_bytes: 1000,
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
    }
}

fn named(partitions: impl IntoIterator<Item = i32>) -> Vec<(PartitionKey, FetchParameters)> {
    partitions.into_iter().map(|p| (key(p), at(0))).collect()
}

fn request(session_id: i32, epoch: i32) -> FetchMetadata {
    FetchMetadata {
        session_id,
        epoch,
        privileged: false,
        uses_topic_ids: true,
    }
}

/// A partition at high watermark 10 and log start 0 that has nothing to tell but that.
fn idle(partition: i32) -> Outcome {
    Outcome {
        key: key(partition),
        has_records: false,
        high_watermark: 10,
        log_start_offset: 0,
        error: false,
        hint: false,
    }
}

/// Asks for a session of `size` partitions; its id, 0 if refused.
fn create(cache: &mut SessionCache, size: i32, privileged: bool, now: u64) -> i32 {
    let metadata = FetchMetadata {
        privileged,
        ..request(0, 0)
    };
    let context = cache.begin(metadata, named(0..size), &[], ms(now));
    let outcomes: Vec<_> = (0..size).map(idle).collect();
    let answer = cache.answer(&context, &outcomes, ms(now));
    assert_eq!(answer.error, None);
    assert_eq!(answer.named.len(), size as usize, "a full answer names all");
    answer.session_id
}

/// An incremental request that changes nothing.
fn touch(cache: &mut SessionCache, id: i32, epoch: i32, now: u64) {
    let context = cache.begin(request(id, epoch), Vec::new(), &[], ms(now));
    assert!(matches!(context, FetchContext::Incremental { .. }));
}

fn alive(cache: &SessionCache, ids: &[i32]) -> Vec<bool> {
    ids.iter().map(|id| cache.session(*id).is_some()).collect()
}

fn incremental(
    cache: &mut SessionCache,
    id: i32,
    epoch: i32,
    partitions: Vec<(PartitionKey, FetchParameters)>,
    forgotten: &[PartitionKey],
    outcomes: &[Outcome],
) -> Answer {
    let context = cache.begin(request(id, epoch), partitions, forgotten, ms(1));
    cache.answer(&context, outcomes, ms(1))
}

#[test]
fn b057_ids_are_positive_and_unique_and_a_full_shard_refuses() {
    let mut ids = std::collections::HashSet::new();
    let mut large = cache(8000, 8, 1000);
    for _ in 0..8000 {
        let id = create(&mut large, 1, false, 0);
        assert!(id > 0 && ids.insert(id), "id {id} is new and positive");
    }

    let mut cache = cache(3, 1, 100);
    for (size, now) in [(10, 0), (20, 10), (30, 20)] {
        assert_ne!(create(&mut cache, size, false, now), 0);
    }
    assert_eq!(create(&mut cache, 40, false, 30), 0);
    assert_eq!(create(&mut cache, 5, false, 40), 0);
    assert_eq!(cache.metrics().evictions, 0);
}

#[test]
fn b058_a_session_unused_for_too_long_makes_room() {
    let mut cache = cache(3, 1, 100);
    let id1 = create(&mut cache, 10, false, 0);
    let id2 = create(&mut cache, 20, false, 10);
    let id3 = create(&mut cache, 30, false, 20);
    touch(&mut cache, id1, 1, 200);
    touch(&mut cache, id3, 1, 200);
    let id4 = create(&mut cache, 11, false, 210);
    assert_ne!(id4, 0);
    assert_eq!(
        alive(&cache, &[id1, id2, id3, id4]),
        [true, false, true, true]
    );
}

#[test]
fn b059_an_old_session_goes_to_a_larger_newcomer_and_any_consumer_to_a_follower() {
    let mut cache = cache(3, 1, 100);
    let id1 = create(&mut cache, 10, false, 0);
    let id2 = create(&mut cache, 20, false, 10);
    let id3 = create(&mut cache, 30, false, 20);
    touch(&mut cache, id1, 1, 200);
    let id4 = create(&mut cache, 11, false, 210);
    assert_eq!(
        alive(&cache, &[id1, id2, id3, id4]),
        [true, false, true, true]
    );

    touch(&mut cache, id1, 2, 400);
    touch(&mut cache, id3, 1, 390);
    touch(&mut cache, id4, 1, 400);
    let id5 = create(&mut cache, 50, false, 410);
    assert_ne!(id5, 0);
    assert_eq!(
        alive(&cache, &[id1, id3, id4, id5]),
        [false, true, true, true]
    );
    assert_eq!(create(&mut cache, 5, false, 410), 0);
    let id6 = create(&mut cache, 5, true, 410);
    assert_ne!(id6, 0);
    assert_eq!(
        alive(&cache, &[id3, id4, id5, id6]),
        [true, false, true, true]
    );
}

#[test]
fn b060_followers_take_the_slots_of_consumers_then_of_old_followers() {
    let mut cache = cache(2, 1, 1000);
    let s1 = create(&mut cache, 1, true, 0);
    let s2 = create(&mut cache, 1, false, 500);
    let s3 = create(&mut cache, 1, true, 1000);
    assert_eq!(alive(&cache, &[s1, s2, s3]), [true, false, true]);
    let s4 = create(&mut cache, 1, true, 1501);
    assert_eq!(alive(&cache, &[s1, s3, s4]), [false, true, true]);
}

#[test]
fn b061_partitions_are_counted_when_their_session_is_touched() {
    let mut cache = cache(2, 1, 100);
    let small = create(&mut cache, 2, false, 0);
    let large = create(&mut cache, 4, false, 0);
    assert_eq!(cache.metrics().partitions, 6);

    touch(&mut cache, small, 1, 200);
    touch(&mut cache, large, 1, 200);
    let newest = create(&mut cache, 5, false, 200);
    assert_eq!(alive(&cache, &[small, large, newest]), [false, true, true]);
    assert_eq!(
        (cache.metrics().partitions, cache.metrics().evictions),
        (9, 1)
    );

    cache.remove(newest);
    assert_eq!(cache.metrics().partitions, 4);
    let session = cache.session_mut(large).expect("still there");
    session.forget(&key(0).identity());
    assert_eq!(cache.metrics().partitions, 4);
    touch(&mut cache, large, 2, 200);
    assert_eq!(cache.metrics().partitions, 3);
}

#[test]
fn b062_forgetting_the_last_partition_ends_the_session() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 2, false, 0);
    let answer = incremental(&mut cache, id, 1, vec![], &[key(0), key(1)], &[]);
    assert_eq!((answer.error, answer.session_id), (None, 0));
    assert_eq!(cache.metrics().sessions, 0);
    let answer = incremental(&mut cache, id, 2, vec![], &[], &[]);
    assert_eq!(answer.error, Some(ResponseError::FetchSessionIdNotFound));
}

#[test]
fn b062_a_final_epoch_removes_the_session() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 2, false, 0);
    let answer = incremental(&mut cache, id, -1, named([0]), &[], &[idle(0)]);
    assert_eq!((answer.error, answer.session_id), (None, 0));
    assert_eq!(answer.named, [true]);
    assert_eq!(cache.metrics().sessions, 0);
}

#[test]
fn b063_only_news_is_named() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 2, false, 0);
    let mut say = |epoch, outcome: Outcome| {
        let answer = incremental(&mut cache, id, epoch, vec![], &[], &[outcome, idle(1)]);
        assert_eq!((answer.error, answer.session_id), (None, id));
        assert!(!answer.named[1]);
        answer.named[0]
    };
    // an outcome does not even carry the last stable offset, so that a change of it alone names nothing
    assert!(!say(1, idle(0)));
    let higher = Outcome {
        high_watermark: 11,
        ..idle(0)
    };
    assert!(say(2, higher.clone()));
    assert!(!say(3, higher.clone()));
    let deleted = Outcome {
        log_start_offset: 3,
        ..higher
    };
    assert!(say(4, deleted.clone()));
    assert!(!say(5, deleted.clone()));
    let hint = Outcome {
        hint: true,
        ..deleted.clone()
    };
    assert!(say(6, hint.clone()));
    assert!(say(7, hint));
    let failed = Outcome {
        error: true,
        high_watermark: -1,
        log_start_offset: -1,
        ..idle(0)
    };
    assert!(say(8, failed.clone()));
    assert!(say(9, failed));
    assert!(say(10, deleted.clone()), "told again after an error");
    assert!(!say(11, deleted));
}

#[test]
fn b063_an_added_partition_is_named_in_its_first_answer() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 1, false, 0);
    let outcomes = [idle(0), idle(5)];
    let answer = incremental(&mut cache, id, 1, named([5]), &[], &outcomes);
    assert_eq!(answer.named, [false, true]);
    let answer = incremental(&mut cache, id, 2, vec![], &[], &outcomes);
    assert_eq!(answer.named, [false, false]);
}

#[test]
fn b064_partitions_that_gave_records_go_to_the_end() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 4, false, 0);
    let outcomes: Vec<_> = (0..4)
        .map(|p| Outcome {
            has_records: p == 1 || p == 2,
            // a new high watermark alone moves nothing
            high_watermark: 11,
            ..idle(p)
        })
        .collect();
    let answer = incremental(&mut cache, id, 1, vec![], &[], &outcomes);
    assert_eq!(answer.named, [true; 4]);
    let order: Vec<_> = cache.covered(id).map(|key| key.partition).collect();
    assert_eq!(order, [0, 3, 1, 2]);
}

#[test]
fn b065_an_unknown_topic_id_stays_and_resolves_later() {
    let mut cache = cache(10, 1, 1000);
    let unknown = PartitionKey {
        topic: None,
        ..key(0)
    };
    let context = cache.begin(request(0, 0), vec![(unknown.clone(), at(0))], &[], ms(0));
    assert_eq!(cache.partitions(&context, |_| None)[0].0.topic, None);
    let failed = Outcome {
        key: unknown,
        error: true,
        high_watermark: -1,
        log_start_offset: -1,
        ..idle(0)
    };
    let id = cache.answer(&context, &[failed], ms(0)).session_id;
    assert_ne!(id, 0);

    let context = cache.begin(request(id, 1), vec![], &[], ms(1));
    let resolved = cache.partitions(&context, |_| Some(Arc::from("t")));
    assert_eq!(resolved[0].0, key(0));
    let answer = cache.answer(&context, &[idle(0)], ms(1));
    assert_eq!((answer.session_id, answer.named), (id, vec![true]));
}

#[test]
fn b066_sessions_go_round_robin_over_shards_whose_ids_tell_them() {
    let mut cache = cache(16, 8, 1000);
    let range = i32::MAX / 8;
    let ids: Vec<_> = (0..16).map(|_| create(&mut cache, 1, false, 0)).collect();
    let shards: Vec<_> = ids.iter().map(|id| id / range).collect();
    assert_eq!(shards, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    cache.remove(ids[3]);
    // the next in turn is shard 0, which is full although shard 3 has room
    assert_eq!(create(&mut cache, 1, false, 0), 0);

    cache.next_shard = u32::MAX;
    assert_eq!(create(&mut cache, 1, false, 0), 0);
    assert_eq!(cache.next_shard, 0);
}

#[test]
fn b066_fewer_slots_than_shards_grant_nothing() {
    assert_eq!(create(&mut cache(7, 8, 1000), 1, false, 0), 0);
    let mut fifteen = cache(15, 8, 1000);
    let granted = (0..16)
        .filter(|_| create(&mut fifteen, 1, false, 0) != 0)
        .count();
    assert_eq!(granted, 8);
}

#[test]
fn b055_errors_of_a_session_leave_it_in_its_slot() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 1, false, 0);
    let answer = incremental(&mut cache, id, 5, vec![], &[], &[]);
    assert_eq!(
        answer,
        Answer::empty(Some(ResponseError::InvalidFetchSessionEpoch), 0)
    );
    let answer = incremental(&mut cache, id + 1, 1, vec![], &[], &[]);
    assert_eq!(
        answer,
        Answer::empty(Some(ResponseError::FetchSessionIdNotFound), 0)
    );
    let by_name = FetchMetadata {
        uses_topic_ids: false,
        ..request(id, 1)
    };
    let context = cache.begin(by_name, vec![], &[], ms(0));
    let answer = cache.answer(&context, &[], ms(0));
    assert_eq!(
        answer,
        Answer::empty(Some(ResponseError::FetchSessionTopicIdError), 0)
    );
    assert_eq!(
        incremental(&mut cache, id, 1, vec![], &[], &[idle(0)]).session_id,
        id
    );
}

#[test]
fn b055_hostile_ids_are_not_found() {
    let mut cache = cache(10, 8, 1000);
    for id in [0, -1, i32::MIN, i32::MAX] {
        for epoch in [1, -2, i32::MIN, i32::MAX] {
            let answer = incremental(&mut cache, id, epoch, vec![], &[], &[]);
            assert_eq!(answer.error, Some(ResponseError::FetchSessionIdNotFound));
        }
    }
}

#[test]
fn the_epoch_wraps_to_one() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 1, false, 0);
    cache.session_mut(id).expect("created").epoch = i32::MAX;
    touch(&mut cache, id, i32::MAX, 0);
    touch(&mut cache, id, 1, 0);
}

#[test]
fn a_racing_request_is_told_so_with_the_id_of_its_session() {
    let mut cache = cache(10, 1, 1000);
    let id = create(&mut cache, 1, false, 0);
    let waits = cache.begin(request(id, 1), vec![], &[], ms(0));
    touch(&mut cache, id, 2, 0);
    let raced = Answer::empty(Some(ResponseError::InvalidFetchSessionEpoch), id);
    assert_eq!(cache.answer(&waits, &[idle(0)], ms(0)), raced);
    assert_eq!(cache.answer_throttled(&waits), raced);
}

#[test]
fn a_throttled_answer_is_empty_and_consumes_the_epoch() {
    let mut cache = cache(10, 1, 1000);
    let full = cache.begin(request(0, 0), named([0]), &[], ms(0));
    assert_eq!(cache.answer_throttled(&full), Answer::empty(None, 0));
    assert_eq!(cache.metrics().sessions, 0);
    let id = create(&mut cache, 1, false, 0);
    let context = cache.begin(request(id, 1), vec![], &[], ms(0));
    assert_eq!(cache.answer_throttled(&context), Answer::empty(None, id));
    touch(&mut cache, id, 2, 0);
}

#[test]
fn a_full_request_without_partitions_gets_a_session_of_size_zero() {
    let mut cache = cache(10, 1, 1000);
    assert_ne!(create(&mut cache, 0, false, 0), 0);
    assert_eq!(
        cache.metrics(),
        CacheMetrics {
            sessions: 1,
            partitions: 0,
            evictions: 0
        }
    );
}

#[test]
fn a_partition_named_twice_counts_once_with_its_last_offset() {
    let mut cache = cache(10, 1, 1000);
    let twice = vec![(key(0), at(3)), (key(1), at(0)), (key(0), at(7))];
    let context = cache.begin(request(0, 0), twice, &[], ms(0));
    let read: Vec<_> = cache
        .partitions(&context, |_| None)
        .into_iter()
        .map(|(key, parameters)| (key.partition, parameters.fetch_offset))
        .collect();
    assert_eq!(read, [(0, 7), (1, 0)]);
}
