//! Which offsets are committed, in which order, and when not.

use std::time::Duration;

use consumer_app::{GroupError, OffsetAndMetadata};
use test_broker::{ApiKey, Fault, ResponseError};

use super::support::{
    Listener, Protocol, asked, automatic, commits_of, committed, each, each_of, group_error,
    joined, joins, leaves, manual, member_id, members, read, story,
};
use crate::support::{broker, broker_of, poll, produce, run, settle, tp};

#[test]
fn b134_offset_metadata_and_epoch_are_read_back_as_committed() {
    each(|protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 5);
        let mut consumer = joined(manual(&broker, protocol), 2).await;
        let offset = OffsetAndMetadata {
            offset: 3,
            leader_epoch: Some(0),
            metadata: "dot \u{2022}".into(),
        };
        let empty = OffsetAndMetadata::from(0);
        let both = [(tp(0), offset.clone()), (tp(1), empty.clone())];
        consumer.commit_offsets(both).await.unwrap();
        let found = consumer.committed(&[tp(0), tp(1)]).await.unwrap();
        assert_eq!(found[&tp(0)].as_ref(), Some(&offset));
        assert_eq!(found[&tp(1)].as_ref(), Some(&empty));
        let told = broker.committed("g", "t", 0).unwrap();
        assert_eq!((told.leader_epoch, &*told.metadata), (0, "dot \u{2022}"));
        assert_eq!(consumer.all_committed().await.unwrap().len(), 2);
        consumer.close(Duration::from_secs(1)).await.unwrap();
    });
}

