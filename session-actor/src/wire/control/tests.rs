use super::{ControlClient, MAX_RESPONSE_BYTES};
use crate::wire::error::WireError;
use crate::wire::scripted_broker::{ScriptedBroker, peer};
use kafka_protocol::messages::metadata_response::MetadataResponseBroker;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, ListOffsetsRequest, ListOffsetsResponse,
    MetadataRequest, MetadataResponse, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::Instant;

const LIMIT: Duration = Duration::from_secs(30);
const METADATA: i16 = 3;
const LIST_OFFSETS: i16 = 2;

/// Runs a test against a client and a broker that agreed on Metadata v12 and ListOffsets v9.
async fn with_client<F: Future<Output = ()>>(
    capacity: usize,
    test: impl FnOnce(ControlClient, ScriptedBroker) -> F,
) {
    let (pipe, mut broker) = ScriptedBroker::new(capacity);
    let run = async {
        let apis = [
            (METADATA, 0, 12),
            (LIST_OFFSETS, 1, 9),
            (18, 0, 4),
            (19, 2, 7),
        ];
        let connecting = ControlClient::connect(&pipe, peer(), "tests", MAX_RESPONSE_BYTES, LIMIT);
        let (client, _) = tokio::join!(connecting, broker.agree(&apis));
        test(client.expect("a connection"), broker).await;
    };
    LocalSet::new().run_until(run).await;
}

/// An answer in a flexible version, behind its correlation id.
fn answer(response: &impl Encodable, version: i16) -> Vec<u8> {
    let mut bytes = vec![0];
    response.encode(&mut bytes, version).expect("a response");
    bytes
}

fn metadata(node: i32) -> Vec<u8> {
    let broker = MetadataResponseBroker::default().with_node_id(node.into());
    answer(&MetadataResponse::default().with_brokers(vec![broker]), 12)
}

fn node_of(response: &MetadataResponse) -> i32 {
    response.brokers[0].node_id.0
}

