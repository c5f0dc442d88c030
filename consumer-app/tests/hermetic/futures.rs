//! The futures of handles stand for themselves (design, section 7): that this compiles is half of the test.

use crate::support::{broker, consumer, partitions, produce, run, tp};

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
