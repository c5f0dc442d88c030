//! Where partitions end, as far as brokers have told.

use test_broker::BatchBuilder;

use crate::support::{broker, builder, consumer, poll, produce, read, run, tp};

#[test]
fn the_end_of_a_partition_is_known_from_its_first_answer_on() {
    run(async {
        let broker = broker(1);
        let mut consumer = consumer(&broker);
        assert_eq!(consumer.known_end(&tp(0)), None, "not assigned");
        consumer.assign([tp(0)]).await.unwrap();
        assert_eq!(consumer.known_end(&tp(0)), None, "not answered");
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.known_end(&tp(0)), Some(0));
        produce(&broker, 0, 10);
        read(&mut consumer, 10).await;
        assert_eq!(consumer.known_end(&tp(0)), Some(10));
    });
}

#[test]
fn with_read_committed_the_end_is_that_of_the_last_stable_offset() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let open = BatchBuilder::new()
            .producer(7, 0, 0)
            .transactional()
            .base_offset(3)
            .record("not committed yet");
        broker.append_raw("t", 0, &open.build()).unwrap();
        let mut ends = Vec::new();
        for isolation in ["read_uncommitted", "read_committed"] {
            let mut consumer = builder(&broker)
                .set("isolation.level", isolation)
                .spawn_local()
                .unwrap();
            consumer.assign([tp(0)]).await.unwrap();
            read(&mut consumer, 3).await;
            ends.push(consumer.known_end(&tp(0)));
        }
        assert_eq!(ends, [Some(4), Some(3)]);
    });
}

#[test]
fn an_end_known_of_a_former_assignment_is_forgotten() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        read(&mut consumer, 10).await;
        consumer
            .assign(None::<consumer_app::TopicPartition>)
            .await
            .unwrap();
        assert_eq!(consumer.known_end(&tp(0)), None);
        consumer.assign_at([(tp(0), 10)]).await.unwrap();
        assert_eq!(consumer.known_end(&tp(0)), None);
        assert!(poll(&mut consumer).await.is_empty());
        assert_eq!(consumer.known_end(&tp(0)), Some(10));
    });
}
