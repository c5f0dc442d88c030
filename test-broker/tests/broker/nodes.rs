//! Nodes that die, freeze and come back, and leaders that move.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{FetchRequest, MetadataRequest};
use test_broker::{ApiKey, Error, TestBroker};
use tokio::time::Instant;

use crate::client::{FETCH, Fetch, batches, client, named};

fn broker(replicas: i16) -> TestBroker {
    let broker = TestBroker::builder()
        .nodes(3)
        .replication_factor(replicas)
        .topic("t", 3);
    broker.start_in_memory().expect("started")
}

#[tokio::test(start_paused = true)]
async fn a_killed_node_cuts_its_connections_and_loses_its_sessions() {
    let broker = broker(1);
    let mut client1 = client(&broker, 1);
    let opened = client1
        .fetch(&Fetch::at(&broker, "t", 0, 0).session(0, 0))
        .await;
    assert_eq!(broker.counters().fetch_sessions, 1);
    client1
        .send(
            &Fetch::new()
                .session(opened.session_id, 1)
                .wait(60_000)
                .request(FETCH),
            FETCH,
        )
        .await;
    broker.wait_for_requests(|all| all.len() == 2).await;

    broker.kill_node(1).await.expect("killed");
    assert!(
        client1.receive::<FetchRequest>(FETCH).await.is_err(),
        "cut in the middle of a wait"
    );
    assert!(matches!(
        broker.connect(1),
        Err(Error::NodeDown { node: 1 })
    ));
    assert_eq!(broker.leader("t", 0).expect("a partition"), (None, 1));
    let mut client2 = client(&broker, 2);
    let metadata = client2
        .call(&MetadataRequest::default().with_topics(None), 9)
        .await;
    assert_eq!(metadata.brokers.len(), 2);
    assert_eq!(
        metadata.topics[0].partitions[0].error_code,
        ResponseError::LeaderNotAvailable.code()
    );
    assert_eq!(metadata.topics[0].partitions[0].offline_replicas.len(), 1);
    broker.kill_node(1).await.expect("nothing to do");

    broker.restart_node(1).await.expect("restarted");
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(1), 2));
    let mut client1 = client(&broker, 1);
    let gone = client1
        .fetch(&Fetch::new().session(opened.session_id, 1))
        .await;
    assert_eq!(
        gone.error_code,
        ResponseError::FetchSessionIdNotFound.code()
    );
}

#[tokio::test]
async fn a_node_is_told_of_at_its_new_address_and_its_connections_stay() {
    let broker = broker(1);
    let mut client2 = client(&broker, 2);
    broker.advertise(2, "moved", 19092).expect("a node");
    assert!(broker.bootstrap_servers().contains("moved:19092"));
    assert_eq!(broker.node_at("moved", 19092), Some(2));
    let metadata = client2
        .call(&MetadataRequest::default().with_topics(None), 9)
        .await;
    let told = metadata.brokers.iter().find(|told| told.node_id.0 == 2);
    let told = told.expect("a living node");
    assert_eq!((told.host.as_str(), told.port), ("moved", 19092));
    assert!(matches!(
        broker.advertise(7, "moved", 19092),
        Err(Error::UnknownNode { .. })
    ));
}

