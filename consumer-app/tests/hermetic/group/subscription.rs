//! Subscribing, unsubscribing, patterns, static members, and who a member is.

use std::time::Duration;

use consumer_app::{Error, GroupError, LeaveOption, Subscription};
use test_broker::{ApiKey, Fault};

use super::support::{
    Protocol, asked, automatic, committed, each, each_of, group_error, joined, joins, leaves,
    manual, member_id, members, owns, read,
};
use crate::support::{broker, consumer, produce, run, settle, tp};

const STEP: Duration = Duration::from_millis(100);

#[test]
fn b021_b149_the_assignment_fits_the_last_subscription() {
    each(|protocol| async move {
        let broker = broker(1);
        for topic in ["u", "v"] {
            broker.create_topic(topic, 1).unwrap();
            broker.produce(topic, 0, ["a", "b"]).unwrap();
        }
        produce(&broker, 0, 3);
        let mut consumer = automatic(&broker, protocol).spawn_local().unwrap();
        consumer.subscribe(["t", "u"]).await.unwrap();
        let mut came = 0;
        while came < 5 {
            came += consumer.poll(STEP).await.unwrap().len();
        }
        consumer.subscribe(["t", "v"]).await.unwrap();
        let expected = ["t", "v"].map(Into::into).into();
        assert_eq!(
            consumer.subscription(),
            Some(Subscription::Topics(expected))
        );
        let mut came = Vec::new();
        while came.len() < 2 {
            let records = consumer.poll(STEP).await.unwrap();
            came.extend(records.iter().map(|r| r.topic().to_owned()));
        }
        assert_eq!(came, ["v", "v"]);
        let mut topics: Vec<_> = consumer
            .assignment()
            .iter()
            .map(|p| p.topic().to_owned())
            .collect();
        topics.sort();
        assert_eq!(topics, ["t", "v"]);
        // what was given up was committed, by the polls that followed
        assert_eq!(broker.committed("g", "u", 0).unwrap().offset, 2);
        for topics in [vec!["u"], vec!["v", "u"], vec!["t"], vec!["u", "t"]] {
            consumer.subscribe(topics).await.unwrap();
        }
        for _ in 0..100 {
            consumer.poll(STEP).await.unwrap();
        }
        assert_eq!(consumer.assignment().len(), 2);
    });
}

#[test]
fn b147_b170_unsubscribe_leaves_and_subscribe_joins_anew() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let mut consumer = joined(automatic(&broker, protocol), 1).await;
        read(&mut consumer, 2).await;
        consumer.unsubscribe().await.unwrap();
        assert_eq!(consumer.subscription(), None);
        assert!(consumer.assignment().is_empty());
        assert!(matches!(
            consumer.poll(STEP).await,
            Err(Error::NothingAssigned)
        ));
        consumer.unsubscribe().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(leaves(&broker), 1);
        assert!(members(&broker) == 0);
        let at = committed(&broker, 0).expect("what was processed is committed");
        consumer.subscribe(["t"]).await.unwrap();
        let (_, first) = read(&mut consumer, 1).await[0];
        assert_eq!(first, at);
        for _ in 0..20 {
            drop(consumer.unsubscribe());
            drop(consumer.subscribe(["t"]));
        }
        for _ in 0..100 {
            consumer.poll(STEP).await.unwrap();
        }
        assert_eq!(consumer.assignment(), [tp(0)]);
        assert_eq!(broker.group("g").unwrap().members.len(), 1);
    });
}

#[test]
fn b024_subscribe_and_assign_do_not_mix() {
    each(|protocol| async move {
        let broker = broker(1);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        assert!(matches!(
            consumer.assign([tp(0)]).await,
            Err(Error::MixedUse)
        ));
        assert_eq!(consumer.assignment(), [tp(0)]);
        consumer.subscribe(Vec::<String>::new()).await.unwrap();
        settle().await;
        consumer.assign([tp(0)]).await.unwrap();
        assert!(matches!(
            consumer.subscribe(["t"]).await,
            Err(Error::MixedUse)
        ));
        produce(&broker, 0, 1);
        read(&mut consumer, 1).await;
        assert!(matches!(
            consumer.subscribe([" "]).await,
            Err(Error::BlankTopic)
        ));
    });
}

/// None of the actors runs before the futures are gone.
#[test]
fn a_subscription_holds_even_if_nobody_waits_for_it() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 2);
        let mut consumer = automatic(&broker, protocol).spawn_local().unwrap();
        for leave_in_words in [true, false] {
            drop(consumer.subscribe(["t"]));
            read(&mut consumer, 1).await;
            produce(&broker, 0, 1);
            if leave_in_words {
                drop(consumer.unsubscribe());
            } else {
                drop(consumer.subscribe(Vec::<String>::new()));
            }
            settle().await;
            assert_eq!(consumer.assignment(), []);
            assert_eq!(members(&broker), 0);
        }
    });
}

