//! A coordinator that dies, moves, loads, refuses, or talks nonsense.

use std::time::Duration;

use consumer_app::{Consumer, Error, GroupError};
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};

use super::support::{
    Protocol, asked, automatic, committed, each, each_of, heartbeats, joined, joins, leaves,
    manual, member_id, members, read,
};
use crate::support::{broker, broker_of, produce, run, tp};

const STEP: Duration = Duration::from_millis(100);

/// Reads what is there, works with the group for a minute, reads what came.
async fn works(consumer: &mut Consumer, broker: &TestBroker) {
    produce(broker, 0, 3);
    let next = read(consumer, 3).await;
    assert!(next.is_sorted());
    consumer.commit().await.unwrap();
    assert_eq!(committed(broker, 0), Some(next[2].1 + 1));
}

#[test]
fn b129_b154_the_coordinator_is_killed_and_another_node_takes_its_place() {
    each(|protocol| async move {
        let broker = broker_of(3, 1);
        let node = broker.coordinator("g").unwrap();
        let home = node % 3 + 1;
        broker.move_leader("t", 0, home).unwrap();
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        works(&mut consumer, &broker).await;
        let id = member_id(&broker);
        broker.clear_requests();
        broker.move_coordinator("g", home).unwrap();
        broker.kill_node(node).await.unwrap();
        works(&mut consumer, &broker).await;
        consumer.poll(Duration::from_secs(60)).await.unwrap();
        assert_eq!(member_id(&broker), id);
        assert_eq!(joins(&broker), 0, "the membership is kept");
    });
}

#[test]
fn b154_the_coordinator_moves_or_loads_and_the_member_stays() {
    each(|protocol| async move {
        let broker = broker_of(2, 1);
        let node = broker.coordinator("g").unwrap();
        let mut consumer = joined(manual(&broker, protocol), 1).await;
        let id = member_id(&broker);
        broker.clear_requests();
        broker.move_coordinator("g", 3 - node).unwrap();
        works(&mut consumer, &broker).await;
        broker.set_coordinator_loading("g", true);
        consumer.poll(Duration::from_secs(10)).await.unwrap();
        // no flood while it loads
        let heartbeats = heartbeats(&broker) + asked(&broker, ApiKey::FindCoordinator);
        assert!(heartbeats < 60, "{heartbeats}");
        broker.set_coordinator_loading("g", false);
        works(&mut consumer, &broker).await;
        assert_eq!(member_id(&broker), id);
        assert_eq!(joins(&broker), 0);
    });
}

/// Each API of the group answers twice with what passes: the member joins all the same.
#[test]
fn b142_b154_what_passes_while_joining() {
    use ResponseError::{
        CoordinatorLoadInProgress, CoordinatorNotAvailable, FencedMemberEpoch, IllegalGeneration,
        NotCoordinator, RebalanceInProgress, StaleMemberEpoch, UnknownMemberId,
        UnstableOffsetCommit,
    };
    let by_all: &[_] = &Protocol::ALL;
    let by_classic: &[_] = &Protocol::CLASSIC;
    let by_consumer: &[_] = &[Protocol::Consumer];
    for (protocols, api, errors) in [
        (
            by_all,
            ApiKey::FindCoordinator,
            &[CoordinatorNotAvailable][..],
        ),
        (
            by_all,
            ApiKey::OffsetFetch,
            &[
                CoordinatorLoadInProgress,
                NotCoordinator,
                UnstableOffsetCommit,
            ],
        ),
        (
            by_classic,
            ApiKey::JoinGroup,
            &[
                CoordinatorLoadInProgress,
                NotCoordinator,
                UnknownMemberId,
                RebalanceInProgress,
            ],
        ),
        (
            by_classic,
            ApiKey::SyncGroup,
            &[RebalanceInProgress, IllegalGeneration, NotCoordinator],
        ),
        (
            by_classic,
            ApiKey::Heartbeat,
            &[
                NotCoordinator,
                CoordinatorNotAvailable,
                RebalanceInProgress,
                IllegalGeneration,
            ],
        ),
        (
            by_consumer,
            ApiKey::ConsumerGroupHeartbeat,
            &[
                CoordinatorLoadInProgress,
                NotCoordinator,
                UnknownMemberId,
                FencedMemberEpoch,
            ],
        ),
        (by_consumer, ApiKey::OffsetFetch, &[StaleMemberEpoch]),
    ] {
        for error in errors {
            each_of(protocols, |protocol| async move {
                let broker = broker(1);
                let fault = broker.inject(Fault::error(*error).on(api).times(2));
                let mut consumer = joined(manual(&broker, protocol), 1).await;
                consumer.poll(Duration::from_secs(20)).await.unwrap();
                assert_eq!(broker.fault_hits(fault), 2, "{api:?} {error:?}");
                works(&mut consumer, &broker).await;
            });
        }
    }
}

