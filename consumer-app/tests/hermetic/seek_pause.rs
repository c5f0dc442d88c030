//! Seek, pause, resume and assign, from wherever they come, against what a naive reader would do.

use std::collections::BTreeMap;
use std::time::Duration;

use consumer_app::TopicPartition;
use test_broker::{ApiKey, Fault};

use crate::support::delivered::Delivered;
use crate::support::traffic::{asked_at, asked_offsets, asks, fetches};
use crate::support::{
    broker, broker_of, builder, consumer, offsets, offsets_of, partitions, poll, produce, read,
    run, settle, tp,
};

#[test]
fn f026_b182_a_seek_during_a_long_lease_holds_from_the_next_poll_on() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 5000);
        produce(&broker, 1, 5000);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "7")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let mut random = fastrand::Rng::with_seed(26);
        let mut delivered = Delivered::default();
        for _ in 0..300 {
            for _ in 0..random.usize(1..10) {
                delivered.take(&poll(&mut consumer).await);
            }
            // from another task, while this one has records in hand
            let (handle, to) = (consumer.handle(), random.i64(0..4900));
            let sought = tokio::task::spawn_local(async move { handle.seek(&tp(0), to).await });
            sought.await.unwrap().unwrap();
            delivered.seek(&tp(0), to);
            assert_eq!(consumer.position(&tp(0)), Some(to));
        }
        assert!(delivered.next(&tp(1)) > 1000);
    });
}

#[test]
fn f026_a_seek_while_its_fetch_is_out_drops_the_answer() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 100);
        broker.inject(
            Fault::delay(Duration::from_millis(100))
                .on(ApiKey::Fetch)
                .after_applying()
                .times(1),
        );
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        asked_at(&broker, &tp(0), 0).await;
        consumer.seek(&tp(0), 50).await.unwrap();
        assert_eq!(read(&mut consumer, 50).await, (50..100).collect::<Vec<_>>());
        assert!(poll(&mut consumer).await.is_empty());
    });
}

/// What became fetchable does not wait behind the long poll of the others: lane 2 asks for it.
#[test]
fn b183_a_seek_in_the_middle_of_a_long_poll_is_served_at_once() {
    run(async {
        let broker = broker(3);
        produce(&broker, 0, 10);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(3)).await.unwrap();
        read(&mut consumer, 10).await;
        // the last one comes while lane 2 still polls, 50 ms at a time, for what was sought before
        for (to, rest, most) in [(3, 137, 2), (9, 1137, 2), (0, 1137, 2), (5, 137, 52)] {
            tokio::time::sleep(Duration::from_millis(rest)).await;
            let begun = tokio::time::Instant::now();
            consumer.seek(&tp(0), to).await.unwrap();
            assert_eq!(
                offsets(&poll(&mut consumer).await),
                (to..10).collect::<Vec<_>>()
            );
            assert!(begun.elapsed() <= Duration::from_millis(most), "to {to}");
        }
        assert_eq!(consumer.metrics().await.unwrap().fetch_connections, 2);
        assert!(
            fetches(&broker)
                .iter()
                .all(|(_, fetch)| fetch.forgotten.is_empty())
        );
    });
}

#[test]
fn b178_what_is_paused_is_not_asked_for_and_resumed_it_is_given_without_a_fetch() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 1000);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        assert_eq!(
            offsets(&poll(&mut consumer).await),
            (0..10).collect::<Vec<_>>()
        );
        settle().await;
        consumer.pause([&tp(0)]).await.unwrap();
        assert_eq!(consumer.paused(), [tp(0)]);
        for round in 0..5 {
            produce(&broker, 1, 1);
            assert_eq!(offsets_of(&poll(&mut consumer).await, 1), [round]);
        }
        assert!(poll(&mut consumer).await.is_empty());
        let asked = asked_offsets(&broker, &tp(0));
        produce(&broker, 0, 5);
        consumer.resume([&tp(0)]).await.unwrap();
        assert_eq!(
            read(&mut consumer, 995).await,
            (10..1005).collect::<Vec<_>>()
        );
        let again = asked_offsets(&broker, &tp(0));
        assert!(
            again[asked.len()..].iter().all(|&offset| offset >= 1000),
            "{again:?}"
        );
    });
}

