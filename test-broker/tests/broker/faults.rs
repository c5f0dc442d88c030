use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, FetchRequest, InitProducerIdRequest, MetadataRequest,
    ProduceRequest,
};
use test_broker::{ApiKey, BatchBuilder, Fault, TestBroker};
use tokio::time::Instant;

use crate::client::{FETCH, Fetch, batches, client, frame, named, numbers, produce, topic_name};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().nodes(2).topic("t", 4);
    let broker = broker.start_in_memory().expect("started");
    broker.produce("t", 0, ["a"]).expect("produced");
    broker
}

fn fetch(broker: &TestBroker) -> Fetch {
    Fetch::at(broker, "t", 0, 0)
}

#[tokio::test(start_paused = true)]
async fn delay_before_and_after() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let slow = broker.inject(
        Fault::delay(Duration::from_secs(2))
            .on(ApiKey::Fetch)
            .times(1),
    );
    let late = Fault::delay(Duration::from_secs(3))
        .on(ApiKey::Fetch)
        .after_applying();
    let late = broker.inject(late.times(2));
    for (seconds, seen) in [(5, 2), (3, 2), (0, 3)] {
        let start = Instant::now();
        // what is produced while a request is held up is there when it is applied, not when its answer is
        client
            .send(
                &fetch(&broker).and(&broker, "t", 2, 0).request(FETCH),
                FETCH,
            )
            .await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        broker.produce("t", 0, ["more"]).expect("produced");
        let response = client
            .receive::<FetchRequest>(FETCH)
            .await
            .expect("an answer");
        assert_eq!(start.elapsed(), Duration::from_secs(seconds.max(1)));
        assert_eq!(batches(&named(&response)[0]).len(), seen);
    }
    assert_eq!((broker.fault_hits(slow), broker.fault_hits(late)), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn silence_is_for_the_whole_connection() {
    let broker = broker();
    let mut silent = client(&broker, 1);
    broker.inject(Fault::silence().on(ApiKey::Fetch).times(1));
    silent.send(&fetch(&broker).request(FETCH), FETCH).await;
    silent.send(&fetch(&broker).request(FETCH), FETCH).await;
    let answer = tokio::time::timeout(Duration::from_secs(3600), silent.receive_frame()).await;
    assert!(answer.is_err(), "no answer, and no close");
    assert_eq!(
        numbers(&client(&broker, 1).fetch(&fetch(&broker)).await),
        [0],
        "others are served"
    );
    assert_eq!(broker.counters().connections_open, 1 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_close_may_come_before_or_after_the_request_is_applied() {
    let broker = broker();
    let batch = BatchBuilder::new().record("x").build();
    let request = produce(&broker, "t", 0, &batch, 9);
    for (fault, appended) in [
        (Fault::close(), 0),
        (Fault::close().after_applying(), 1),
        (Fault::silence().after_applying(), 1),
    ] {
        let before = broker.offsets("t", 0).expect("a partition").log_end_offset;
        let id = broker.inject(fault.on(ApiKey::Produce).times(1));
        let mut client = client(&broker, 1);
        client.send(&request, 9).await;
        broker.wait_for_requests(|all| !all.is_empty()).await;
        while broker.fault_hits(id) == 0 {
            tokio::task::yield_now().await;
        }
        let closes = !matches!(
            tokio::time::timeout(
                Duration::from_secs(3600),
                client.receive::<ProduceRequest>(9)
            )
            .await,
            Ok(Ok(_))
        );
        assert!(closes, "no answer");
        let after = broker.offsets("t", 0).expect("a partition").log_end_offset;
        assert_eq!(after - before, appended);
    }
}

#[tokio::test]
async fn an_error_at_a_partition_leaves_the_rest_alone() {
    let broker = broker();
    broker.produce("t", 2, ["b"]).expect("produced");
    let mut client = client(&broker, 1);
    let id = broker.inject(
        Fault::error(ResponseError::KafkaStorageError)
            .partition("t", 2)
            .times(2),
    );
    let both = fetch(&broker).and(&broker, "t", 2, 0);
    let opened = client.fetch(&both.session(0, 0)).await;
    let codes: Vec<_> = named(&opened).iter().map(|p| p.error_code).collect();
    assert_eq!(codes, [0, 56]);
    // in a session the partition need not be named to be hit
    let again = client
        .fetch(&Fetch::new().session(opened.session_id, 1))
        .await;
    let told: Vec<_> = named(&again)
        .iter()
        .map(|p| (p.partition_index, p.error_code))
        .collect();
    assert_eq!(told, [(0, 0), (2, 56)]);
    let healed = client
        .fetch(&Fetch::new().session(opened.session_id, 2))
        .await;
    let told: Vec<_> = named(&healed)
        .iter()
        .map(|p| (p.partition_index, p.error_code))
        .collect();
    assert_eq!(told, [(2, 0), (0, 0)]);
    assert_eq!(broker.fault_hits(id), 2);
}

#[tokio::test]
async fn an_error_stands_at_the_top_where_there_is_a_place_for_it() {
    let broker = broker();
    let mut client = client(&broker, 1);
    broker.inject(Fault::error(ResponseError::Unknown(999)));
    let response = client.fetch(&fetch(&broker)).await;
    assert_eq!((response.error_code, numbers(&response).len()), (999, 0));
    let old = client.call(&fetch(&broker).request(6), 6).await;
    assert_eq!(named(&old)[0].error_code, 999);
    assert_eq!(
        client
            .call(&ApiVersionsRequest::default(), 2)
            .await
            .error_code,
        999
    );
    assert_eq!(
        client
            .call(&InitProducerIdRequest::default(), 4)
            .await
            .error_code,
        999
    );
    let all = MetadataRequest::default().with_topics(None);
    let metadata = client.call(&all, 13).await;
    assert_eq!(
        (metadata.error_code, metadata.topics[0].error_code),
        (999, 0)
    );
    let metadata = client.call(&all, 12).await;
    assert_eq!(metadata.topics[0].error_code, 999);
    let batch = BatchBuilder::new().record("x").build();
    let produced = client.call(&produce(&broker, "t", 0, &batch, 9), 9).await;
    assert_eq!(produced.responses[0].partition_responses[0].error_code, 999);
    assert_eq!(
        broker.offsets("t", 0).expect("a partition").log_end_offset,
        1
    );
    broker.clear_faults();
    assert_eq!(client.fetch(&fetch(&broker)).await.error_code, 0);
}

#[tokio::test]
async fn a_request_can_be_applied_and_fail_all_the_same() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let timed_out = || Fault::error(ResponseError::RequestTimedOut).after_applying();
    broker.inject(timed_out().on(ApiKey::Produce).partition("t", 0).times(1));
    let batch = BatchBuilder::new().record("x").build();
    let produced = client.call(&produce(&broker, "t", 0, &batch, 9), 9).await;
    assert_eq!(produced.responses[0].partition_responses[0].error_code, 7);
    assert_eq!(
        broker.offsets("t", 0).expect("a partition").log_end_offset,
        2
    );
    broker.inject(timed_out().on(ApiKey::CreateTopics).topic("u"));
    let topic = kafka_protocol::messages::create_topics_request::CreatableTopic::default()
        .with_name(topic_name("u"))
        .with_num_partitions(1)
        .with_replication_factor(1);
    let request = CreateTopicsRequest::default().with_topics(vec![topic]);
    assert_eq!(client.call(&request, 7).await.topics[0].error_code, 7);
    assert!(broker.topic_id("u").is_ok());
}

#[tokio::test]
async fn metadata_errors_stand_at_topics_and_partitions() {
    let broker = broker();
    let mut client = client(&broker, 1);
    broker.inject(Fault::error(ResponseError::TopicAuthorizationFailed).topic("secret"));
    broker.inject(Fault::error(ResponseError::ReplicaNotAvailable).partition("t", 1));
    let topics = ["t", "secret"]
        .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name))));
    let request = MetadataRequest::default().with_topics(Some(topics.to_vec()));
    let response = client.call(&request, 9).await;
    let partitions: Vec<_> = response.topics[0]
        .partitions
        .iter()
        .map(|p| p.error_code)
        .collect();
    assert_eq!(partitions, [0, 9, 0, 0]);
    assert_eq!(
        response.topics[1].error_code,
        ResponseError::TopicAuthorizationFailed.code()
    );
}

