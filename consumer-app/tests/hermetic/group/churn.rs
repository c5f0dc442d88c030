//! Members that come and go: nothing is lost, and nothing comes twice if nobody is killed.

use std::time::Duration;

use consumer_app::{Consumer, ConsumerBuilder};
use test_broker::TestBroker;

use super::support::{Listener, Protocol, Tally, manual};
use crate::support::{produce, run};

const PARTITIONS: i32 = 6;

fn member(broker: &TestBroker, protocol: Protocol) -> ConsumerBuilder {
    let listener = Listener {
        commits_on_revoke: true,
        ..Listener::default()
    };
    let builder = manual(broker, protocol).set("max.poll.records", "7");
    let builder = match protocol {
        // the broker says it
        Protocol::Consumer => builder,
        // whoever left and is remembered by a coordinator that had not written it down is waited for so long
        Protocol::Eager | Protocol::Cooperative => builder
            .set("session.timeout.ms", "6000")
            .set("heartbeat.interval.ms", "1000"),
    };
    builder.rebalance_listener(listener)
}

async fn start(broker: &TestBroker, protocol: Protocol) -> Consumer {
    let consumer = member(broker, protocol).spawn_local().unwrap();
    consumer.subscribe(["t"]).await.unwrap();
    consumer
}

/// One poll of each, taken down as it comes.
async fn round(members: &mut [Consumer], tally: &mut Tally) {
    for member in members {
        tally.take(&member.poll(Duration::from_millis(50)).await.unwrap());
    }
}

/// Members come and leave for virtual minutes while records are produced. Whoever leaves closes; with `kills`, some are dropped in
/// place of that, others expelled, and the coordinator moves. Returns how many different records were read, of how many, and how many came again.
async fn churn(seed: u64, protocol: Protocol, kills: bool) -> (usize, usize, usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let broker = TestBroker::builder()
        .nodes(2)
        .topic("t", PARTITIONS)
        .group_consumer_session_timeout(Duration::from_secs(6))
        .group_consumer_heartbeat_interval(Duration::from_secs(1))
        .start_in_memory()
        .unwrap();
    let mut tally = Tally::default();
    let mut members = vec![start(&broker, protocol).await];
    let mut produced = 0;
    for step in 0..300 {
        if step < 240 && random.u8(0..3) == 0 {
            let count = random.usize(1..20);
            produce(&broker, random.i32(0..PARTITIONS), count);
            produced += count;
        }
        match random.u8(0..20) {
            0 if members.len() < 5 => members.push(start(&broker, protocol).await),
            1 if members.len() > 1 => {
                let mut gone = members.swap_remove(random.usize(0..members.len()));
                if kills && random.bool() {
                    drop(gone);
                } else {
                    gone.close(Duration::from_secs(5)).await.unwrap();
                }
            }
            2 if kills => {
                let group = broker.group("g");
                let ids = group.into_iter().flat_map(|group| group.members);
                let ids: Vec<_> = ids.map(|member| member.member_id).collect();
                if let Some(id) = random.choice(&ids) {
                    broker.expel_member("g", id);
                }
            }
            // a coordinator forgets what it had not written down: who was joining is a stranger to the next one
            3 if kills => {
                let node = random.i32(1..3);
                broker.move_coordinator("g", node).unwrap();
            }
            _ => {}
        }
        round(&mut members, &mut tally).await;
    }
    for _ in 0..1000 {
        round(&mut members, &mut tally).await;
        if tally.different() == produced {
            break;
        }
    }
    (tally.different(), produced, tally.repeated().len())
}

#[test]
fn b144_b148_everything_comes_exactly_once_while_members_come_and_leave() {
    for protocol in Protocol::ALL {
        for seed in 0..10 {
            let (read, produced, again) = run(churn(seed, protocol, false));
            assert_eq!(read, produced, "{protocol:?}, seed {seed}");
            assert_eq!(again, 0, "{protocol:?}, seed {seed}");
        }
    }
}

#[test]
fn b144_nothing_is_lost_while_members_are_killed() {
    for protocol in Protocol::ALL {
        for seed in 0..10 {
            let (read, produced, _) = run(churn(seed, protocol, true));
            assert_eq!(read, produced, "{protocol:?}, seed {seed}");
        }
    }
}
