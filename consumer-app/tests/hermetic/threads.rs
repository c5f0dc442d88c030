//! The application on one thread, the actors on another, in real time: what holds between them holds whatever the interleaving.

use std::future::Future;
use std::time::Duration;

use crate::support::delivered::Delivered;
use crate::support::{broker_of, builder, offsets_of, partitions, produce, tp};

fn on_threads<F: Future>(test: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(test)
}

/// No poll that begins after a seek or a pause has completed gives what it excludes, however much is in hand.
#[test]
fn f026_b182_seeks_and_pauses_from_another_thread_than_the_actors() {
    on_threads(async {
        let broker = broker_of(2, 3);
        for partition in 0..3 {
            produce(&broker, partition, 5000);
        }
        let mut consumer = builder(&broker)
            .set("max.poll.records", "7")
            .build()
            .await
            .unwrap();
        consumer.assign(partitions(3)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(182);
        let mut delivered = Delivered::default();
        for round in 0..600 {
            for _ in 0..random.usize(1..4) {
                delivered.take(&consumer.poll(Duration::from_millis(5)).await.unwrap());
            }
            if random.bool() {
                let (one, to) = (tp(random.i32(0..3)), random.i64(0..4900));
                consumer.seek(&one, to).await.unwrap();
                delivered.seek(&one, to);
                assert_eq!(consumer.position(&one), Some(to), "round {round}");
            } else {
                let one = random.i32(0..3);
                consumer.pause([&tp(one)]).await.unwrap();
                let records = consumer.poll(Duration::from_millis(5)).await.unwrap();
                assert!(offsets_of(&records, one).is_empty(), "round {round}");
                delivered.take(&records);
                consumer.resume([&tp(one)]).await.unwrap();
            }
        }
        assert!(delivered.records > 1000, "{}", delivered.records);
        consumer.close(Duration::from_secs(5)).await.unwrap();
    });
}

/// Polls that are dropped while their answer is on its way from the other thread.
#[test]
fn f060_polls_are_dropped_while_another_thread_answers() {
    on_threads(async {
        let broker = broker_of(2, 2);
        let mut consumer = builder(&broker)
            .set("max.partition.fetch.bytes", "2000")
            .build()
            .await
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(60);
        let mut delivered = Delivered::default();
        let mut produced = 0;
        while delivered.records < 20_000 {
            if produced < 20_000 {
                produce(&broker, random.i32(0..2), 50);
                produced += 50;
            }
            let timer = tokio::time::sleep(Duration::from_micros(random.u64(0..300)));
            tokio::select! {
                biased;
                () = timer => {}
                records = consumer.poll(Duration::from_secs(5)) => delivered.take(&records.unwrap()),
            }
            // timers are coarse: now and then a poll may take its time
            if random.u8(0..4) == 0 {
                delivered.take(&consumer.poll(Duration::from_millis(20)).await.unwrap());
            }
        }
        consumer.close(Duration::from_secs(5)).await.unwrap();
    });
}
