//! Large groups, and a large subscription.

use std::collections::BTreeSet;
use std::time::Duration;

use consumer_app::{Consumer, TopicPartition};
use test_broker::{ApiKey, TestBroker};
use tokio::sync::watch;
use tokio::time::Instant;

use super::support::{automatic, each, manual, members};

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

/// Metadata is asked for every `metadata.max.age.ms`, and a few times where something changes.
#[test]
fn a_pattern_over_300_topics_of_which_one_grows_by_200_partitions() {
    const TOPICS: usize = 300;
    const ADDED: i32 = 200;
    const MAX_AGE: Duration = Duration::from_secs(5);
    each(|protocol| async move {
        let broker = TestBroker::builder().nodes(3).start_in_memory().unwrap();
        for topic in 0..TOPICS {
            let topic = format!("orders-{topic}");
            broker.create_topic(&topic, 1).unwrap();
            broker.produce(&topic, 0, ["a", "b"]).unwrap();
        }
        broker.create_topic("other", 1).unwrap();
        let max_age = MAX_AGE.as_millis().to_string();
        let builder = automatic(&broker, protocol).set("metadata.max.age.ms", &max_age);
        let mut consumer = builder.spawn_local().unwrap();
        let begin = Instant::now();
        consumer.subscribe_pattern("orders-.*").await.unwrap();
        let mut came = BTreeSet::new();
        read_until(&mut consumer, &mut came, 2 * TOPICS).await;
        broker.add_partitions("orders-7", 1 + ADDED).unwrap();
        for partition in 1..=ADDED {
            broker.produce("orders-7", partition, ["c"]).unwrap();
        }
        read_until(&mut consumer, &mut came, 2 * TOPICS + 200).await;
        assert_eq!(consumer.assignment().len(), TOPICS + 200);
        for _ in 0..100 {
            assert!(
                consumer
                    .poll(Duration::from_secs(1))
                    .await
                    .unwrap()
                    .is_empty()
            );
        }
        let regular = begin.elapsed().as_secs() / MAX_AGE.as_secs();
        let asked = broker.requests_of(ApiKey::Metadata).len() as u64;
        assert!(
            asked <= regular + 10,
            "{protocol:?}: {asked} requests, {regular} regular ones"
        );
    });
}

/// Polls until so many different records have come, none of them twice.
async fn read_until(
    consumer: &mut Consumer,
    came: &mut BTreeSet<(TopicPartition, i64)>,
    count: usize,
) {
    while came.len() < count {
        let records = consumer.poll(Duration::from_secs(1)).await.unwrap();
        for record in &records {
            let place = (record.topic_partition().clone(), record.offset());
            assert!(came.insert(place), "twice: {record:?}");
        }
    }
    assert_eq!(came.len(), count);
}