#[test]
fn b178_b179_a_pause_before_the_first_request_and_its_end() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 3);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        consumer.pause([&tp(0)]).await.unwrap();
        assert!(poll(&mut consumer).await.is_empty());
        // B179: its position is looked up all the same
        assert_eq!(consumer.position(&tp(0)), Some(0));
        assert!(asked_offsets(&broker, &tp(0)).len() <= 1);
        broker.clear_requests();
        assert!(poll(&mut consumer).await.is_empty());
        assert!(fetches(&broker).is_empty());
        consumer.resume([&tp(0)]).await.unwrap();
        assert_eq!(read(&mut consumer, 3).await, [0, 1, 2]);
    });
}

/// F028: a resume of what is not paused changes nothing; F027: a seek on one partition leaves the other alone.
#[test]
fn f027_f028_b181_others_are_left_alone() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 300);
        produce(&broker, 1, 300);
        let mut consumer = builder(&broker)
            .set("max.poll.records", "10")
            .spawn_local()
            .unwrap();
        consumer.assign(partitions(2)).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 0..100 {
            delivered.take(&poll(&mut consumer).await);
            consumer.resume(&partitions(2)).await.unwrap();
            delivered.take(&poll(&mut consumer).await);
            if delivered.next(&tp(1)) < 300 {
                consumer.seek(&tp(0), round).await.unwrap();
                delivered.seek(&tp(0), round);
            }
        }
        assert_eq!(delivered.next(&tp(1)), 300);
    });
}

/// A pause is told with the next request that carries another partition; pausing everything around some work costs no session.
#[test]
fn pausing_everything_keeps_the_session() {
    run(async {
        let broker = broker(4);
        let mut consumer = consumer(&broker);
        consumer.assign(partitions(4)).await.unwrap();
        let mut delivered = Delivered::default();
        for round in 1..=50 {
            produce(&broker, 0, 1);
            while delivered.records < round {
                delivered.take(&poll(&mut consumer).await);
            }
            consumer.pause(&partitions(4)).await.unwrap();
            tokio::time::sleep(Duration::from_secs(3)).await;
            consumer.resume(&partitions(4)).await.unwrap();
        }
        let all = fetches(&broker);
        assert!(all.iter().all(|(_, fetch)| fetch.forgotten.is_empty()));
        assert_eq!(
            all.iter()
                .filter(|(_, fetch)| fetch.session_epoch == 0)
                .count(),
            1
        );
        assert!(all.iter().any(|(_, fetch)| asks(fetch, &tp(0)).is_some()));
    });
}

/// What a naive reader knows of a partition.
#[derive(Debug, Default, Clone, Copy)]
struct Naive {
    position: i64,
    paused: bool,
}

struct Model {
    assigned: BTreeMap<TopicPartition, Naive>,
    ends: BTreeMap<TopicPartition, i64>,
}

impl Model {
    fn take(&mut self, records: &consumer_app::Records, what: &str) {
        for record in records {
            let partition = record.topic_partition();
            let naive = self.assigned.get_mut(partition);
            let naive = naive.unwrap_or_else(|| panic!("{what}: {partition} is not assigned"));
            assert!(!naive.paused, "{what}: {partition} is paused");
            assert_eq!(record.offset(), naive.position, "{what}: {partition}");
            naive.position += 1;
        }
    }

    fn is_read(&self) -> bool {
        self.assigned
            .iter()
            .all(|(partition, naive)| naive.position >= self.ends[partition])
    }
}