#[tokio::test]
async fn an_answer_can_be_cut_at_any_byte() {
    let broker = broker();
    let whole = {
        let mut client = client(&broker, 1);
        client
            .send_raw(&frame(&fetch(&broker).request(FETCH), FETCH, 9))
            .await;
        let body = client.receive_frame().await.expect("an answer");
        [&(body.len() as i32).to_be_bytes()[..], &body].concat()
    };
    for cut in [0, 1, 4, 7, whole.len() - 1] {
        let id = broker.inject(Fault::truncate(cut).on(ApiKey::Fetch).times(1));
        let mut client = client(&broker, 1);
        client
            .send_raw(&frame(&fetch(&broker).request(FETCH), FETCH, 9))
            .await;
        assert_eq!(client.receive_to_end().await, whole[..cut]);
        assert_eq!(broker.fault_hits(id), 1);
    }
    // an answer that is not longer is left alone
    let id = broker.inject(Fault::truncate(whole.len()).on(ApiKey::Fetch));
    client(&broker, 1).fetch_one(&fetch(&broker)).await;
    assert_eq!(broker.fault_hits(id), 0);
}

#[tokio::test]
async fn bytes_can_be_flipped_in_the_frame_and_in_records() {
    let broker = broker();
    let mut client = client(&broker, 1);
    broker.inject(Fault::flip(7, 0xff).on(ApiKey::Fetch).times(1));
    client
        .send_raw(&frame(&fetch(&broker).request(FETCH), FETCH, 0))
        .await;
    let body = client.receive_frame().await.expect("an answer");
    assert_eq!(body[..4], [0, 0, 0, 0xff], "the correlation id");

    let good = client
        .fetch_one(&fetch(&broker))
        .await
        .records
        .expect("records");
    let id = broker.inject(Fault::flip_records(65, 0x0f).partition("t", 0).times(1));
    // nothing to hit, nothing counted
    client.fetch_one(&Fetch::at(&broker, "t", 0, 1)).await;
    assert_eq!(broker.fault_hits(id), 0);
    let bad = client
        .fetch_one(&fetch(&broker))
        .await
        .records
        .expect("records");
    let differing: Vec<_> = (0..good.len()).filter(|at| good[*at] != bad[*at]).collect();
    assert_eq!((differing, good[65] ^ bad[65]), (vec![65], 0x0f));
    assert_eq!(
        client.fetch_one(&fetch(&broker)).await.records,
        Some(good),
        "the log is sound"
    );
}