#[tokio::test]
async fn an_in_sync_replica_takes_over() {
    let broker = broker(2);
    broker.produce("t", 0, ["kept"]).expect("produced");
    broker.kill_node(1).await.expect("killed");
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(2), 1));
    let read = client(&broker, 2)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(batches(&read), [(0, 0)]);
    // the one that comes back follows
    broker.restart_node(1).await.expect("restarted");
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(2), 1));
    broker.kill_node(2).await.expect("killed");
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(1), 2));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_node_answers_when_it_thaws() {
    let broker = broker(1);
    broker.produce("t", 0, ["v"]).expect("produced");
    let mut waiting = client(&broker, 1);
    waiting
        .send(
            &Fetch::at(&broker, "t", 0, 1).wait(1000).request(FETCH),
            FETCH,
        )
        .await;
    broker.wait_for_requests(|all| all.len() == 1).await;
    broker.freeze_node(1).expect("frozen");

    let mut asking = client(&broker, 1);
    asking
        .send(&Fetch::at(&broker, "t", 0, 0).request(FETCH), FETCH)
        .await;
    let start = Instant::now();
    for client in [&mut waiting, &mut asking] {
        let answer = tokio::time::timeout(Duration::from_secs(60), client.receive_frame()).await;
        assert!(answer.is_err(), "not a word");
    }
    assert_eq!(start.elapsed(), Duration::from_secs(120));
    assert_eq!(
        broker.leader("t", 0).expect("a partition"),
        (Some(1), 0),
        "nobody noticed"
    );
    assert_eq!(
        broker.requests_of(ApiKey::Fetch).len(),
        1,
        "not even looked at"
    );

    broker.unfreeze_node(1).expect("thawed");
    let late = waiting
        .receive::<FetchRequest>(FETCH)
        .await
        .expect("an answer");
    assert_eq!(batches(&named(&late)[0]), []);
    let answer = asking
        .receive::<FetchRequest>(FETCH)
        .await
        .expect("an answer");
    assert_eq!(batches(&named(&answer)[0]), [(0, 0)]);
}

#[tokio::test]
async fn b030_a_leader_that_moves_away_knows_where_it_went() {
    let broker = broker(1);
    broker.produce("t", 0, ["v"]).expect("produced");
    broker.move_leader("t", 0, 3).expect("moved");
    let mut old = client(&broker, 1);
    for epoch in [-1, 0, 1] {
        let response = old
            .fetch(&Fetch::at(&broker, "t", 0, 0).leader_epoch(epoch))
            .await;
        let moved = &named(&response)[0];
        assert_eq!(moved.error_code, ResponseError::NotLeaderOrFollower.code());
        assert_eq!(
            (
                moved.current_leader.leader_id.0,
                moved.current_leader.leader_epoch
            ),
            (3, 1)
        );
        assert_eq!(response.node_endpoints[0].node_id.0, 3);
    }
    let read = client(&broker, 3)
        .fetch_one(&Fetch::at(&broker, "t", 0, 0).leader_epoch(1))
        .await;
    assert_eq!(batches(&read), [(0, 0)]);
}

#[tokio::test]
async fn among_replicas_the_old_leader_becomes_a_follower() {
    let broker = broker(2);
    broker.move_leader("t", 0, 2).expect("moved");
    let mut old = client(&broker, 1);
    let read = old.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    assert_eq!(read.error_code, 0, "KIP-392: followers serve consumers");
    let read = old
        .fetch_one(&Fetch::at(&broker, "t", 0, 0).leader_epoch(0))
        .await;
    assert_eq!(read.error_code, ResponseError::FencedLeaderEpoch.code());
    assert_eq!(read.current_leader.leader_id.0, 2);
}

#[tokio::test]
async fn without_a_leader_nobody_answers_for_the_partition() {
    let broker = broker(3);
    broker.remove_leader("t", 0).expect("removed");
    for node in broker.node_ids() {
        let read = client(&broker, node)
            .fetch_one(&Fetch::at(&broker, "t", 0, 0))
            .await;
        assert_eq!(read.error_code, ResponseError::NotLeaderOrFollower.code());
        assert_eq!(
            (
                read.current_leader.leader_id.0,
                read.current_leader.leader_epoch
            ),
            (-1, 1)
        );
    }
    broker.move_leader("t", 0, 2).expect("moved");
    assert_eq!(broker.leader("t", 0).expect("a partition"), (Some(2), 2));
}

#[tokio::test]
async fn a_shut_down_broker_is_silent_but_can_be_looked_at() {
    let broker = broker(1);
    let mut client = client(&broker, 1);
    client.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    broker.shutdown().await;
    assert!(client.receive_frame().await.is_err());
    assert_eq!(broker.requests().len(), 1);
    assert!(broker.connect(1).is_err());
}

#[tokio::test]
async fn the_last_handle_stops_the_broker() {
    let broker = broker(1);
    let mut client = client(&broker, 1);
    drop(broker.clone());
    client.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    drop(broker);
    assert!(client.receive_frame().await.is_err());
}
