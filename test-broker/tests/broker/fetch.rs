use kafka_protocol::ResponseError;
use test_broker::{BatchBuilder, TestBroker};

use crate::client::{FETCH, Fetch, batches, client, named, numbers};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().nodes(2).topic("t", 4);
    let broker = broker.start_in_memory().expect("started");
    for partition in [0, 2] {
        broker
            .produce("t", partition, ["a", "b", "c"])
            .expect("produced");
        broker.produce("t", partition, ["d"]).expect("produced");
    }
    broker
}

/// Partitions 0 and 2 are led by node 1, 1 and 3 by node 2.
#[tokio::test]
async fn every_version_reads_the_same() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for version in 4..=18 {
        let fetch = Fetch::at(&broker, "t", 0, 1).and(&broker, "t", 2, 3);
        let response = client.call(&fetch.request(version), version).await;
        let partitions = named(&response);
        assert_eq!(numbers(&response), [0, 2], "version {version}");
        assert_eq!(batches(&partitions[0]), [(0, 2), (3, 3)]);
        assert_eq!(batches(&partitions[1]), [(3, 3)]);
        assert_eq!(
            (partitions[0].error_code, partitions[0].high_watermark),
            (0, 4)
        );
        assert_eq!(partitions[0].last_stable_offset, 4);
        assert_eq!(
            partitions[0].log_start_offset,
            if version < 5 { -1 } else { 0 }
        );
        assert_eq!(partitions[0].aborted_transactions, None);
        assert_eq!(response.responses[0].topic_id.is_nil(), version < 13);
    }
}

#[tokio::test]
async fn neighbours_of_one_topic_share_an_entry_and_the_order_is_kept() {
    let broker = broker();
    broker.create_topic("u", 1).expect("created");
    let fetch = Fetch::at(&broker, "t", 2, 0)
        .and(&broker, "t", 0, 0)
        .and(&broker, "u", 0, 0);
    let response = client(&broker, 1).fetch(&fetch).await;
    assert_eq!(numbers(&response), [2, 0, 0]);
    assert_eq!(response.responses.len(), 2);
}

#[tokio::test]
async fn limits_hold_except_for_the_first_batch() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let both = Fetch::at(&broker, "t", 0, 0).and(&broker, "t", 2, 0);
    let all = named(&client.fetch(&both).await);
    let first = 61 + 3 * 8;
    let sizes = |partitions: Vec<kafka_protocol::messages::fetch_response::PartitionData>| {
        let sizes = partitions
            .iter()
            .map(|p| p.records.as_ref().map_or(0, |r| r.len()));
        sizes.collect::<Vec<_>>()
    };
    let whole = sizes(all)[0];
    for (max_bytes, expected) in [
        (1, [first, 0]),
        (first as i32, [first, 0]),
        (first as i32 + 10, [first + 10, 0]),
        (whole as i32 + 50, [whole, 0]),
        (whole as i32 + first as i32, [whole, first]),
        (2 * whole as i32, [whole, whole]),
    ] {
        let response = client.fetch(&both.clone().max_bytes(max_bytes)).await;
        assert_eq!(sizes(named(&response)), expected, "max bytes {max_bytes}");
    }
    // the limit of the second partition does not hold back the first
    let response = client
        .fetch(&both.clone().partition_max_bytes(first as i32 + 1))
        .await;
    assert_eq!(sizes(named(&response)), [whole, first + 1]);
    let response = client
        .fetch(&both.partition_max_bytes(first as i32 - 1))
        .await;
    assert_eq!(sizes(named(&response)), [whole, 0]);
}

#[tokio::test]
async fn the_brokers_own_limit_caps_the_request() {
    let broker = TestBroker::builder().topic("t", 1).fetch_max_bytes(100);
    let broker = broker.start_in_memory().expect("started");
    for _ in 0..5 {
        broker.produce("t", 0, ["x"]).expect("produced");
    }
    let read = client(&broker, 1)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(read.records.expect("records").len(), 100);
}

