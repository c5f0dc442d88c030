//! What a rebalance costs those partitions that stay, and what a group costs a poll: nothing.

use std::time::Duration;

use test_broker::ApiKey;

use super::support::{Protocol, automatic, each, each_of, joined, manual, owns, read};
use crate::support::traffic::{asked_at, asked_offsets, sessions};
use crate::support::{broker, poll, produce, settle, tp};

const STEP: Duration = Duration::from_millis(100);

#[test]
fn f008_a_revocation_costs_the_partitions_that_stay_nothing() {
    each_of(&Protocol::INCREMENTAL, |protocol| async move {
        let broker = broker(4);
        for partition in 0..4 {
            produce(&broker, partition, 200);
        }
        let mut one = joined(manual(&broker, protocol), 4).await;
        read(&mut one, 20).await;
        for partition in 0..4 {
            asked_at(&broker, &tp(partition), 200).await;
        }
        broker.clear_requests();
        let mut two = manual(&broker, protocol)
            .set("client.id", "two")
            .spawn_local()
            .unwrap();
        two.subscribe(["t"]).await.unwrap();
        let joining = tokio::task::spawn_local(async move {
            owns(&mut two, 2).await;
            two.pause(&two.assignment()).await.unwrap();
            two
        });
        let mut polls = 0;
        while !joining.is_finished() {
            one.poll(STEP).await.unwrap();
            tokio::time::sleep(STEP).await;
            polls += 1;
            assert!(polls < 300);
        }
        let two = joining.await.unwrap();
        // the long poll that was under way ends, and what follows forgets what was taken away
        tokio::time::sleep(Duration::from_secs(1)).await;
        let kept = one.assignment();
        assert_eq!((kept.len(), two.assignment().len()), (2, 2));
        for partition in &kept {
            let asked = asked_offsets(&broker, partition);
            assert!(
                asked.iter().all(|&offset| offset >= 200),
                "{partition}: {asked:?}"
            );
        }
        // of the one that stays: its session is the one it had, without what was taken away
        let mut requests = broker.requests_of(ApiKey::Fetch);
        requests.retain(|request| request.client_id.as_deref() != Some("two"));
        let fetches: Vec<_> = requests
            .iter()
            .filter_map(|request| request.fetch())
            .collect();
        let ids: std::collections::BTreeSet<_> = fetches
            .iter()
            .filter(|fetch| fetch.session_epoch > 0)
            .map(|fetch| fetch.session_id)
            .collect();
        assert_eq!(ids.len(), 1);
        assert!(
            fetches.iter().all(|fetch| fetch.session_epoch != 0),
            "no session anew"
        );
        let mut forgotten: Vec<_> = fetches
            .iter()
            .flat_map(|fetch| fetch.forgotten.clone())
            .collect();
        forgotten.sort();
        let mut moved = two.assignment();
        moved.sort();
        assert_eq!(forgotten, moved);
        assert!(sessions(&broker).len() == 1);
        // and everything that stays is given without a gap
        let mut rest = read(&mut one, 1).await;
        while one.position(&kept[0]) != Some(200) || one.position(&kept[1]) != Some(200) {
            rest.extend(read(&mut one, 1).await);
        }
        assert!(rest.iter().all(|(partition, _)| kept.contains(partition)));
    });
}

#[test]
fn polls_of_a_member_cost_no_message_while_a_lease_lasts() {
    each(|protocol| async move {
        let broker = broker(1);
        produce(&broker, 0, 5000);
        let builder = automatic(&broker, protocol).set("max.poll.records", "10");
        let mut consumer = builder.spawn_local().unwrap();
        consumer.subscribe(["t"]).await.unwrap();
        while poll(&mut consumer).await.is_empty() {}
        asked_at(&broker, &tp(0), 5000).await;
        settle().await;
        let before = consumer.metrics().await.unwrap();
        for _ in 0..490 {
            assert_eq!(poll(&mut consumer).await.len(), 10);
        }
        let after = consumer.metrics().await.unwrap();
        assert_eq!(after.messages, before.messages);
        assert_eq!(after.fetch_requests, before.fetch_requests);
    });
}
