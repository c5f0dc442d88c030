//! The futures of handles stand for themselves (design, section 7): that this compiles is half of the test.

use crate::support::{broker, consumer, offsets_of, partitions, poll, produce, run, settle, tp};

#[test]
fn futures_of_a_handle_outlive_what_they_were_made_of() {
    run(async {
        let broker = broker(2);
        produce(&broker, 0, 5);
        produce(&broker, 1, 7);
        let consumer = consumer(&broker);
        let names = [String::from("t")];
        let asked: Vec<_> = names
            .iter()
            .map(|name| consumer.partitions_for(&name.clone()))
            .collect();
        for asked in asked {
            assert_eq!(asked.await.unwrap(), partitions(2));
        }
        consumer.assign(partitions(2)).await.unwrap();
        let ends: Vec<_> = (0..2)
            .map(|partition| consumer.seek_to_end(&tp(partition)))
            .collect();
        let mut found = Vec::new();
        for end in ends {
            found.push(end.await.unwrap());
        }
        assert_eq!(found, [5, 7]);
        let seeks: Vec<_> = (0..2)
            .map(|partition| consumer.seek(&tp(partition), 3))
            .collect();
        for seek in seeks {
            seek.await.unwrap();
        }
        let pausing = tokio::spawn(consumer.pause(&partitions(2)));
        pausing.await.unwrap().unwrap();
        let mut paused = consumer.paused();
        paused.sort_unstable();
        assert_eq!(paused, partitions(2));
    });
}

/// Most callers of `pause` in a poll loop do not wait for it. None of these actors runs before the futures are gone, and there are
/// more of them than a mailbox has room for.
#[test]
fn what_is_asked_for_is_done_even_if_nobody_waits_for_it() {
    run(async {
        let broker = broker(3);
        for partition in 0..3 {
            produce(&broker, partition, 10);
        }
        let mut consumer = consumer(&broker);
        drop(consumer.assign(partitions(3)));
        settle().await;
        let mut assigned = consumer.assignment();
        assigned.sort_unstable();
        assert_eq!(assigned, partitions(3));
        for offset in 0..40 {
            drop(consumer.seek(&tp(1), offset % 8));
        }
        drop(consumer.seek_to_end(&tp(2)));
        drop(consumer.pause([&tp(0)]));
        settle().await;
        assert_eq!(consumer.paused(), [tp(0)]);
        let records = poll(&mut consumer).await;
        assert_eq!(offsets_of(&records, 0), Vec::<i64>::new());
        assert_eq!(offsets_of(&records, 1), [7, 8, 9]);
        assert_eq!(consumer.position(&tp(2)), Some(10));
        drop(consumer.resume([&tp(0)]));
        let records = poll(&mut consumer).await;
        assert_eq!(offsets_of(&records, 0), Vec::from_iter(0..10));
        drop(consumer.unsubscribe());
        drop(consumer.assign_at([(tp(0), 4)]));
        let records = poll(&mut consumer).await;
        assert_eq!(offsets_of(&records, 0), Vec::from_iter(4..10));
        drop(consumer.unsubscribe());
        settle().await;
        assert_eq!(consumer.assignment(), []);
    });
}

#[test]
fn where_a_seek_led_is_told_whatever_was_read_since() {
    run(async {
        let broker = broker(1);
        produce(&broker, 0, 5);
        let mut consumer = consumer(&broker);
        consumer.assign([tp(0)]).await.unwrap();
        let first = consumer.seek_to_beginning(&tp(0));
        assert_eq!(poll(&mut consumer).await.len(), 5);
        assert_eq!(first.await.unwrap(), 0);
    });
}
