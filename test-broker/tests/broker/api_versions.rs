use kafka_protocol::ResponseError;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, MetadataRequest, ResponseHeader,
};
use kafka_protocol::protocol::Decodable;
use test_broker::{ApiKey, Builder, TestBroker};

use crate::client::{client, frame, text};

fn request(version: i16) -> ApiVersionsRequest {
    match version {
        0..=2 => ApiVersionsRequest::default(),
        _ => ApiVersionsRequest::default()
            .with_client_software_name(text("a-client"))
            .with_client_software_version(text("1.0")),
    }
}

fn offered(response: &ApiVersionsResponse) -> Vec<(i16, i16, i16)> {
    let keys = response.api_keys.iter();
    keys.map(|v| (v.api_key, v.min_version, v.max_version))
        .collect()
}

async fn ask(builder: Builder, version: i16) -> ApiVersionsResponse {
    let broker = builder.start_in_memory().expect("started");
    client(&broker, 1).call(&request(version), version).await
}

/// As Apache Kafka 4.4.0 answers, where the protocol crate knows the version; without what this broker does not do.
const OFFERED: [(i16, i16, i16); 20] = [
    (0, 0, 13),
    (1, 4, 18),
    (2, 1, 10),
    (3, 0, 13),
    (8, 2, 9),
    (9, 1, 9),
    (10, 0, 6),
    (11, 0, 9),
    (12, 0, 4),
    (13, 0, 5),
    (14, 0, 5),
    (15, 0, 6),
    (16, 0, 5),
    (18, 0, 4),
    (19, 2, 7),
    (20, 1, 6),
    (22, 0, 5),
    (23, 2, 4),
    (68, 0, 1),
    (69, 0, 1),
];

#[tokio::test]
async fn every_version_tells_the_same() {
    for version in 0..=4 {
        let response = ask(TestBroker::builder(), version).await;
        assert_eq!(
            (response.error_code, offered(&response)),
            (0, OFFERED.to_vec())
        );
    }
}

/// KIP-511: in the layout of version 0, with the versions that would have been right.
#[tokio::test]
async fn f044_an_unknown_version_is_answered_in_the_layout_of_version_0() {
    let broker = TestBroker::builder().api_versions(ApiKey::ApiVersions, 0..=2);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    for version in [3, 4] {
        client
            .send_raw(&frame(&request(version), version, 77))
            .await;
        let mut body = client.receive_frame().await.expect("an answer");
        let header = ResponseHeader::decode(&mut body, 0).expect("a header");
        assert_eq!(header.correlation_id, 77);
        let response = ApiVersionsResponse::decode(&mut body, 0).expect("version 0");
        assert_eq!(
            response.error_code,
            ResponseError::UnsupportedVersion.code()
        );
        assert_eq!((offered(&response), body.len()), (vec![(18, 0, 2)], 0));
    }
    // the connection is still good
    let response = client.call(&request(2), 2).await;
    assert_eq!(response.error_code, 0);
    let asked: Vec<_> = broker.requests().iter().map(|r| r.api_version).collect();
    assert_eq!(asked, [3, 4, 2]);
}

#[tokio::test]
async fn a_version_that_nobody_knows_is_answered_too() {
    let broker = TestBroker::builder().start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    // version 99: what follows the correlation id cannot be understood and need not be
    client
        .send_raw(&[0, 0, 0, 9, 0, 18, 0, 99, 0, 0, 0, 5, 0xff])
        .await;
    let mut body = client.receive_frame().await.expect("an answer");
    assert_eq!(
        ResponseHeader::decode(&mut body, 0)
            .expect("a header")
            .correlation_id,
        5
    );
    let response = ApiVersionsResponse::decode(&mut body, 0).expect("version 0");
    assert_eq!(offered(&response), [(18, 0, 4)]);
}

#[tokio::test]
async fn f044_versions_can_be_capped_and_apis_left_out() {
    let old = TestBroker::builder()
        .api_versions(ApiKey::Fetch, 4..=11)
        .api_versions(ApiKey::Produce, 5..=8)
        .without_api(ApiKey::InitProducerId)
        .api_versions(ApiKey::DeleteTopics, 40..=50);
    let response = ask(old.clone(), 3).await;
    let told = offered(&response);
    assert_eq!(told[..2], [(0, 5, 8), (1, 4, 11)]);
    assert_eq!(told.len(), OFFERED.len() - 2);
    assert!(told.iter().all(|(key, _, _)| ![20, 22].contains(key)));

    // what is not offered closes the connection
    let broker = old.api_versions(ApiKey::Metadata, 0..=7);
    let broker = broker.start_in_memory().expect("started");
    let mut client = client(&broker, 1);
    client.send(&MetadataRequest::default(), 8).await;
    assert!(client.receive::<MetadataRequest>(8).await.is_err());
}

#[tokio::test]
async fn a_client_that_calls_itself_something_odd_is_refused() {
    for (name, error) in [
        ("good-name.1", 0),
        ("-bad", 42),
        ("bad.", 42),
        ("b d", 42),
        ("", 42),
    ] {
        let broker = TestBroker::builder().start_in_memory().expect("started");
        let request = request(3).with_client_software_name(text(name));
        let response = client(&broker, 1).call(&request, 3).await;
        assert_eq!(response.error_code, error, "{name:?}");
    }
}