/// What the group had assigned is gone before what is assigned by hand comes, and not after.
#[test]
fn who_unsubscribes_and_assigns_by_hand_need_not_wait_in_between() {
    each(|protocol| async move {
        let broker = broker(2);
        produce(&broker, 1, 2);
        let mut consumer = joined(automatic(&broker, protocol), 2).await;
        drop(consumer.unsubscribe());
        drop(consumer.assign([tp(1)]));
        settle().await;
        assert_eq!(consumer.assignment(), [tp(1)]);
        read(&mut consumer, 2).await;
    });
}

/// It begins where it is told, also with what the group had assigned and was read.
#[test]
fn what_is_assigned_by_hand_after_a_subscription_begins_from_nothing() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        assert_eq!(read(&mut consumer, 5).await[0].1, 0);
        drop(consumer.pause([&tp(0)]));
        drop(consumer.unsubscribe());
        drop(consumer.assign_at([(tp(0), 0)]));
        assert_eq!(read(&mut consumer, 1).await[0].1, 0);
        assert!(consumer.paused().is_empty());
    });
}

/// The group was being asked where to begin.
#[test]
fn a_position_that_was_sought_for_a_subscription_is_sought_anew() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 2);
        let slow = Fault::delay(Duration::from_secs(2));
        broker.inject(slow.on(ApiKey::OffsetFetch).times(1));
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        drop(consumer.unsubscribe());
        drop(consumer.assign([tp(0)]));
        read(&mut consumer, 2).await;
    });
}

/// Where it was sought is where the application has processed to.
#[test]
fn a_seek_comes_before_the_commit_of_who_leaves() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let builder = automatic(&broker, protocol).set("auto.commit.interval.ms", "3600000");
        let mut consumer = joined(builder, 1).await;
        read(&mut consumer, 3).await;
        consumer.poll(Duration::ZERO).await.unwrap();
        drop(consumer.seek(&tp(0), 1));
        drop(consumer.unsubscribe());
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(committed(&broker, 0), Some(1), "{protocol:?}");
    });
}

/// Whatever else the actors have to do.
#[test]
fn what_was_processed_is_committed_before_what_is_assigned_by_hand_replaces_it() {
    for other_call in [false, true] {
        each(|protocol| async move {
            let broker = broker(2);
            produce(&broker, 0, 3);
            let builder = automatic(&broker, protocol).set("auto.commit.interval.ms", "3600000");
            let mut consumer = joined(builder, 2).await;
            read(&mut consumer, 3).await;
            consumer.poll(Duration::ZERO).await.unwrap();
            if other_call {
                drop(consumer.pause([&tp(1)]));
            }
            drop(consumer.unsubscribe());
            drop(consumer.assign([tp(1)]));
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(committed(&broker, 0), Some(3), "{protocol:?}");
        });
    }
}

#[test]
fn without_a_group_there_is_nothing_to_subscribe_to_or_to_commit_for() {
    run(async {
        let broker = broker(1);
        let consumer = consumer(&broker);
        let no_group = |error| assert!(matches!(error, GroupError::NoGroup), "{error}");
        no_group(group_error(consumer.subscribe(["t"]).await));
        no_group(group_error(consumer.commit().await));
        no_group(group_error(consumer.committed(&[tp(0)]).await));
        no_group(group_error(consumer.group_metadata().await));
        consumer.assign([tp(0)]).await.unwrap();
    });
}

#[test]
fn b153_a_pattern_finds_topics_that_come_later() {
    each(|protocol| async move {
        let broker = broker(1);
        broker.create_topic("orders-1", 2).unwrap();
        let builder = manual(&broker, protocol).set("metadata.max.age.ms", "2000");
        let mut consumer = builder.spawn_local().unwrap();
        let error = match consumer.subscribe_pattern("orders-(").await {
            // it is the broker's to judge
            Ok(()) => loop {
                match consumer.poll(STEP).await {
                    Ok(records) => assert!(records.is_empty()),
                    told => break group_error(told),
                }
            },
            told => group_error(told),
        };
        assert!(
            matches!(error, GroupError::InvalidPattern { .. }),
            "{error}"
        );
        consumer.subscribe_pattern("orders-.*").await.unwrap();
        owns(&mut consumer, 2).await;
        broker.create_topic("orders-2", 3).unwrap();
        broker.create_topic("other", 3).unwrap();
        owns(&mut consumer, 5).await;
        assert!(
            consumer
                .assignment()
                .iter()
                .all(|p| p.topic().starts_with("orders-"))
        );
        broker.add_partitions("orders-1", 4).unwrap();
        owns(&mut consumer, 7).await;
        broker.delete_topic("orders-2").unwrap();
        owns(&mut consumer, 4).await;
        // which was no error, and nobody's question brought it back
        assert!(broker.topic_id("orders-2").is_err());
    });
}

