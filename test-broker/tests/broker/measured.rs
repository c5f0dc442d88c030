//! What a session does, as it was measured on Apache Kafka 4.4.0; time is paused, so that waits are exact.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{BrokerId, FetchRequest, FetchResponse, ListOffsetsRequest};
use test_broker::TestBroker;
use tokio::time::Instant;

use crate::client::{Client, FETCH, Fetch, batches, client, named, numbers, topic_name};

struct Session {
    broker: TestBroker,
    client: Client,
    id: i32,
    epoch: i32,
}

impl Session {
    /// A session over partitions 0 to 2 of a topic with `records` in each, from offset 0; its first answer is taken.
    async fn open(records: usize) -> Self {
        let broker = TestBroker::builder()
            .topic("t", 3)
            .start_in_memory()
            .expect("started");
        for partition in 0..3 {
            for _ in 0..records {
                broker.produce("t", partition, ["value"]).expect("produced");
            }
        }
        let mut client = client(&broker, 1);
        let end = records as i64;
        let all = (0..3).fold(Fetch::new(), |f, p| f.and(&broker, "t", p, end));
        let opened = client.fetch(&all.session(0, 0)).await;
        assert_eq!(numbers(&opened), [0, 1, 2]);
        Self {
            broker,
            client,
            id: opened.session_id,
            epoch: 0,
        }
    }

    fn next(&mut self, fetch: Fetch) -> Fetch {
        self.epoch += 1;
        fetch.session(self.id, self.epoch)
    }

    async fn fetch(&mut self, fetch: Fetch) -> FetchResponse {
        let fetch = self.next(fetch);
        let response = self.client.fetch(&fetch).await;
        assert_eq!((response.error_code, response.session_id), (0, self.id));
        response
    }

    /// The next request, and how long it took.
    async fn timed(&mut self, fetch: Fetch) -> (FetchResponse, Duration) {
        let start = Instant::now();
        (self.fetch(fetch).await, start.elapsed())
    }

    fn at(&self, partition: i32, offset: i64) -> Fetch {
        Fetch::at(&self.broker, "t", partition, offset)
    }
}

fn sizes(response: &FetchResponse) -> Vec<(i32, usize)> {
    let all = named(response);
    let sizes = all
        .iter()
        .map(|p| (p.partition_index, p.records.as_ref().map_or(0, |r| r.len())));
    sizes.collect()
}

