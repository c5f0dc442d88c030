//! Joining, dividing partitions, leaving.

use std::collections::BTreeSet;
use std::time::Duration;

use consumer_app::{Consumer, ConsumerBuilder};
use test_broker::TestBroker;

use super::support::{Protocol, each, each_of, manual, members, owns, read};
use crate::support::{broker, produce, run, tp};

#[test]
fn one_member_reads_everything_and_the_next_goes_on_where_it_committed() {
    each(|protocol| async move {
        let broker = broker(3);
        for partition in 0..3 {
            produce(&broker, partition, 10);
        }
        let mut first = manual(&broker, protocol).spawn_local().unwrap();
        first.subscribe(["t"]).await.unwrap();
        assert_eq!(read(&mut first, 30).await.len(), 30);
        assert_eq!(first.assignment().len(), 3);
        first.commit().await.unwrap();
        let committed = first.committed(&[tp(0), tp(2)]).await.unwrap();
        assert_eq!(committed[&tp(0)].as_ref().unwrap().offset, 10);
        first.close(Duration::from_secs(5)).await.unwrap();
        produce(&broker, 1, 2);
        let mut second = manual(&broker, protocol).spawn_local().unwrap();
        second.subscribe(["t"]).await.unwrap();
        assert_eq!(read(&mut second, 2).await, [(tp(1), 10), (tp(1), 11)]);
        second.close(Duration::from_secs(5)).await.unwrap();
    });
}

/// Has both poll until their assignments have so many partitions.
async fn divide(one: &mut Consumer, two: &mut Consumer, sizes: (usize, usize)) {
    for _ in 0..100 {
        if (one.assignment().len(), two.assignment().len()) == sizes {
            return;
        }
        one.poll(Duration::from_millis(200)).await.unwrap();
        two.poll(Duration::from_millis(200)).await.unwrap();
    }
    panic!("{:?} {:?}", one.assignment(), two.assignment());
}

async fn two_share(broker: &TestBroker, start: impl Fn() -> ConsumerBuilder) {
    let mut one = start().spawn_local().unwrap();
    let mut two = start().spawn_local().unwrap();
    one.subscribe(["t"]).await.unwrap();
    owns(&mut one, 4).await;
    two.subscribe(["t"]).await.unwrap();
    divide(&mut one, &mut two, (2, 2)).await;
    let both = [one.assignment(), two.assignment()].concat();
    assert_eq!(both.into_iter().collect::<BTreeSet<_>>().len(), 4);
    two.close(Duration::from_secs(5)).await.unwrap();
    owns(&mut one, 4).await;
    one.close(Duration::from_secs(5)).await.unwrap();
    assert_eq!(members(broker), 0);
}

#[test]
fn two_members_divide_the_partitions_and_one_takes_all_when_the_other_leaves() {
    each(|protocol| async move {
        let broker = broker(4);
        two_share(&broker, || manual(&broker, protocol)).await;
    });
}

#[test]
fn each_assignor_divides_them() {
    for (key, assignor) in [
        ("partition.assignment.strategy", "roundrobin"),
        ("partition.assignment.strategy", "sticky"),
        ("group.remote.assignor", "uniform"),
        ("group.remote.assignor", "range"),
    ] {
        let protocol = match key {
            "group.remote.assignor" => Protocol::Consumer,
            _ => Protocol::Eager,
        };
        run(async {
            let broker = broker(4);
            two_share(&broker, || manual(&broker, protocol).set(key, assignor)).await;
        });
    }
}

/// Both poll each 100 ms; the time is that of the broker's clock, without noise.
#[test]
fn what_a_member_had_that_leaves_is_read_on_within_two_heartbeats() {
    each(|protocol| async move {
        let heartbeat = match protocol {
            Protocol::Eager | Protocol::Cooperative => Duration::from_secs(3),
            Protocol::Consumer => Duration::from_secs(5),
        };
        // one round of a classic group begins with the next heartbeat; what follows it takes no time here, but for a poll or two
        let limit = match protocol {
            Protocol::Eager | Protocol::Cooperative => heartbeat + Duration::from_millis(300),
            Protocol::Consumer => 2 * heartbeat,
        };
        for wait in 0..10 {
            let broker = broker(4);
            let mut one = manual(&broker, protocol).spawn_local().unwrap();
            let mut two = manual(&broker, protocol).spawn_local().unwrap();
            one.subscribe(["t"]).await.unwrap();
            owns(&mut one, 4).await;
            two.subscribe(["t"]).await.unwrap();
            divide(&mut one, &mut two, (2, 2)).await;
            // wherever in its interval the heartbeat is
            for _ in 0..wait {
                one.poll(heartbeat / 10).await.unwrap();
            }
            let moves = two.assignment();
            for partition in 0..4 {
                produce(&broker, partition, 1);
            }
            two.commit().await.unwrap();
            let begin = tokio::time::Instant::now();
            let closing = tokio::task::spawn_local(async move {
                two.close(Duration::from_secs(5)).await.unwrap();
            });
            let mut left: BTreeSet<_> = moves.into_iter().collect();
            while !left.is_empty() {
                for record in &one.poll(Duration::from_millis(100)).await.unwrap() {
                    left.remove(record.topic_partition());
                }
                let took = begin.elapsed();
                assert!(took <= limit, "{protocol:?}, {wait}: {took:?}, {left:?}");
            }
            closing.await.unwrap();
        }
    });
}

#[test]
fn b180_a_pause_lasts_as_long_as_the_assignment() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(2);
        for partition in 0..2 {
            produce(&broker, partition, 5);
        }
        let mut one = manual(&broker, protocol).spawn_local().unwrap();
        one.subscribe(["t"]).await.unwrap();
        owns(&mut one, 2).await;
        one.pause(&[tp(0), tp(1)]).await.unwrap();
        let mut two = manual(&broker, protocol).spawn_local().unwrap();
        two.subscribe(["t"]).await.unwrap();
        // nothing comes to the one, and the other one's is not paused
        while (one.assignment().len(), two.assignment().len()) != (1, 1) {
            let records = one.poll(Duration::from_millis(200)).await.unwrap();
            assert!(records.is_empty());
            two.poll(Duration::from_millis(200)).await.unwrap();
        }
        let kept = one.assignment().remove(0);
        assert_eq!(one.paused(), std::slice::from_ref(&kept));
        assert_eq!(two.paused(), []);
        two.close(Duration::from_secs(5)).await.unwrap();
        // what comes back is not paused any more, what stayed is
        let came = read(&mut one, 5).await;
        assert!(came.iter().all(|(partition, _)| *partition != kept));
        owns(&mut one, 2).await;
        assert_eq!(one.paused(), std::slice::from_ref(&kept));
        one.resume([&kept]).await.unwrap();
        assert_eq!(read(&mut one, 5).await.len(), 5);
    });
}