#[tokio::test(start_paused = true)]
async fn b073_records_can_be_anything() {
    let broker = broker();
    let mut client = client(&broker, 1);
    broker.inject(Fault::records(vec![0; 8]).partition("t", 2).times(1));
    let start = Instant::now();
    let read = client
        .fetch_one(&Fetch::at(&broker, "t", 2, 0).wait(1000))
        .await;
    assert_eq!(
        (read.records.as_deref(), start.elapsed()),
        (Some(&[0; 8][..]), Duration::ZERO)
    );
    assert_eq!((read.error_code, read.high_watermark), (0, 0));
    let read = client.fetch_one(&Fetch::at(&broker, "t", 2, 0)).await;
    assert_eq!(read.records.as_deref(), Some(&[][..]));
}

#[tokio::test]
async fn f017_answers_can_be_anything() {
    let broker = broker();
    let mut client = client(&broker, 1);
    broker.inject(Fault::answer_body(vec![1, 2, 3]).on(ApiKey::Fetch).times(1));
    client
        .send_raw(&frame(&fetch(&broker).request(FETCH), FETCH, 5))
        .await;
    let body = client.receive_frame().await.expect("an answer");
    assert_eq!(
        body[..],
        [0, 0, 0, 5, 0, 1, 2, 3],
        "correlation id, no tagged fields, the body"
    );
    let raw = [0x7f, 0xff, 0xff, 0xff];
    broker.inject(Fault::answer_raw(raw.to_vec()).on(ApiKey::Fetch).times(1));
    broker.inject(Fault::close().on(ApiKey::Metadata));
    client.send(&fetch(&broker).request(FETCH), FETCH).await;
    client.send(&MetadataRequest::default(), 9).await;
    assert_eq!(client.receive_to_end().await, raw);
}