#[tokio::test]
async fn what_cannot_be_read_is_told_per_partition() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let cases = [
        (
            Fetch::at(&broker, "t", 0, 5),
            ResponseError::OffsetOutOfRange,
        ),
        (
            Fetch::at(&broker, "t", 0, -1),
            ResponseError::OffsetOutOfRange,
        ),
        (
            Fetch::at(&broker, "t", 1, 0),
            ResponseError::NotLeaderOrFollower,
        ),
        (
            Fetch::at(&broker, "t", 0, 0).leader_epoch(1),
            ResponseError::UnknownLeaderEpoch,
        ),
        (
            Fetch::at(&broker, "t", 9, 0),
            ResponseError::UnknownTopicOrPartition,
        ),
        (
            Fetch::new().and_id("none", uuid::Uuid::from_u128(4), 0, 0),
            ResponseError::UnknownTopicId,
        ),
        (
            Fetch::at(&broker, "t", 0, 0).partition_max_bytes(-1),
            ResponseError::UnknownServerError,
        ),
    ];
    for (fetch, expected) in cases {
        let read = client.fetch_one(&fetch).await;
        assert_eq!(read.error_code, expected.code(), "{expected}");
        assert_eq!((read.high_watermark, read.log_start_offset), (-1, -1));
    }
    broker.bump_leader_epoch("t", 0).expect("bumped");
    let read = client
        .fetch_one(&Fetch::at(&broker, "t", 0, 0).leader_epoch(0))
        .await;
    assert_eq!(read.error_code, ResponseError::FencedLeaderEpoch.code());
    let by_name = Fetch::at(&broker, "none", 0, 0).request(12);
    let response = client.call(&by_name, 12).await;
    assert_eq!(
        named(&response)[0].error_code,
        ResponseError::UnknownTopicOrPartition.code()
    );
}

#[tokio::test]
async fn b030_the_leader_is_told_with_its_address() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for (version, told) in [(15, false), (16, true), (17, true)] {
        let fetch = Fetch::at(&broker, "t", 1, 0).and(&broker, "t", 0, 0);
        let response = client.call(&fetch.request(version), version).await;
        let moved = &named(&response)[0];
        assert_eq!(moved.error_code, ResponseError::NotLeaderOrFollower.code());
        let leader = (
            moved.current_leader.leader_id.0,
            moved.current_leader.leader_epoch,
        );
        let nodes: Vec<_> = response
            .node_endpoints
            .iter()
            .map(|node| (node.node_id.0, node.host.to_string(), node.port))
            .collect();
        if told {
            assert_eq!(leader, (2, 0), "KIP-951, version {version}");
            assert_eq!(nodes, [(2, "node-2".to_owned(), 9092)]);
        } else {
            assert_eq!((leader, nodes.len()), ((-1, -1), 0));
        }
    }
}

#[tokio::test]
async fn a_diverging_epoch_is_told_in_place_of_data() {
    let broker = broker();
    broker.bump_leader_epoch("t", 0).expect("bumped");
    broker.produce("t", 0, ["e"]).expect("produced");
    let mut client = client(&broker, 1);
    // the log ends at 4 under epoch 0
    let fetch = |offset, epoch| {
        Fetch::at(&broker, "t", 0, offset).with(|partition| partition.last_fetched_epoch = epoch)
    };
    let read = client.fetch_one(&fetch(4, 0)).await;
    assert_eq!(
        (read.diverging_epoch.epoch, batches(&read)),
        (-1, vec![(4, 4)])
    );
    let read = client.fetch_one(&fetch(5, 0)).await;
    let told = (read.diverging_epoch.epoch, read.diverging_epoch.end_offset);
    assert_eq!((read.error_code, told, batches(&read)), (0, (0, 4), vec![]));
    let read = client.fetch_one(&fetch(4, 9)).await;
    assert_eq!(read.error_code, ResponseError::OffsetOutOfRange.code());
}

#[tokio::test]
async fn a_topic_that_was_created_again_is_another_one() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let old = Fetch::at(&broker, "t", 0, 0);
    let opened = client.fetch(&old.clone().session(0, 0)).await;
    broker.recreate_topic("t").expect("created again");
    let read = client.fetch_one(&old).await;
    assert_eq!(read.error_code, ResponseError::UnknownTopicId.code());
    // a session knows the name of what it asked for by id
    let in_session = client
        .fetch_one(&Fetch::new().session(opened.session_id, 1))
        .await;
    assert_eq!(
        in_session.error_code,
        ResponseError::InconsistentTopicId.code()
    );
    let read = client.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    assert_eq!((read.error_code, read.high_watermark), (0, 0));
}

