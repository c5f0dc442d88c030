//! Waiting for data: by counts and paused time, without a sleep that has to be long enough.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::FetchRequest;
use test_broker::{ApiKey, BatchBuilder, TestBroker};
use tokio::time::Instant;

use crate::client::{Client, FETCH, Fetch, batches, client, named, numbers};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().nodes(2).topic("t", 4);
    broker.start_in_memory().expect("started")
}

/// Sends a fetch that has nothing to read and waits until the broker has it.
async fn waiting(broker: &TestBroker, client: &mut Client, fetch: &Fetch) -> Instant {
    let before = broker.requests_of(ApiKey::Fetch).len();
    client.send(&fetch.request(FETCH), FETCH).await;
    broker
        .wait_for_requests(|all| all.iter().filter(|r| r.api_key == ApiKey::Fetch).count() > before)
        .await;
    Instant::now()
}

async fn answer(client: &mut Client) -> kafka_protocol::messages::FetchResponse {
    client
        .receive::<FetchRequest>(FETCH)
        .await
        .expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_produce_wakes_the_fetch_at_once() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let fetch = Fetch::at(&broker, "t", 0, 0)
        .and(&broker, "t", 2, 0)
        .wait(30_000);
    let start = waiting(&broker, &mut client, &fetch).await;
    broker.produce("t", 2, ["x"]).expect("produced");
    let response = answer(&mut client).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(batches(&named(&response)[1]), [(0, 0)]);
}

#[tokio::test(start_paused = true)]
async fn without_data_it_waits_exactly_as_long_as_it_was_told() {
    let broker = broker();
    let mut client = client(&broker, 1);
    for wait in [1, 500, 7777] {
        let start = Instant::now();
        let read = client
            .fetch_one(&Fetch::at(&broker, "t", 0, 0).wait(wait))
            .await;
        assert_eq!((read.error_code, batches(&read)), (0, vec![]));
        assert_eq!(start.elapsed(), Duration::from_millis(wait as u64));
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_until_there_are_min_bytes() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let size = 61 + 12;
    let fetch = Fetch::at(&broker, "t", 0, 0).and(&broker, "t", 2, 0);
    let start = waiting(
        &broker,
        &mut client,
        &fetch.min_bytes(3 * size).wait(10_000),
    )
    .await;
    for (partition, at) in [(0, 1000), (2, 2000), (0, 3000)] {
        tokio::time::sleep_until(start + Duration::from_millis(at)).await;
        broker.produce("t", partition, ["value"]).expect("produced");
    }
    let response = answer(&mut client).await;
    assert_eq!(start.elapsed(), Duration::from_secs(3));
    assert_eq!(batches(&named(&response)[0]).len(), 2);
    assert_eq!(batches(&named(&response)[1]).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn another_partition_does_not_wake_it() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let start = waiting(
        &broker,
        &mut client,
        &Fetch::at(&broker, "t", 0, 0).wait(1000),
    )
    .await;
    broker.produce("t", 2, ["x"]).expect("produced");
    assert_eq!(batches(&named(&answer(&mut client).await)[0]), []);
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn read_committed_waits_for_the_end_of_the_transaction() {
    let broker = broker();
    let open = BatchBuilder::new()
        .producer(7, 0, 0)
        .transactional()
        .record("x");
    broker.append_raw("t", 0, &open.build()).expect("appended");
    let mut client = client(&broker, 1);
    let fetch = Fetch::at(&broker, "t", 0, 0).committed().wait(10_000);
    let start = waiting(&broker, &mut client, &fetch).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    broker.produce("t", 0, ["behind it"]).expect("produced");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let commit = BatchBuilder::end_transaction(7, 0, true).base_offset(2);
    broker
        .append_raw("t", 0, &commit.build())
        .expect("appended");
    let response = answer(&mut client).await;
    assert_eq!(start.elapsed(), Duration::from_secs(4));
    assert_eq!(batches(&named(&response)[0]).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_leader_epoch_topic_or_log_ends_the_wait() {
    type Change = fn(&TestBroker) -> Result<(), test_broker::Error>;
    let changes: [(Change, ResponseError); 5] = [
        (
            |b| b.move_leader("t", 0, 2),
            ResponseError::NotLeaderOrFollower,
        ),
        (
            |b| b.remove_leader("t", 0),
            ResponseError::NotLeaderOrFollower,
        ),
        (
            |b| b.bump_leader_epoch("t", 0).map(drop),
            ResponseError::FencedLeaderEpoch,
        ),
        (
            |b| b.delete_topic("t"),
            ResponseError::UnknownTopicOrPartition,
        ),
        (|b| b.truncate("t", 0, 0), ResponseError::OffsetOutOfRange),
    ];
    for (change, expected) in changes {
        let broker = broker();
        broker.produce("t", 0, ["x"]).expect("produced");
        let mut client = client(&broker, 1);
        let fetch = Fetch::at(&broker, "t", 0, 1).leader_epoch(0).wait(10_000);
        let start = waiting(&broker, &mut client, &fetch).await;
        change(&broker).expect("changed");
        let response = answer(&mut client).await;
        assert_eq!(
            named(&response)[0].error_code,
            expected.code(),
            "{expected}"
        );
        assert_eq!(start.elapsed(), Duration::ZERO, "{expected}");
    }
}

/// Measured on Kafka 4.4: a partition that cannot be told of at all does not end the wait of the others.
#[tokio::test(start_paused = true)]
async fn an_unknown_topic_does_not_end_the_wait_of_others() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let unknown = uuid::Uuid::from_u128(9);
    let start = Instant::now();
    let fetch = Fetch::new().and_id("none", unknown, 0, 0).wait(500);
    let response = client.fetch(&fetch).await;
    assert_eq!(
        (numbers(&response), start.elapsed()),
        (vec![0], Duration::ZERO)
    );
    let response = client.fetch(&fetch.and(&broker, "t", 2, 0)).await;
    assert_eq!(start.elapsed(), Duration::from_millis(500));
    assert_eq!(numbers(&response), [2, 0], "what is unknown comes last");
}

#[tokio::test(start_paused = true)]
async fn many_waiters_are_woken_by_one_produce_and_leave_nothing_behind() {
    let broker = broker();
    let fetch = Fetch::at(&broker, "t", 0, 0).wait(60_000);
    let mut clients: Vec<_> = (0..50).map(|_| client(&broker, 1)).collect();
    for client in &mut clients {
        waiting(&broker, client, &fetch).await;
    }
    // half of them go away while they wait
    clients.truncate(25);
    broker.produce("t", 0, ["x"]).expect("produced");
    for client in &mut clients {
        assert_eq!(batches(&named(&answer(client).await)[0]), [(0, 0)]);
    }
    let counters = broker.counters();
    assert_eq!(
        (counters.fetch_requests, counters.connections_accepted),
        (50, 50)
    );
}

#[tokio::test(start_paused = true)]
async fn f041_an_idle_consumer_asks_once_per_wait() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        client
            .fetch_one(&Fetch::at(&broker, "t", 0, 0).wait(500))
            .await;
    }
    assert_eq!(broker.requests_of(ApiKey::Fetch).len(), 120);
}