#[test]
fn f029_f060_f068_1000_random_steps_against_a_naive_reader() {
    for seed in 0..12 {
        run(async {
            let mut random = fastrand::Rng::with_seed(seed);
            let broker = broker_of(2, 6);
            let mut consumer = builder(&broker)
                .set("max.poll.records", &random.u16(1..300).to_string())
                .set(
                    "max.partition.fetch.bytes",
                    &random.u32(500..50_000).to_string(),
                )
                .set("buffer.memory", "1048576")
                .spawn_local()
                .unwrap();
            if random.bool() {
                broker.inject(Fault::delay(Duration::from_micros(700)).on(ApiKey::Fetch));
            }
            let mut model = Model {
                assigned: BTreeMap::new(),
                ends: partitions(6)
                    .into_iter()
                    .map(|partition| (partition, 0))
                    .collect(),
            };
            let handle = consumer.handle();
            for step in 0..1000 {
                let what = format!("seed {seed} step {step}");
                let one = tp(random.i32(0..6));
                let known = model.assigned.contains_key(&one);
                match random.u8(0..16) {
                    0..4 => {
                        let count = random.usize(1..30);
                        produce(&broker, one.partition(), count);
                        *model.ends.get_mut(&one).unwrap() += count as i64;
                    }
                    4 => {
                        let to = random.i64(0..=model.ends[&one]);
                        let sought = handle.seek(&one, to).await;
                        assert_eq!(sought.is_ok(), known, "{what}");
                        if let Some(naive) = model.assigned.get_mut(&one) {
                            naive.position = to;
                        }
                    }
                    5..7 => {
                        let paused = handle.pause([&one]).await;
                        assert_eq!(paused.is_ok(), known, "{what}");
                        if let Some(naive) = model.assigned.get_mut(&one) {
                            naive.paused = true;
                        }
                    }
                    7..9 => {
                        let resumed = handle.resume([&one]).await;
                        assert_eq!(resumed.is_ok(), known, "{what}");
                        if let Some(naive) = model.assigned.get_mut(&one) {
                            naive.paused = false;
                        }
                    }
                    9 => {
                        let wanted: Vec<_> = partitions(6)
                            .into_iter()
                            .filter(|_| random.u8(0..3) > 0)
                            .collect();
                        handle.assign(wanted.clone()).await.unwrap();
                        let former = std::mem::take(&mut model.assigned);
                        for partition in wanted {
                            let naive = former.get(&partition).copied().unwrap_or_default();
                            model.assigned.insert(partition, naive);
                        }
                    }
                    10 if known => {
                        let found = handle.seek_to_beginning(&one).await.unwrap();
                        assert_eq!(found, 0, "{what}");
                        model.assigned.get_mut(&one).unwrap().position = 0;
                    }
                    11 => tokio::time::sleep(Duration::from_micros(random.u64(0..5000))).await,
                    _ if model.assigned.is_empty() => {}
                    _ => {
                        let wait = Duration::from_micros(random.u64(0..3000));
                        tokio::select! {
                            biased;
                            () = tokio::time::sleep(Duration::from_micros(random.u64(0..4000))) => {}
                            records = consumer.poll(wait) => model.take(&records.unwrap(), &what),
                        }
                    }
                }
                for (partition, naive) in &model.assigned {
                    let position = handle.position(partition);
                    let looked_up = position.is_none() && naive.position == 0;
                    assert!(
                        looked_up || position == Some(naive.position),
                        "{what}: {partition}"
                    );
                }
                let mut paused = handle.paused();
                paused.sort_unstable();
                let expected = model.assigned.iter().filter(|(_, naive)| naive.paused);
                assert!(
                    paused.iter().eq(expected.map(|(partition, _)| partition)),
                    "{what}"
                );
            }
            handle.assign(partitions(6)).await.unwrap();
            for partition in partitions(6) {
                model.assigned.entry(partition).or_default().paused = false;
            }
            handle.resume(&partitions(6)).await.unwrap();
            let mut empty = 0;
            while !model.is_read() {
                let records = poll(&mut consumer).await;
                empty = if records.is_empty() { empty + 1 } else { 0 };
                assert!(empty < 3, "seed {seed}: records are missing");
                model.take(&records, &format!("seed {seed} at the end"));
            }
            assert!(poll(&mut consumer).await.is_empty());
            handle.assign(partitions(0)).await.unwrap();
            settle().await;
            assert_eq!(
                handle.metrics().await.unwrap().memory_used,
                0,
                "seed {seed}"
            );
        });
    }
}