#[test]
fn what_does_not_pass_is_told_and_a_new_subscription_tries_again() {
    for (error, protocols) in [
        (ResponseError::GroupAuthorizationFailed, &Protocol::ALL[..]),
        (ResponseError::GroupMaxSizeReached, &Protocol::ALL),
        (ResponseError::InvalidSessionTimeout, &Protocol::CLASSIC),
        (ResponseError::InconsistentGroupProtocol, &Protocol::CLASSIC),
        (ResponseError::UnsupportedAssignor, &[Protocol::Consumer]),
        (ResponseError::InvalidRequest, &[Protocol::Consumer]),
        (ResponseError::UnreleasedInstanceId, &[Protocol::Consumer]),
    ] {
        each_of(protocols, |protocol| async move {
            let broker = broker(1);
            let fault = broker.inject(Fault::error(error).on(protocol.membership()[0]));
            let mut consumer = manual(&broker, protocol).spawn_local().unwrap();
            consumer.subscribe(["t"]).await.unwrap();
            let mut told = Vec::new();
            for _ in 0..20 {
                if let Err(error) = consumer.poll(STEP).await {
                    told.push(error);
                }
            }
            assert!(told.len() > 5, "{error:?}: {told:?}");
            for told in told {
                assert!(matches!(told, Error::Group(_)), "{error:?}: {told}");
                assert!(told.to_string().contains('g'));
            }
            let joins = joins(&broker);
            assert!(joins <= 2, "{error:?}: {joins}");
            broker.remove_fault(fault);
            consumer.subscribe(["t"]).await.unwrap();
            works(&mut consumer, &broker).await;
        });
    }
}

/// Nothing that a broker says ends the process, hangs or loses the membership for good.
#[test]
fn f017_answers_that_make_no_sense() {
    let bodies: [&[u8]; 4] = [
        &[],
        &[0xff; 8],
        &[0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 1],
        &[0x55; 300],
    ];
    for protocol in Protocol::ALL {
        let offsets = [
            ApiKey::FindCoordinator,
            ApiKey::OffsetFetch,
            ApiKey::OffsetCommit,
        ];
        let apis = protocol.membership().iter().chain(&offsets);
        for (&api, body) in apis.flat_map(|api| bodies.map(|body| (api, body))) {
            run(async {
                let broker = broker(1);
                let fault = Fault::answer_body(body.to_vec()).on(api).times(3);
                let fault = broker.inject(fault);
                let mut consumer = manual(&broker, protocol)
                    .set("auto.offset.reset", "earliest")
                    .spawn_local()
                    .unwrap();
                consumer.subscribe(["t"]).await.unwrap();
                let mut commits = 0;
                for _ in 0..600 {
                    // what it says may be an error that lasts
                    if consumer.poll(STEP).await.is_err() {
                        consumer.subscribe(["t"]).await.unwrap();
                    }
                    if api == ApiKey::OffsetCommit && !consumer.assignment().is_empty() {
                        drop(consumer.commit_offsets([(tp(0), commits)]).await);
                        commits += 1;
                    }
                    if broker.fault_hits(fault) == 3 {
                        break;
                    }
                }
                assert_eq!(broker.fault_hits(fault), 3, "{api:?} {body:x?}");
                produce(&broker, 0, 1);
                let mut came = 0;
                for _ in 0..600 {
                    match consumer.poll(STEP).await {
                        Ok(records) => came += records.len(),
                        Err(_) => consumer.subscribe(["t"]).await.unwrap(),
                    }
                    if came > 0 {
                        break;
                    }
                }
                assert!(came > 0, "{api:?} {body:x?}");
            });
        }
    }
}