/// 1,000 commits at once, without waiting for one of them.
#[test]
fn b130_of_many_commits_an_older_one_never_overwrites_a_newer_one() {
    each(|protocol| async move {
        let broker = broker(1);
        let consumer = joined(manual(&broker, protocol), 1).await;
        let fault = Fault::delay(Duration::from_millis(30)).on(ApiKey::OffsetCommit);
        broker.inject(fault);
        let mut commits = Vec::new();
        for offset in 0..1000 {
            commits.push(consumer.commit_offsets([(tp(0), offset)]));
            if offset % 97 == 0 {
                settle().await;
            }
        }
        // the last is waited for first: what is committed then stays
        commits.pop().unwrap().await.unwrap();
        assert_eq!(committed(&broker, 0), Some(999));
        for commit in commits {
            commit.await.unwrap();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(committed(&broker, 0), Some(999));
        let sent = commits_of(&broker, 0);
        assert!(sent.is_sorted(), "{sent:?}");
        assert!(sent.len() < 20, "{sent:?}");
    });
}

#[test]
fn b129_b130_1000_commits_and_the_coordinator_is_lost() {
    each(|protocol| async move {
        let broker = broker_of(2, 1);
        let consumer = joined(manual(&broker, protocol), 1).await;
        let node = broker.coordinator("g").unwrap();
        broker.inject(Fault::silence().on(ApiKey::OffsetCommit).times(1));
        let commits: Vec<_> = (0..1000)
            .map(|offset| consumer.commit_offsets([(tp(0), offset)]))
            .collect();
        settle().await;
        broker.move_coordinator("g", 3 - node).unwrap();
        broker.kill_node(node).await.unwrap();
        for commit in commits {
            commit.await.unwrap();
        }
        assert_eq!(committed(&broker, 0), Some(999));
    });
}

#[test]
fn b123_b127_b154_a_commit_survives_what_passes() {
    for error in [
        ResponseError::NotCoordinator,
        ResponseError::CoordinatorNotAvailable,
        ResponseError::CoordinatorLoadInProgress,
        ResponseError::RequestTimedOut,
        ResponseError::UnknownTopicOrPartition,
    ] {
        each(|protocol| async move {
            let broker = broker(1);
            produce(&broker, 0, 3);
            let mut consumer = joined(manual(&broker, protocol), 1).await;
            read(&mut consumer, 3).await;
            let fault = Fault::error(error).on(ApiKey::OffsetCommit).times(2);
            let fault = broker.inject(fault);
            broker.clear_requests();
            consumer.commit().await.unwrap();
            assert_eq!(broker.fault_hits(fault), 2, "{error:?}");
            assert_eq!(committed(&broker, 0), Some(3), "{error:?}");
            // the membership is none the worse for it
            assert_eq!(consumer.assignment(), [tp(0)]);
            assert_eq!(joins(&broker), 0);
            consumer.close(Duration::from_secs(1)).await.unwrap();
        });
    }
}

#[test]
fn b127_what_does_not_pass_is_told_as_what_it_is() {
    for (error, is_failed) in [
        (ResponseError::OffsetMetadataTooLarge, false),
        (ResponseError::InvalidCommitOffsetSize, false),
        (ResponseError::TopicAuthorizationFailed, false),
        (ResponseError::UnknownServerError, false),
        (ResponseError::UnknownMemberId, true),
        (ResponseError::IllegalGeneration, true),
    ] {
        each(|protocol| async move {
            let broker = broker(1);
            let consumer = joined(manual(&broker, protocol), 1).await;
            let fault = Fault::error(error).on(ApiKey::OffsetCommit).times(1);
            broker.inject(fault);
            let told = group_error(consumer.commit_offsets([(tp(0), 0)]).await);
            match told {
                GroupError::CommitFailed { .. } => assert!(is_failed, "{error:?}"),
                GroupError::OffsetRefused { partition, .. } => {
                    assert!(!is_failed, "{error:?}");
                    assert_eq!(partition, tp(0));
                }
                other => panic!("{error:?}: {other}"),
            }
        });
    }
}

/// KIP-62, KIP-848: nothing of the old membership is left, but for the id where it is the member's own.
#[test]
fn f021_b132_a_member_that_a_commit_finds_out_of_the_group_joins_again() {
    for (error, protocols, keeps_id) in [
        (
            ResponseError::UnknownMemberId,
            &Protocol::CLASSIC[..],
            false,
        ),
        (ResponseError::IllegalGeneration, &Protocol::CLASSIC, true),
        (ResponseError::UnknownMemberId, &[Protocol::Consumer], true),
        (
            ResponseError::FencedMemberEpoch,
            &[Protocol::Consumer],
            true,
        ),
    ] {
        each_of(protocols, |protocol| async move {
            let broker = broker(1);
            produce(&broker, 0, 2);
            let mut consumer = joined(manual(&broker, protocol), 1).await;
            read(&mut consumer, 1).await;
            let id = member_id(&broker);
            broker.clear_requests();
            if error == ResponseError::UnknownMemberId {
                assert!(broker.expel_member("g", &id));
            } else {
                broker.inject(Fault::error(error).on(ApiKey::OffsetCommit).times(1));
            }
            group_error(consumer.commit().await);
            // from where the group committed, which is nothing, that is from the start
            assert_eq!(read(&mut consumer, 2).await, [(tp(0), 0), (tp(0), 1)]);
            assert_eq!(member_id(&broker) == id, keeps_id, "{error:?}");
            assert!(joins(&broker) > 0);
        });
    }
}

#[test]
fn f021_b146_a_commit_of_a_member_that_was_kicked_out_fails_and_commits_nothing() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 2);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        read(&mut consumer, 1).await;
        assert!(broker.expel_member("g", &member_id(&broker)));
        let error = group_error(consumer.commit().await);
        assert!(matches!(error, GroupError::CommitFailed { .. }), "{error}");
        assert!(!error.is_retriable());
        assert_eq!(committed(&broker, 0), None);
    });
}

#[test]
fn f018_what_is_not_assigned_is_not_committed() {
    each(|protocol| async move {
        let broker = broker(4);
        broker.set_committed("g", "t", 3, 200).unwrap();
        let mut one = joined(manual(&broker, protocol), 4).await;
        let mut two = manual(&broker, protocol).spawn_local().unwrap();
        two.subscribe(["t"]).await.unwrap();
        while two.assignment().is_empty() {
            one.poll(Duration::from_millis(100)).await.unwrap();
            two.poll(Duration::from_millis(100)).await.unwrap();
        }
        let gone = two.assignment()[0].clone();
        assert!(!one.assignment().contains(&gone));
        for foreign in [gone, tp(9)] {
            let offsets = [(one.assignment()[0].clone(), 1), (foreign.clone(), 100)];
            let error = group_error(one.commit_offsets(offsets).await);
            let GroupError::NotAssigned { partition, .. } = &error else {
                panic!("{error}");
            };
            assert_eq!(*partition, foreign);
            assert!(error.to_string().contains(&foreign.to_string()));
        }
        // nor was the rest of it
        assert_eq!(asked(&broker, ApiKey::OffsetCommit), 0);
        assert_eq!(committed(&broker, 3), Some(200));
    });
}