#[tokio::test(start_paused = true)]
async fn b050_a_throttled_fetch_is_empty_and_its_connection_rests() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let throttle = |times| {
        Fault::throttle(Duration::from_secs(7))
            .on(ApiKey::Fetch)
            .times(times)
    };
    broker.inject(throttle(1));
    let response = client.fetch(&fetch(&broker).session(0, 0)).await;
    assert_eq!((response.throttle_time_ms, response.session_id), (7000, 0));
    assert!(numbers(&response).is_empty());
    // KIP-219: the answer came first, what follows waits
    let start = Instant::now();
    let opened = client.fetch(&fetch(&broker).session(0, 0)).await;
    assert_eq!(start.elapsed(), Duration::from_secs(7));
    assert_eq!((opened.throttle_time_ms, numbers(&opened)), (0, vec![0]));
    broker.inject(throttle(1));
    let response = client
        .fetch(&Fetch::new().session(opened.session_id, 1))
        .await;
    assert_eq!(
        (response.session_id, numbers(&response).len()),
        (opened.session_id, 0)
    );
    let next = client
        .fetch(&Fetch::new().session(opened.session_id, 2))
        .await;
    assert_eq!(
        (next.error_code, numbers(&next)),
        (0, vec![0]),
        "the epoch is consumed"
    );
    broker.inject(Fault::throttle(Duration::from_millis(1)).on(ApiKey::Metadata));
    assert_eq!(
        client
            .call(&MetadataRequest::default(), 9)
            .await
            .throttle_time_ms,
        1
    );
}

#[tokio::test]
async fn a_fault_can_be_narrowed_down_to_a_node() {
    let broker = broker();
    let id = broker.inject(Fault::error(ResponseError::UnknownServerError).node(2));
    assert_eq!(
        client(&broker, 1).fetch(&fetch(&broker)).await.error_code,
        0
    );
    assert_eq!(
        client(&broker, 2).fetch(&fetch(&broker)).await.error_code,
        -1
    );
    broker.remove_fault(id);
    let read = client(&broker, 2)
        .fetch_one(&Fetch::at(&broker, "t", 1, 0))
        .await;
    assert_eq!(read.error_code, 0);
}

#[tokio::test]
async fn the_request_log_tells_what_was_asked() {
    let broker = broker();
    let mut client = client(&broker, 1);
    let opened = client.fetch(&fetch(&broker).session(0, 0)).await;
    let next = Fetch::at(&broker, "t", 2, 5)
        .partition_max_bytes(99)
        .leader_epoch(3);
    let next = next
        .forget(&broker, "t", 0)
        .session(opened.session_id, 1)
        .rack("r");
    client
        .fetch(&next.max_bytes(1000).min_bytes(7).committed())
        .await;
    let log = broker.requests();
    assert_eq!(log.len(), 2);
    let record = &log[1];
    assert_eq!(
        (record.node, record.connection, record.api_key),
        (1, 0, ApiKey::Fetch)
    );
    assert_eq!(
        (record.api_version, record.client_id.as_deref()),
        (FETCH, Some("a test"))
    );
    let fetch = record.fetch().expect("a Fetch");
    assert_eq!(
        (fetch.session_id, fetch.session_epoch),
        (opened.session_id, 1)
    );
    assert_eq!(
        (fetch.max_bytes, fetch.min_bytes, fetch.isolation_level),
        (1000, 7, 1)
    );
    assert_eq!((fetch.max_wait_ms, fetch.rack.as_str()), (0, "r"));
    let asked = &fetch.partitions[0];
    assert_eq!(asked.partition.to_string(), "t-2");
    assert_eq!(
        (
            asked.fetch_offset,
            asked.max_bytes,
            asked.current_leader_epoch
        ),
        (5, 99, 3)
    );
    assert_eq!(fetch.forgotten[0].to_string(), "t-0");
    broker.clear_requests();
    assert!(broker.requests().is_empty());
    let counters = broker.node_counters(1).expect("a node");
    assert_eq!(
        (counters.fetch_requests, counters.fetches_with_records),
        (2, 1)
    );
}

#[tokio::test]
async fn the_request_log_keeps_the_last_ones() {
    for (capacity, kept) in [(0, 0), (2, 2)] {
        let broker = TestBroker::builder().request_log(capacity);
        let broker = broker.start_in_memory().expect("started");
        let mut client = client(&broker, 1);
        for version in 0..5 {
            client
                .call(
                    &MetadataRequest::default().with_topics(Some(vec![])),
                    version,
                )
                .await;
        }
        let versions: Vec<_> = broker.requests().iter().map(|r| r.api_version).collect();
        assert_eq!(versions, [0, 1, 2, 3, 4][5 - kept..]);
        assert_eq!(broker.counters().requests, 5);
    }
}
