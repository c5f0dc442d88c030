//! A large group: 200 members, 1,000 partitions.

use std::collections::BTreeSet;
use std::time::Duration;

use test_broker::TestBroker;
use tokio::sync::watch;

use super::support::{each, manual, members};

const MEMBERS: usize = 200;
const PARTITIONS: i32 = 1_000;

#[test]
fn a_group_of_200_members_and_1000_partitions_settles_and_is_left_alone() {
    each(|protocol| async move {
        let broker = TestBroker::builder()
            .topic("t", PARTITIONS)
            .start_in_memory()
            .unwrap();
        let (end, ending) = watch::channel(());
        let mut tasks = Vec::new();
        for _ in 0..MEMBERS {
            let mut consumer = manual(&broker, protocol).spawn_local().unwrap();
            consumer.subscribe(["t"]).await.unwrap();
            let ending = ending.clone();
            tasks.push(tokio::task::spawn_local(async move {
                while !ending.has_changed().unwrap() {
                    consumer.poll(Duration::from_millis(500)).await.unwrap();
                }
                consumer
            }));
        }
        // every partition is somebody's, and everybody has as many
        let settled = |group: &test_broker::GroupDescription| {
            let mut sizes = group.members.iter().map(|member| member.assignment.len());
            group.members.len() == MEMBERS && sizes.all(|size| size == 5)
        };
        let settling = broker.wait_for_group("g", settled);
        let limit = Duration::from_secs(300);
        tokio::time::timeout(limit, settling)
            .await
            .expect("it settles");
        let generation = broker.group("g").unwrap().generation;
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(broker.group("g").unwrap().generation, generation);
        end.send(()).unwrap();
        let mut owned = BTreeSet::new();
        for task in tasks {
            let consumer = task.await.unwrap();
            owned.extend(consumer.assignment());
        }
        assert_eq!(owned.len(), 1_000);
        assert_eq!(members(&broker), MEMBERS);
    });
}