#[test]
fn f061_b200_close_ends_in_time_whatever_the_coordinator_does() {
    for api in [
        ApiKey::FindCoordinator,
        ApiKey::JoinGroup,
        ApiKey::SyncGroup,
        ApiKey::ConsumerGroupHeartbeat,
        ApiKey::OffsetFetch,
        ApiKey::OffsetCommit,
        ApiKey::LeaveGroup,
    ] {
        for sleep in [0, 1, 50, 3000] {
            each(|protocol| async move {
                let broker = broker(1);
                produce(&broker, 0, 3);
                broker.inject(Fault::silence().on(api));
                let mut consumer = automatic(&broker, protocol).spawn_local().unwrap();
                consumer.subscribe(["t"]).await.unwrap();
                consumer.poll(Duration::from_millis(sleep)).await.unwrap();
                let begun = tokio::time::Instant::now();
                consumer.close(Duration::from_secs(5)).await.unwrap();
                let took = begun.elapsed();
                assert!(took <= Duration::from_millis(5_600), "{api:?} {took:?}");
            });
        }
    }
}

#[test]
fn f023_b152_of_two_members_with_one_instance_id_the_older_one_ends_with_an_error() {
    each_of(&Protocol::CLASSIC, |protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 1);
        let builder = || manual(&broker, protocol).set("group.instance.id", "i");
        let mut older = joined(builder(), 1).await;
        read(&mut older, 1).await;
        let mut newer = joined(builder(), 1).await;
        let mut told = None;
        for _ in 0..80 {
            if let Err(error) = older.poll(STEP).await {
                told = Some(error);
            }
        }
        match told {
            Some(Error::Group(error)) => {
                assert!(matches!(*error, GroupError::Fenced { .. }), "{error}");
                assert!(error.to_string().contains("group.instance.id i"));
            }
            other => panic!("{other:?}"),
        }
        assert!(older.assignment().is_empty());
        broker.clear_requests();
        older.close(Duration::from_secs(1)).await.unwrap();
        works(&mut newer, &broker).await;
        newer.poll(Duration::from_secs(60)).await.unwrap();
        assert_eq!(leaves(&broker), 0);
        assert_eq!(joins(&broker), 0);
    });
}

/// KIP-848: it is the newer one that the coordinator refuses, until the older one has left or its session is over.
#[test]
fn f023_b152_of_two_members_with_one_instance_id_the_newer_one_is_refused_by_kip_848() {
    run(async {
        let broker = broker(1);
        let builder = || manual(&broker, Protocol::Consumer).set("group.instance.id", "i");
        let mut older = joined(builder(), 1).await;
        let mut newer = builder().spawn_local().unwrap();
        newer.subscribe(["t"]).await.unwrap();
        let told = loop {
            match newer.poll(STEP).await {
                Ok(records) => assert!(records.is_empty()),
                Err(error) => break error.to_string(),
            }
        };
        assert!(told.contains("group.instance.id"), "{told}");
        works(&mut older, &broker).await;
        older.poll(Duration::from_secs(60)).await.unwrap();
        assert_eq!(members(&broker), 1);
        // for a while: its place is kept, and taken by whoever comes with its name
        older.close(Duration::from_secs(5)).await.unwrap();
        newer.subscribe(["t"]).await.unwrap();
        works(&mut newer, &broker).await;
    });
}

/// None of the actors runs before the future is gone.
#[test]
fn a_failure_ends_with_the_next_subscription_even_if_nobody_waits_for_it() {
    run(async {
        let broker = broker(1);
        let builder = || manual(&broker, Protocol::Consumer).set("group.instance.id", "i");
        let mut older = joined(builder(), 1).await;
        let mut newer = builder().spawn_local().unwrap();
        newer.subscribe(["t"]).await.unwrap();
        while newer.poll(STEP).await.is_ok() {}
        assert!(newer.poll(STEP).await.is_err(), "once is not enough");
        older.close(Duration::from_secs(5)).await.unwrap();
        drop(newer.subscribe(["t"]));
        // a poll begins when that is done
        works(&mut newer, &broker).await;
    });
}

/// What was given up while it failed says nothing about what is read by hand.
#[test]
fn b147_a_failure_ends_with_its_subscription() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 2);
        let builder = || manual(&broker, Protocol::Consumer).set("group.instance.id", "i");
        let _older = joined(builder(), 1).await;
        let mut newer = builder().spawn_local().unwrap();
        newer.subscribe(["t"]).await.unwrap();
        while newer.poll(STEP).await.is_ok() {}
        drop(newer.unsubscribe());
        drop(newer.assign([tp(0)]));
        assert_eq!(read(&mut newer, 2).await.len(), 2);
    });
}