#[test]
fn b122_b135_only_what_was_processed_is_committed_automatically() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 30);
        let builder = automatic(&broker, protocol).set("max.poll.records", "10");
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        while consumer.position(&tp(0)) != Some(10) {
            consumer.poll(Duration::from_millis(100)).await.unwrap();
        }
        // at work with them
        tokio::time::sleep(Duration::from_secs(30)).await;
        let before = commits_of(&broker, 0);
        assert!(before.iter().all(|&offset| offset == 0), "{before:?}");
        assert_eq!(poll(&mut consumer).await.len(), 10);
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(committed(&broker, 0), Some(10));
        // a poll that is dropped begins all the same
        assert_eq!(poll(&mut consumer).await.len(), 10);
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(committed(&broker, 0), Some(20));
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(committed(&broker, 0), Some(30));
    });
}

/// Who commits what is in hand says that it is processed: an automatic commit does not take that back.
#[test]
fn b122_b130_an_automatic_commit_never_takes_back_what_was_committed_by_hand() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 30);
        let builder = automatic(&broker, protocol).set("max.poll.records", "10");
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        while consumer.position(&tp(0)) != Some(10) {
            consumer.poll(Duration::from_millis(100)).await.unwrap();
        }
        consumer.commit().await.unwrap();
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!(committed(&broker, 0), Some(10));
        assert!(commits_of(&broker, 0).is_sorted());
    });
}

#[test]
fn b126_without_a_position_nothing_is_committed() {
    each(|protocol| async move {
        let broker = broker(1);
        broker.inject(Fault::silence().on(ApiKey::ListOffsets));
        let _consumer = joined(automatic(&broker, protocol), 1).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(asked(&broker, ApiKey::OffsetCommit), 0);
    });
}

#[test]
fn b124_one_automatic_commit_at_a_time() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 2);
        let builder = automatic(&broker, protocol).set("auto.commit.interval.ms", "100");
        let mut consumer = joined(builder, 1).await;
        read(&mut consumer, 1).await;
        broker.inject(Fault::delay(Duration::from_millis(350)).on(ApiKey::OffsetCommit));
        settle().await;
        broker.clear_requests();
        tokio::time::sleep(Duration::from_secs(7)).await;
        let sent = asked(&broker, ApiKey::OffsetCommit);
        assert!((18..=21).contains(&sent), "{sent}");
    });
}

#[test]
fn b125_an_automatic_commit_that_failed_for_now_is_made_anew_with_the_newest_offset() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let mut consumer = joined(
            automatic(&broker, protocol).set("retry.backoff.ms", "1000"),
            1,
        )
        .await;
        read(&mut consumer, 2).await;
        let fault = Fault::error(ResponseError::CoordinatorLoadInProgress);
        let fault = broker.inject(fault.on(ApiKey::OffsetCommit).times(1));
        while broker.fault_hits(fault) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        read(&mut consumer, 1).await;
        broker.clear_requests();
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(asked(&broker, ApiKey::OffsetCommit), 0);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(commits_of(&broker, 0), [2]);
    });
}

#[test]
fn b136_close_commits_what_was_given() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let mut consumer = joined(automatic(&broker, protocol), 1).await;
        read(&mut consumer, 7).await;
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(committed(&broker, 0), Some(7));
    });
}

/// As if the process had been killed: what was in hand comes again.
#[test]
fn b139_what_was_not_processed_is_not_committed_by_a_drop() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let mut consumer = joined(automatic(&broker, protocol), 1).await;
        read(&mut consumer, 7).await;
        drop(consumer);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(committed(&broker, 0), Some(6));
        let mut next = joined(automatic(&broker, protocol), 1).await;
        assert_eq!(read(&mut next, 1).await, [(tp(0), 6)]);
    });
}

#[test]
fn f062_the_last_commit_finds_the_coordinator_again() {
    for error in [
        ResponseError::NotCoordinator,
        ResponseError::CoordinatorNotAvailable,
    ] {
        each(|protocol| async move {
            let broker = broker(1);
            produce(&broker, 0, 10);
            let mut consumer = joined(automatic(&broker, protocol), 1).await;
            read(&mut consumer, 10).await;
            broker.clear_requests();
            broker.inject(Fault::error(error).on(ApiKey::OffsetCommit).times(1));
            consumer.close(Duration::from_secs(5)).await.unwrap();
            assert_eq!(committed(&broker, 0), Some(10));
            let expected = [
                ApiKey::OffsetCommit,
                ApiKey::FindCoordinator,
                ApiKey::OffsetCommit,
            ];
            assert_eq!(story(&broker), expected, "{error:?}");
            assert_eq!(leaves(&broker), 1);
        });
    }
}