#[tokio::test]
async fn read_committed_stops_at_an_open_transaction_and_lists_the_aborted_ones() {
    let broker = broker();
    let append = |batch: BatchBuilder| {
        broker
            .append_raw("t", 0, &batch.leader_epoch(0).build())
            .expect("appended");
    };
    let data = |base, producer| {
        BatchBuilder::new()
            .base_offset(base)
            .producer(producer, 0, 0)
            .transactional()
            .record("x")
    };
    append(data(4, 70));
    append(data(5, 71));
    append(BatchBuilder::end_transaction(71, 0, false).base_offset(6));
    let mut client = client(&broker, 1);
    let committed = Fetch::at(&broker, "t", 0, 3).committed();
    let read = client.fetch_one(&committed).await;
    assert_eq!((read.high_watermark, read.last_stable_offset), (7, 4));
    assert_eq!(batches(&read), [(3, 3)]);
    let uncommitted = client.fetch_one(&Fetch::at(&broker, "t", 0, 3)).await;
    assert_eq!(
        (
            batches(&uncommitted).len(),
            uncommitted.aborted_transactions
        ),
        (4, None)
    );
    append(BatchBuilder::end_transaction(70, 0, false).base_offset(7));
    let read = client.fetch_one(&committed).await;
    assert_eq!(batches(&read).len(), 5);
    let aborted = read.aborted_transactions.expect("a list");
    let aborted: Vec<_> = aborted
        .iter()
        .map(|a| (a.producer_id.0, a.first_offset))
        .collect();
    assert_eq!(aborted, [(71, 5), (70, 4)], "in the order of the markers");
}

#[tokio::test]
async fn b025_a_follower_in_the_clients_rack_is_preferred() {
    let broker = TestBroker::builder()
        .nodes(3)
        .rack(1, "a")
        .rack(2, "b")
        .rack(3, "b")
        .rack_aware_replica_selector(true)
        .replication_factor(3)
        .topic("t", 1)
        .start_in_memory()
        .expect("started");
    broker.produce("t", 0, ["x", "y"]).expect("produced");
    let mut leader = client(&broker, 1);
    let fetch = |offset, rack| Fetch::at(&broker, "t", 0, offset).rack(rack);
    for (rack, preferred) in [("", -1), ("a", -1), ("b", 3), ("c", -1)] {
        let read = leader.fetch_one(&fetch(0, rack)).await;
        assert_eq!(read.preferred_read_replica.0, preferred, "rack {rack:?}");
        assert_eq!(
            batches(&read).is_empty(),
            preferred != -1,
            "no data with a hint"
        );
    }
    // followers serve, and send nobody away
    let mut follower = client(&broker, 3);
    let read = follower.fetch_one(&fetch(0, "a")).await;
    assert_eq!(
        (read.preferred_read_replica.0, batches(&read)),
        (-1, vec![(0, 1)])
    );
    // one that lags is out of range sooner, and not preferred for what it does not have
    broker.hold_follower("t", 0, 3, Some(0)).expect("held");
    let read = follower.fetch_one(&fetch(1, "b")).await;
    assert_eq!(read.error_code, ResponseError::OffsetOutOfRange.code());
    assert_eq!(
        leader
            .fetch_one(&fetch(1, "b"))
            .await
            .preferred_read_replica
            .0,
        2
    );
    // clients before version 11 are served by the leader alone
    let response = follower.call(&fetch(0, "").request(10), 10).await;
    assert_eq!(
        named(&response)[0].error_code,
        ResponseError::NotLeaderOrFollower.code()
    );
}

#[tokio::test(start_paused = true)]
async fn b055_sessions_are_evicted_end_to_end() {
    let mut cache = test_broker::SessionCacheConfig::default();
    (cache.slots, cache.shards) = (2, 1);
    cache.min_eviction_age = std::time::Duration::ZERO;
    let broker = TestBroker::builder().topic("t", 3).session_cache(cache);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    let open = |partitions: i32| {
        let all = (0..partitions).fold(Fetch::new(), |f, p| f.and(&broker, "t", p, 0));
        all.session(0, 0)
    };
    let small = client.fetch(&open(1)).await.session_id;
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let other = client.fetch(&open(2)).await.session_id;
    assert!(small > 0 && other > 0);
    assert_eq!(broker.counters().fetch_sessions, 2);
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    let large = client.fetch(&open(3)).await.session_id;
    assert!(large > 0);
    let counters = broker.node_counters(1).expect("a node");
    assert_eq!((counters.fetch_sessions, counters.sessions_evicted), (2, 1));
    assert_eq!(counters.cached_partitions, 5);
    let gone = client.fetch(&Fetch::new().session(small, 1)).await;
    assert_eq!(
        gone.error_code,
        ResponseError::FetchSessionIdNotFound.code()
    );
    let wrong = client.fetch(&Fetch::new().session(large, 7)).await;
    assert_eq!(
        wrong.error_code,
        ResponseError::InvalidFetchSessionEpoch.code()
    );
    let by_name = Fetch::new().session(large, 1).request(12);
    let mixed = client.call(&by_name, 12).await;
    assert_eq!(
        mixed.error_code,
        ResponseError::FetchSessionTopicIdError.code()
    );
    assert_eq!(FETCH, 17, "by id");
}