#[test]
fn f025_one_join_in_a_quiet_cluster() {
    each(|protocol| async move {
        let broker = broker(1);
        broker.create_topic("u", 1).unwrap();
        let builder = manual(&broker, protocol).set("metadata.max.age.ms", "5000");
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t", "u"]).await.unwrap();
        owns(&mut consumer, 2).await;
        broker.clear_requests();
        for _ in 0..300 {
            consumer.poll(STEP).await.unwrap();
        }
        assert!(asked(&broker, ApiKey::Metadata) >= 5);
        assert_eq!(joins(&broker), 0);
    });
}

/// The members of a group of KIP-848 have no say in it.
#[test]
fn enforced_rebalances_are_rebalances_and_the_metadata_tells_who_a_member_is() {
    each_of(&Protocol::CLASSIC, |protocol| async move {
        let broker = broker(1);
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        let before = consumer.group_metadata().await.unwrap();
        assert_eq!(&*before.group_id, "g");
        assert_eq!(&*before.member_id, member_id(&broker));
        assert_eq!(before.generation_id, broker.group("g").unwrap().generation);
        consumer.enforce_rebalance("because").unwrap();
        for _ in 0..50 {
            consumer.poll(STEP).await.unwrap();
        }
        let after = consumer.group_metadata().await.unwrap();
        assert_eq!(after.generation_id, before.generation_id + 1);
        assert_eq!(after.member_id, before.member_id);
        assert_eq!(consumer.assignment(), [tp(0)]);
        consumer.unsubscribe().await.unwrap();
        settle().await;
        assert_eq!(consumer.group_metadata().await.unwrap().generation_id, -1);
    });
}

/// KIP-345: a static member that comes back within its session has what it had, and nobody is asked.
#[test]
fn b152_b198_a_static_member_restarts_without_a_rebalance() {
    each(|protocol| async move {
        let broker = broker(2);
        produce(&broker, 0, 4);
        let builder = || automatic(&broker, protocol).set("group.instance.id", "i");
        let mut consumer = joined(builder(), 2).await;
        read(&mut consumer, 4).await;
        let generation = broker.group("g").unwrap().generation;
        consumer.close(Duration::from_secs(5)).await.unwrap();
        assert_eq!(leaves(&broker), 0);
        assert_eq!(committed(&broker, 0), Some(4));
        tokio::time::sleep(Duration::from_secs(5)).await;
        let consumer = joined(builder(), 2).await;
        assert_eq!(broker.group("g").unwrap().generation, generation);
        assert_eq!(
            consumer
                .group_metadata()
                .await
                .unwrap()
                .group_instance_id
                .as_deref(),
            Some("i")
        );
    });
}

/// KIP-1092.
#[test]
fn b198_whether_to_leave_can_be_said() {
    for (instance, option, is_to_leave) in [
        (None, LeaveOption::Default, true),
        (None, LeaveOption::LeaveGroup, true),
        (None, LeaveOption::RemainInGroup, false),
        (Some("i"), LeaveOption::Default, false),
        (Some("i"), LeaveOption::LeaveGroup, true),
        (Some("i"), LeaveOption::RemainInGroup, false),
    ] {
        each(|protocol| async move {
            let broker = broker(1);
            produce(&broker, 0, 1);
            let mut builder = automatic(&broker, protocol);
            if let Some(instance) = instance {
                builder = builder.set("group.instance.id", instance);
            }
            let mut consumer = joined(builder, 1).await;
            read(&mut consumer, 1).await;
            consumer
                .close_with(Duration::from_secs(5), option)
                .await
                .unwrap();
            let told = leaves(&broker) == 1;
            assert_eq!(told, is_to_leave, "{instance:?} {option:?}");
            let left = members(&broker) == 0;
            assert_eq!(left, is_to_leave, "{instance:?} {option:?}");
            assert_eq!(committed(&broker, 0), Some(1));
        });
    }
}

/// A partition that is added to a topic begins where `auto.offset.reset` says when it is found: with `latest` behind what was
/// produced until then. `by_duration` (KIP-1106) is the setting with which nothing of it is lost.
#[test]
fn f036_the_first_records_of_a_partition_that_is_added_come_with_a_reset_by_duration() {
    each(|protocol| async move {
        for (reset, first) in [("latest", 10), ("by_duration:PT1H", 0)] {
            let broker = broker(1);
            let consumer = automatic(&broker, protocol).set("auto.offset.reset", reset);
            let mut consumer = consumer
                .set("metadata.max.age.ms", "5000")
                .spawn_local()
                .unwrap();
            consumer.subscribe(["t"]).await.unwrap();
            owns(&mut consumer, 1).await;
            broker.add_partitions("t", 2).unwrap();
            produce(&broker, 1, 10);
            let mut came = Vec::new();
            let mut is_found = false;
            while came.last() != Some(&10) {
                let records = consumer.poll(STEP).await.unwrap();
                came.extend(records.iter().map(|record| record.offset()));
                if !is_found && consumer.position(&tp(1)).is_some() {
                    is_found = true;
                    produce(&broker, 1, 1);
                }
            }
            assert_eq!(
                came,
                (first..11).collect::<Vec<_>>(),
                "{protocol:?}, {reset}"
            );
        }
    });
}