#[tokio::test(start_paused = true)]
async fn calls_go_out_at_once_and_answers_come_back_in_order() {
    with_client(1 << 16, |client, mut broker| async move {
        let metadata_request = MetadataRequest::default();
        let first = client.call(&metadata_request, LIMIT);
        let list_offsets = ListOffsetsRequest::default();
        let second = client.call(&list_offsets, LIMIT);
        let third = client.call_version(9, &metadata_request, LIMIT);
        let script = async {
            let mut seen = Vec::new();
            for _ in 0..3 {
                let request = broker.receive().await;
                seen.push((request.api_key, request.version, request.correlation_id));
            }
            assert_eq!(
                seen,
                [(METADATA, 12, 1), (LIST_OFFSETS, 9, 2), (METADATA, 9, 3)]
            );
            broker.answer(1, &metadata(11)).await;
            let offsets = ListOffsetsResponse::default().with_throttle_time_ms(250);
            broker.answer(2, &answer(&offsets, 9)).await;
            let last = MetadataResponse::default().with_controller_id(5.into());
            broker.answer(3, &answer(&last, 9)).await;
        };
        let (first, second, third, ()) = tokio::join!(first, second, third, script);
        assert_eq!(node_of(&first.expect("metadata")), 11);
        assert_eq!(second.expect("offsets").throttle_time_ms, 250);
        assert_eq!(third.expect("metadata").controller_id.0, 5);
        assert!(client.failure().is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_request_is_the_crates() {
    with_client(1 << 16, |client, mut broker| async move {
        let topic = kafka_protocol::messages::metadata_request::MetadataRequestTopic::default()
            .with_name(Some(TopicName(StrBytes::from_static_str("orders"))));
        let request = MetadataRequest::default().with_topics(Some(vec![topic]));
        let script = async {
            let mut received = broker.receive().await;
            assert_eq!(received.rest.split_to(8), &b"\0\x05tests\0"[..]);
            let decoded = MetadataRequest::decode(&mut received.rest, 12).expect("a request");
            assert_eq!((decoded, received.rest.len()), (request.clone(), 0));
            broker.answer(received.correlation_id, &metadata(1)).await;
        };
        let (answer, ()) = tokio::join!(client.call(&request, LIMIT), script);
        answer.expect("metadata");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_another_request_poisons_the_connection() {
    with_client(1 << 16, |client, mut broker| async move {
        let request = MetadataRequest::default();
        let script = async {
            broker.receive().await;
            broker.receive().await;
            broker.answer(2, &metadata(1)).await;
            broker.closed().await;
        };
        let (first, second, ()) = tokio::join!(
            client.call(&request, LIMIT),
            client.call(&request, LIMIT),
            script
        );
        for error in [first, second] {
            let error = error.expect_err("poisoned");
            assert!(
                matches!(
                    error,
                    WireError::Correlation {
                        expected: Some(1),
                        got: 2,
                        ..
                    }
                ),
                "{error}"
            );
        }
        let later = client.call(&request, LIMIT).await.expect_err("dead");
        assert!(matches!(later, WireError::Correlation { .. }), "{later}");
        assert!(matches!(
            client.failure(),
            Some(WireError::Correlation { .. })
        ));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_asked_for_poisons_the_connection() {
    with_client(1 << 16, |client, mut broker| async move {
        broker.answer(7, &metadata(1)).await;
        let error = client.failed().await;
        assert!(
            matches!(
                error,
                WireError::Correlation {
                    expected: None,
                    got: 7,
                    ..
                }
            ),
            "{error}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f017_a_hostile_answer_ends_the_connection_and_nothing_else() {
    with_client(1 << 16, |client, mut broker| async move {
        let request = MetadataRequest::default();
        let script = async {
            broker.receive().await;
            broker.receive().await;
            // tags, throttle time, 2^32 - 2 brokers
            broker
                .answer(1, &[0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f])
                .await;
            broker.closed().await;
        };
        let (first, second, ()) = tokio::join!(
            client.call(&request, LIMIT),
            client.call(&request, LIMIT),
            script
        );
        for error in [first, second] {
            let error = error.expect_err("malformed");
            assert!(
                error
                    .to_string()
                    .contains("MetadataResponse v12, byte 4, brokers: claims 4294967294"),
                "{error}"
            );
            assert!(!error.is_retriable());
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_not_utf8_is_an_error_that_names_the_call() {
    with_client(1 << 16, |client, mut broker| async move {
        let request = MetadataRequest::default();
        let script = async {
            broker.receive().await;
            let mut body = metadata(1);
            // tags, throttle time, count, node id; then the host, which was empty
            body[10] = 2;
            body.insert(11, 0xff);
            broker.answer(1, &body).await;
        };
        let (answer, ()) = tokio::join!(client.call(&request, LIMIT), script);
        let error = answer.expect_err("undecodable");
        assert!(
            error
                .to_string()
                .contains("an answer to Metadata v12 that cannot be decoded"),
            "{error}"
        );
        assert!(client.failure().is_some());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f038_a_peer_that_vanishes_ends_all_calls_at_the_first_deadline() {
    with_client(1 << 16, |client, mut broker| async move {
        let started = Instant::now();
        let (metadata_request, list_offsets) =
            (MetadataRequest::default(), ListOffsetsRequest::default());
        let long = client.call(&metadata_request, LIMIT);
        let short = client.call(&list_offsets, Duration::from_secs(5));
        let (long, short) = tokio::join!(long, short);
        assert_eq!(started.elapsed(), Duration::from_secs(5));
        for error in [long.err(), short.err()] {
            let error = error.expect("too late");
            assert_eq!(
                error.to_string(),
                "broker 1 at b1:9092 did not complete ListOffsets within 5000 ms; \
                 it is overloaded, frozen or out of reach (request.timeout.ms)"
            );
            assert!(error.is_retriable());
        }
        broker.receive().await;
        broker.receive().await;
        broker.closed().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f038_a_write_that_stalls_counts_against_the_deadline() {
    // room for the connection setup and for no more
    with_client(256, |client, broker| async move {
        let topics = (0..1000).map(|index| {
            kafka_protocol::messages::metadata_request::MetadataRequestTopic::default().with_name(
                Some(TopicName(StrBytes::from_string(format!("topic-{index}")))),
            )
        });
        let request = MetadataRequest::default().with_topics(Some(topics.collect()));
        let started = Instant::now();
        let error = client.call(&request, LIMIT).await.expect_err("stalled");
        assert!(
            matches!(
                error,
                WireError::Timeout {
                    what: "Metadata",
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(started.elapsed(), LIMIT);
        drop(broker);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn f059_calls_dropped_at_any_byte_leave_whole_frames() {
    with_client(8, |client, mut broker| async move {
        let request = MetadataRequest::default();
        let calls = async {
            for _ in 0..20 {
                tokio::select! {
                    biased;
                    _ = client.call(&request, LIMIT) => panic!("nobody answers these"),
                    () = std::future::ready(()) => {}
                }
            }
            client.call(&request, LIMIT).await
        };
        let script = async {
            for correlation_id in 1..=21 {
                let request = broker.receive().await;
                assert_eq!(
                    (request.api_key, request.correlation_id),
                    (METADATA, correlation_id)
                );
                broker
                    .answer(correlation_id, &metadata(correlation_id))
                    .await;
            }
        };
        let (last, ()) = tokio::join!(calls, script);
        assert_eq!(node_of(&last.expect("the answer to the last call")), 21);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn b195_a_connection_closed_while_idle_is_found_dead() {
    with_client(1 << 16, |client, broker| async move {
        drop(broker);
        assert!(matches!(client.failed().await, WireError::Closed { .. }));
        let error = client.call(&MetadataRequest::default(), LIMIT).await;
        assert!(matches!(error, Err(WireError::Closed { .. })));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn b195_an_answer_cut_off_says_what_is_missing() {
    with_client(1 << 16, |client, mut broker| async move {
        let request = MetadataRequest::default();
        let script = async {
            broker.receive().await;
            broker.write(&[0, 0, 0, 100, 0, 0, 0, 1, 0]).await;
            drop(broker);
        };
        let (answer, ()) = tokio::join!(client.call(&request, LIMIT), script);
        let error = answer.expect_err("cut off");
        assert!(
            error.to_string().contains("95 of 100 bytes are missing"),
            "{error}"
        );
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_leaves_the_connection_as_it_was() {
    with_client(1 << 16, |client, mut broker| async move {
        // no table for its answer
        let error = client.call(&CreateTopicsRequest::default(), LIMIT).await;
        assert!(matches!(error, Err(WireError::Unguarded { .. })));
        // a field that v0 does not have
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("name"));
        let error = client
            .call_version(5, &request, LIMIT)
            .await
            .expect_err("no such version");
        assert!(
            error
                .to_string()
                .contains("ApiVersions v5 cannot carry the request"),
            "{error}"
        );

        let request = MetadataRequest::default();
        let script = async {
            let received = broker.receive().await;
            broker.answer(received.correlation_id, &metadata(1)).await;
        };
        let (answer, ()) = tokio::join!(client.call(&request, LIMIT), script);
        answer.expect("unharmed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_connection_closes_with_the_last_client() {
    with_client(1 << 16, |client, mut broker| async move {
        let other = client.clone();
        drop(client);
        let request = MetadataRequest::default();
        let script = async {
            broker.receive().await;
            broker.answer(1, &metadata(1)).await;
        };
        let (answer, ()) = tokio::join!(other.call(&request, LIMIT), script);
        answer.expect("still open");
        drop(other);
        broker.closed().await;
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_shuts_down_is_told_as_such() {
    let (pipe, mut broker) = ScriptedBroker::new(1 << 16);
    let tasks = LocalSet::new();
    let connecting = ControlClient::connect(&pipe, peer(), "tests", MAX_RESPONSE_BYTES, LIMIT);
    let agreed =
        tasks.run_until(async { tokio::join!(connecting, broker.agree(&[(METADATA, 0, 12)])) });
    let client = agreed.await.0.expect("a connection");
    drop(tasks);
    let error = client
        .call(&MetadataRequest::default(), LIMIT)
        .await
        .expect_err("shut down");
    assert_eq!(
        error.to_string(),
        "the connection to broker 1 at b1:9092 was shut down"
    );
    assert!(matches!(client.failed().await, WireError::ShutDown { .. }));
    assert!(client.failure().is_some());
}