#[test]
fn b105_b106_b198_partitions_assigned_by_hand_start_where_the_group_committed() {
    each(|protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 10);
        produce(&broker, 1, 10);
        broker.set_committed("g", "t", 0, 4).unwrap();
        let mut consumer = automatic(&broker, protocol).spawn_local().unwrap();
        consumer.assign([tp(0), tp(1)]).await.unwrap();
        let mut came = read(&mut consumer, 16).await;
        came.sort();
        assert_eq!(came[0], (tp(0), 4));
        assert_eq!(came[6], (tp(1), 0));
        // as one that takes no part in the group, any partition's
        consumer.commit_offsets([(tp(0), 5)]).await.unwrap();
        assert_eq!(committed(&broker, 0), Some(5));
        for request in broker.requests_of(ApiKey::OffsetCommit) {
            match request.summary {
                test_broker::RequestSummary::OffsetCommit {
                    member, generation, ..
                } => assert_eq!((&*member, generation), ("", -1)),
                other => panic!("{other:?}"),
            }
        }
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(
            (committed(&broker, 0), committed(&broker, 1)),
            (Some(10), Some(10))
        );
        assert_eq!(joins(&broker), 0);
        assert_eq!(leaves(&broker), 0);
    });
}

#[test]
fn b108_without_a_committed_offset_and_a_reset_policy_the_partition_is_named() {
    each(|protocol| async move {
        let broker = broker(2);
        broker.set_committed("g", "t", 0, 0).unwrap();
        produce(&broker, 0, 1);
        let builder = manual(&broker, protocol).set("auto.offset.reset", "none");
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        let mut told = Vec::new();
        let mut came = 0;
        for _ in 0..20 {
            match consumer.poll(Duration::from_millis(200)).await {
                Ok(records) => came += records.len(),
                Err(error) => told.push(error.to_string()),
            }
        }
        assert_eq!(came, 1);
        assert!(told.iter().all(|told| told.contains("t-1")), "{told:?}");
        assert!(!told.is_empty());
    });
}

/// What it gave is of before, and others have gone on since.
#[test]
fn f018_who_was_thrown_out_does_not_commit_what_it_was_given_before() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let listener = Listener::default();
        let builder = manual(&broker, Protocol::Consumer).rebalance_listener(listener.clone());
        let mut consumer = joined(builder, 1).await;
        assert_eq!(read(&mut consumer, 1).await, [(tp(0), 0)]);
        assert!(broker.expel_member("g", &member_id(&broker)));
        broker.set_committed("g", "t", 0, 7).unwrap();
        // the heartbeat tells it that it is out; it comes back when its application has heard of it
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(members(&broker), 0);
        let error = group_error(consumer.commit().await);
        assert!(matches!(error, GroupError::CommitFailed { .. }), "{error}");
        assert_eq!(committed(&broker, 0), Some(7));
        // told of the loss, it goes on where the others are
        assert_eq!(read(&mut consumer, 1).await, [(tp(0), 7)]);
        let calls = listener.calls().into_iter().map(|(call, _)| call);
        let calls: Vec<_> = calls.filter(|call| *call != "assigned").collect();
        assert_eq!(calls, ["lost"]);
    });
}

#[test]
fn a_commit_is_of_the_moment_at_which_it_is_asked_for() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        read(&mut consumer, 2).await;
        let commit = consumer.commit();
        // from what the reader has in hand, so that no actor runs in between
        assert_eq!(poll(&mut consumer).await.len(), 1);
        commit.await.unwrap();
        assert_eq!(committed(&broker, 0), Some(2), "{protocol:?}");
        // another call before them, so that the buffer is awake before the coordinator
        drop(consumer.resume([&tp(0)]));
        drop(consumer.commit());
        drop(consumer.seek(&tp(0), 0));
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(committed(&broker, 0), Some(3), "{protocol:?}");
        // and what comes before it counts
        drop(consumer.seek(&tp(0), 1));
        consumer.commit().await.unwrap();
        assert_eq!(committed(&broker, 0), Some(1), "{protocol:?}");
    });
}

#[test]
fn what_was_called_before_a_close_is_done_before_it() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        read(&mut consumer, 4).await;
        drop(consumer.seek(&tp(0), 1));
        drop(consumer.commit());
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(committed(&broker, 0), Some(1), "{protocol:?}");
    });
}