#[tokio::test(start_paused = true)]
async fn omitted_means_fetched_again_at_the_cached_offset() {
    let mut session = Session::open(3).await;
    let moved = session.at(1, 0);
    let first = session.fetch(moved).await;
    for _ in 0..5 {
        let again = session.fetch(Fetch::new()).await;
        assert_eq!(again.responses, first.responses);
        assert_eq!(numbers(&again), [1]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_session_ends_every_wait() {
    let mut session = Session::open(1).await;
    let bad = session.at(2, 99);
    let (response, took) = session.timed(bad.wait(500)).await;
    assert_eq!((numbers(&response), took), (vec![2], Duration::ZERO));
    for _ in 0..100 {
        let (response, took) = session.timed(Fetch::new().wait(500)).await;
        let error = named(&response)[0].error_code;
        assert_eq!(
            (error, took),
            (ResponseError::OffsetOutOfRange.code(), Duration::ZERO)
        );
    }
    let good = session.at(2, 1);
    let (response, took) = session.timed(good.wait(500)).await;
    assert_eq!(numbers(&response), [2], "named again after the error");
    assert_eq!(took, Duration::from_millis(500));
}

#[tokio::test(start_paused = true)]
async fn tiny_limits_bring_one_batch_over_all_partitions() {
    for max_bytes in [0, 1] {
        let mut session = Session::open(2).await;
        let all = session
            .at(0, 0)
            .and(&session.broker, "t", 1, 0)
            .and(&session.broker, "t", 2, 0);
        let size = 61 + 12;
        let by_request = session.fetch(all.max_bytes(max_bytes)).await;
        assert_eq!(sizes(&by_request), [(0, size)]);
        // partition 0 gave data and went to the end
        let mut tiny = Fetch::new();
        for partition in 0..3 {
            tiny = tiny
                .and(&session.broker, "t", partition, 0)
                .partition_max_bytes(max_bytes);
        }
        let by_partition = session.fetch(tiny).await;
        assert_eq!(sizes(&by_partition), [(1, size)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_partition_does_not_end_the_wait() {
    let mut session = Session::open(1).await;
    let parked = session.at(0, 1).partition_max_bytes(0).wait(1000);
    let (response, took) = session.timed(parked).await;
    assert_eq!(
        (numbers(&response), took),
        (vec![], Duration::from_millis(1000))
    );

    // data that comes while a request waits does not end it, but comes with its answer
    let waiting = session.next(Fetch::new().wait(1500));
    let start = Instant::now();
    session.client.send(&waiting.request(FETCH), FETCH).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    session.broker.produce("t", 0, ["new"]).expect("produced");
    session.broker.produce("t", 0, ["newer"]).expect("produced");
    let response = session
        .client
        .receive::<FetchRequest>(FETCH)
        .await
        .expect("an answer");
    assert_eq!(start.elapsed(), Duration::from_millis(1500));
    let told = &named(&response)[0];
    assert_eq!((told.high_watermark, batches(told)), (3, vec![(1, 1)]));

    // the next one comes back at once, until it is named at the new high watermark
    let (response, took) = session.timed(Fetch::new().wait(1000)).await;
    assert_eq!(
        (batches(&named(&response)[0]), took),
        (vec![(1, 1)], Duration::ZERO)
    );
    let parked = session.at(0, 3).partition_max_bytes(0).wait(1000);
    let (response, took) = session.timed(parked).await;
    assert_eq!(
        (numbers(&response), took),
        (vec![], Duration::from_millis(1000))
    );
}

#[tokio::test(start_paused = true)]
async fn a_parked_partition_with_news_uses_up_the_first_batch_rule() {
    let mut session = Session::open(1).await;
    session
        .broker
        .produce("t", 1, [vec![7; 5000]])
        .expect("produced");
    session.broker.produce("t", 0, ["news"]).expect("produced");
    let parked = session.at(0, 1).partition_max_bytes(0);
    let both = parked
        .and(&session.broker, "t", 1, 1)
        .partition_max_bytes(1000);
    let response = session.fetch(both).await;
    let told = named(&response);
    assert_eq!(batches(&told[0]), [(1, 1)]);
    assert_eq!(
        (told[1].partition_index, batches(&told[1])),
        (1, vec![]),
        "larger than its own limit"
    );
    // parked at its new high watermark it gives nothing, and the large batch comes
    let parked = session.at(0, 2).partition_max_bytes(0);
    let response = session.fetch(parked).await;
    assert_eq!(sizes(&response).len(), 1);
    assert_eq!(batches(&named(&response)[0]), [(1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_new_high_watermark_is_told_without_records() {
    let mut session = Session::open(2).await;
    // partition 0 gives data and goes to the end
    let data = session.at(0, 0);
    session.fetch(data).await;
    let quiet = session.at(0, 2);
    assert!(numbers(&session.fetch(quiet).await).is_empty());
    // partition 1 takes all the room there is, so that of partition 0 nothing can come but its high watermark
    session.broker.produce("t", 0, ["news"]).expect("produced");
    let room_for_one = session.at(1, 0).max_bytes(1);
    let response = session.fetch(room_for_one).await;
    assert_eq!(sizes(&response), [(1, 73), (0, 0)]);
    let told = &named(&response)[1];
    assert_eq!((told.error_code, told.high_watermark), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn forgetting_all_partitions_ends_the_session() {
    let mut session = Session::open(1).await;
    let mut forget = Fetch::new();
    for partition in 0..3 {
        forget = forget.forget(&session.broker, "t", partition);
    }
    let forget = session.next(forget);
    let response = session.client.fetch(&forget).await;
    assert_eq!((response.error_code, response.session_id), (0, 0));
    let next = session.next(Fetch::new());
    let response = session.client.fetch(&next).await;
    assert_eq!(
        response.error_code,
        ResponseError::FetchSessionIdNotFound.code()
    );
}

#[tokio::test(start_paused = true)]
async fn the_final_epoch_takes_no_slot_and_keeps_the_order_of_the_request() {
    let mut session = Session::open(2).await;
    assert_eq!(session.broker.counters().fetch_sessions, 1);
    let sessionless = session.at(2, 0).and(&session.broker, "t", 0, 0);
    for _ in 0..3 {
        let response = session
            .client
            .fetch(&sessionless.clone().max_bytes(1))
            .await;
        assert_eq!(response.session_id, 0);
        assert_eq!(sizes(&response), [(2, 73), (0, 0)], "no move to the end");
    }
    assert_eq!(session.broker.counters().fetch_sessions, 1);
    let closed = session
        .client
        .fetch(&sessionless.session(session.id, -1))
        .await;
    assert_eq!(
        (closed.session_id, session.broker.counters().fetch_sessions),
        (0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn b064_in_a_session_partitions_that_gave_data_move_to_the_end() {
    let mut session = Session::open(2).await;
    let all = session
        .at(0, 0)
        .and(&session.broker, "t", 1, 0)
        .and(&session.broker, "t", 2, 0);
    let mut order = numbers(&session.fetch(all.max_bytes(1)).await);
    for _ in 0..5 {
        order.extend(numbers(&session.fetch(Fetch::new().max_bytes(1)).await));
    }
    assert_eq!(order, [0, 1, 2, 0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_not_read_loses_the_connection() {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .connections_max_idle(Duration::from_secs(5))
        .start_in_memory()
        .expect("started");
    broker
        .produce("t", 0, [vec![0; 500_000]])
        .expect("produced");
    let mut client = client(&broker, 1);
    client
        .send(&Fetch::at(&broker, "t", 0, 0).request(FETCH), FETCH)
        .await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(broker.counters().connections_open, 0);
    let cut = client.receive::<FetchRequest>(FETCH).await;
    assert_eq!(
        cut.expect_err("cut").kind(),
        std::io::ErrorKind::UnexpectedEof
    );
}

#[tokio::test(start_paused = true)]
async fn min_bytes_is_clamped_to_the_requests_max_bytes() {
    let mut session = Session::open(2).await;
    // what is there is less than min bytes, but more than max bytes
    let data = session
        .at(0, 0)
        .min_bytes(1_000_000)
        .max_bytes(100)
        .wait(500);
    let (response, took) = session.timed(data).await;
    assert_eq!((sizes(&response), took), (vec![(0, 100)], Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_lookup_behind_a_long_poll_waits_as_long() {
    let mut session = Session::open(1).await;
    let poll = session.next(Fetch::new().wait(2000));
    session.client.send(&poll.request(FETCH), FETCH).await;
    let partition = ListOffsetsPartition::default()
        .with_timestamp(-1)
        .with_current_leader_epoch(-1);
    let topic = ListOffsetsTopic::default()
        .with_name(topic_name("t"))
        .with_partitions(vec![partition]);
    let lookup = ListOffsetsRequest::default()
        .with_replica_id(BrokerId(-1))
        .with_topics(vec![topic]);
    let start = Instant::now();
    session.client.send(&lookup, 7).await;
    // answers come in order
    session.client.receive_frame().await.expect("the poll");
    let found = session
        .client
        .receive::<ListOffsetsRequest>(7)
        .await
        .expect("the lookup");
    assert_eq!(found.topics[0].partitions[0].offset, 1);
    assert_eq!(start.elapsed(), Duration::from_millis(2000));
}
