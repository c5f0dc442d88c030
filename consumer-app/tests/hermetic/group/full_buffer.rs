//! A full buffer (KIP-81) holds up nothing but fetching: membership, commits and lookups have connections and memory of their own.

use std::time::Duration;

use test_broker::ApiKey;

use super::support::{asked, committed, each, joined, manual, members};
use crate::support::{broker_of, offsets_of, poll, produce_batches, settle, tp};

#[test]
fn f013_with_a_full_buffer_heartbeats_commits_seeks_and_lookups_go_on() {
    each(|protocol| async move {
        let broker = broker_of(3, 6);
        for partition in 0..6 {
            produce_batches(&broker, partition, 100, 50_000);
        }
        let builder = manual(&broker, protocol)
            .set("buffer.memory", "1048576")
            .set("auto.offset.reset", "earliest");
        let mut consumer = joined(builder, 6).await;
        while poll(&mut consumer).await.is_empty() {}
        settle().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        let beats: usize = protocol
            .membership()
            .iter()
            .map(|&api| asked(&broker, api))
            .sum();
        let fetches = asked(&broker, ApiKey::Fetch);
        // the application is away, its tasks are not; not so long that sessions are touched
        let handle = consumer.handle();
        for second in 0..50 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            handle.commit_offsets([(tp(0), second)]).await.unwrap();
        }
        assert_eq!(asked(&broker, ApiKey::Fetch), fetches, "the buffer is full");
        assert!(handle.metrics().await.unwrap().budget_depleted >= Duration::from_secs(50));
        assert_eq!(committed(&broker, 0), Some(49));
        let after: usize = protocol
            .membership()
            .iter()
            .map(|&api| asked(&broker, api))
            .sum();
        assert!(after - beats >= 9, "{} heartbeats in 50 s", after - beats);
        assert_eq!(members(&broker), 1);
        handle.seek(&tp(3), 40).await.unwrap();
        assert_eq!(handle.seek_to_end(&tp(4)).await.unwrap(), 100);
        // all of it comes: the one that was sought from where it is now
        let mut given = [Vec::new(), Vec::new()];
        while given.iter().any(|given| given.last() != Some(&99)) {
            let records = poll(&mut consumer).await;
            assert!(!records.is_empty(), "{given:?}");
            given[0].extend(offsets_of(&records, 3));
            given[1].extend(offsets_of(&records, 5));
            assert!(offsets_of(&records, 4).is_empty());
        }
        assert_eq!(given[0], (40..100).collect::<Vec<_>>());
        assert_eq!(handle.metrics().await.unwrap().discarded_replies, 0);
        consumer.close(Duration::from_secs(1)).await.unwrap();
    });
}
