//! Joining, dividing partitions, leaving.

use std::collections::BTreeSet;
use std::time::Duration;

use consumer_app::{Consumer, TopicPartition};
use test_broker::TestBroker;

use crate::support::{broker, builder, produce, run, tp};

fn member(broker: &TestBroker, settings: &[(&str, &str)]) -> Consumer {
    let mut builder = builder(broker)
        .group_id("g")
        .set("auto.offset.reset", "earliest");
    for (key, value) in settings {
        builder = builder.set(key, value);
    }
    builder.spawn_local().unwrap()
}

/// Polls until so many records came, and tells which.
async fn read(consumer: &mut Consumer, count: usize) -> Vec<(TopicPartition, i64)> {
    let mut read = Vec::new();
    for _ in 0..200 {
        let records = consumer.poll(Duration::from_millis(200)).await.unwrap();
        read.extend(
            records
                .iter()
                .map(|record| (tp(record.partition()), record.offset())),
        );
        if read.len() >= count {
            break;
        }
    }
    read
}

#[test]
fn one_member_reads_everything_and_the_next_goes_on_where_it_committed() {
    run(async {
        let broker = broker(3);
        for partition in 0..3 {
            produce(&broker, partition, 10);
        }
        let mut first = member(&broker, &[]);
        first.subscribe(["t"]).await.unwrap();
        assert_eq!(read(&mut first, 30).await.len(), 30);
        assert_eq!(first.assignment().len(), 3);
        first.commit().await.unwrap();
        let committed = first.committed(&[tp(0), tp(2)]).await.unwrap();
        assert_eq!(committed[&tp(0)].as_ref().unwrap().offset, 10);
        first.close(Duration::from_secs(5)).await.unwrap();
        produce(&broker, 1, 2);
        let mut second = member(&broker, &[]);
        second.subscribe(["t"]).await.unwrap();
        assert_eq!(read(&mut second, 2).await, [(tp(1), 10), (tp(1), 11)]);
        second.close(Duration::from_secs(5)).await.unwrap();
    });
}

#[test]
fn two_members_divide_the_partitions_and_one_takes_all_when_the_other_leaves() {
    for strategy in ["range", "roundrobin", "sticky", "cooperative-sticky"] {
        run(async {
            let broker = broker(4);
            let settings = [("partition.assignment.strategy", strategy)];
            let mut one = member(&broker, &settings);
            let mut two = member(&broker, &settings);
            one.subscribe(["t"]).await.unwrap();
            read(&mut one, 0).await;
            two.subscribe(["t"]).await.unwrap();
            for _ in 0..50 {
                one.poll(Duration::from_millis(200)).await.unwrap();
                two.poll(Duration::from_millis(200)).await.unwrap();
            }
            assert_eq!(
                (one.assignment().len(), two.assignment().len()),
                (2, 2),
                "{strategy}"
            );
            let all: BTreeSet<_> = one
                .assignment()
                .into_iter()
                .chain(two.assignment())
                .collect();
            assert_eq!(all.len(), 4, "{strategy}");
            two.close(Duration::from_secs(5)).await.unwrap();
            for _ in 0..50 {
                one.poll(Duration::from_millis(200)).await.unwrap();
            }
            assert_eq!(one.assignment().len(), 4, "{strategy}");
            one.close(Duration::from_secs(5)).await.unwrap();
        });
    }
}
