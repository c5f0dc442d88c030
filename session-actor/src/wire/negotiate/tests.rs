use super::ApiVersionsMap;
use crate::wire::connection::Connection;
use crate::wire::error::WireError;
use crate::wire::error_code::ErrorCode;
use crate::wire::scripted_broker::{ScriptedBroker, peer};
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, FetchRequest, JoinGroupRequest};
use kafka_protocol::protocol::{Decodable, Message, VersionRange};
use std::time::Duration;

/// What becomes of a connection whose broker does as `script` says.
async fn negotiated<F: Future<Output = ScriptedBroker>>(
    script: impl FnOnce(ScriptedBroker) -> F,
) -> Result<ApiVersionsMap, WireError> {
    let (pipe, broker) = ScriptedBroker::new(1 << 16);
    let limit = Duration::from_secs(30);
    let opened = Connection::open(&pipe, peer(), "tests", 1 << 20, limit);
    let (opened, _broker) = tokio::join!(opened, script(broker));
    opened.map(|connection| connection.versions)
}

fn range(min: i16, max: i16) -> VersionRange {
    VersionRange { min, max }
}

/// UNSUPPORTED_VERSION in the layout of v0, with a list of ApiVersions alone.
fn unsupported(min: i16, max: i16) -> Vec<u8> {
    let words = [35, 0, 1, 18, min, max];
    words
        .iter()
        .flat_map(|word: &i16| word.to_be_bytes())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_newest_version_is_asked_with_and_says_who_we_are() {
    let versions = negotiated(|mut broker| async move {
        let mut request = broker.agree(&[(1, 4, 17), (11, 2, 9)]).await;
        assert_eq!((request.version, request.correlation_id), (4, 0));
        // client id, tagged fields of the header
        assert_eq!(request.rest.split_to(8), &b"\0\x05tests\0"[..]);
        let decoded = ApiVersionsRequest::decode(&mut request.rest, 4).expect("a request");
        assert_eq!(&*decoded.client_software_name, "consumer-app");
        assert_eq!(&*decoded.client_software_version, env!("CARGO_PKG_VERSION"));
        broker
    });
    let versions = versions.await.expect("agreement");
    assert_eq!(versions.range(ApiKey::Fetch), Some(range(4, 17)));
    assert_eq!(versions.range(ApiKey::Produce), None);
}

#[tokio::test(start_paused = true)]
async fn f044_a_broker_with_fetch_4_to_17_and_join_group_2_to_9_only() {
    let versions = negotiated(|mut broker| async move {
        broker.agree(&[(1, 4, 17), (11, 2, 9)]).await;
        broker
    });
    let versions = versions.await.expect("agreement");
    assert_eq!(
        versions
            .choose(ApiKey::Fetch, FetchRequest::VERSIONS)
            .expect("common"),
        17
    );
    assert_eq!(
        versions
            .choose(ApiKey::Fetch, range(4, 11))
            .expect("common"),
        11
    );
    assert_eq!(
        versions
            .choose(ApiKey::JoinGroup, JoinGroupRequest::VERSIONS)
            .expect("common"),
        9
    );
    let too_old = versions
        .choose(ApiKey::Fetch, range(0, 3))
        .expect_err("none");
    assert_eq!(
        too_old.to_string(),
        "broker 1 at b1:9092 has Fetch 4..17, this client 0..3; upgrade the older side"
    );
    let missing = versions
        .choose(ApiKey::ListOffsets, range(1, 10))
        .expect_err("none");
    assert_eq!(
        missing.to_string(),
        "broker 1 at b1:9092 does not have ListOffsets, this client 1..10; upgrade it"
    );
    assert!(!missing.is_retriable());
}

#[tokio::test(start_paused = true)]
async fn f044_an_older_broker_lists_what_it_has() {
    let versions = negotiated(|mut broker| async move {
        let first = broker.receive().await;
        assert_eq!(first.version, 4);
        broker
            .answer(first.correlation_id, &unsupported(0, 3))
            .await;
        let second = broker.agree(&[(3, 0, 12)]).await;
        assert_eq!((second.version, second.correlation_id), (3, 1));
        broker
    });
    let versions = versions.await.expect("agreement");
    assert_eq!(versions.range(ApiKey::Metadata), Some(range(0, 12)));
}

#[tokio::test(start_paused = true)]
async fn f044_a_very_old_broker_lists_nothing() {
    // an empty list, no list at all, a list that is cut off, one in the layout of v3
    for body in [
        &[0, 35, 0, 0, 0, 0][..],
        &[0, 35],
        &[0, 35, 0, 0, 0, 1, 0, 18],
        &[0, 35, 1, 0, 0, 0, 0, 0],
    ] {
        let versions = negotiated(|mut broker| async move {
            let first = broker.receive().await;
            broker.answer(first.correlation_id, body).await;
            let second = broker.agree(&[(1, 0, 5)]).await;
            assert_eq!(second.version, 0);
            broker
        });
        assert_eq!(
            versions.await.expect("agreement").range(ApiKey::Fetch),
            Some(range(0, 5))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn b192_a_broker_that_keeps_lowering_what_it_accepts_ends_it() {
    let error = negotiated(|mut broker| async move {
        for expected in [4, 3, 2, 1, 0] {
            let request = broker.receive().await;
            assert_eq!(request.version, expected);
            let body = unsupported(0, (expected - 1).max(0));
            broker.answer(request.correlation_id, &body).await;
        }
        broker
    });
    let error = error.await.expect_err("no agreement");
    assert_eq!(
        error.to_string(),
        "broker 1 at b1:9092 has ApiVersions 0..0, this client 0..4; upgrade the older side"
    );
}

#[tokio::test(start_paused = true)]
async fn b192_a_broker_that_refuses_what_it_lists_ends_it() {
    // versions too new for us, a list that contradicts itself, and always the same answer
    for (listed, asked) in [((5, 7), 1), ((3, 1), 1), ((0, 4), 5)] {
        let error = negotiated(|mut broker| async move {
            for _ in 0..asked {
                let request = broker.receive().await;
                broker
                    .answer(request.correlation_id, &unsupported(listed.0, listed.1))
                    .await;
            }
            broker
        });
        let error = error.await.expect_err("no agreement");
        assert!(
            matches!(
                error,
                WireError::UnsupportedVersion {
                    theirs: Some(_),
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn another_error_is_told_as_it_is() {
    let error = negotiated(|mut broker| async move {
        let request = broker.receive().await;
        broker
            .answer(request.correlation_id, &[0, 42, 1, 0, 0, 0, 0, 0])
            .await;
        broker
    });
    let error = error.await.expect_err("refused");
    assert!(matches!(
        error,
        WireError::Refused {
            code: ErrorCode::INVALID_REQUEST,
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "broker 1 at b1:9092 answered ApiVersions v4 with INVALID_REQUEST (42)"
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_something_else_is_none() {
    let error = negotiated(|mut broker| async move {
        let request = broker.receive().await;
        broker.answer(request.correlation_id + 1, &[0, 0]).await;
        broker
    });
    let error = error.await.expect_err("no answer");
    assert!(
        matches!(
            error,
            WireError::Correlation {
                expected: Some(0),
                got: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn f017_an_answer_that_claims_billions_is_malformed() {
    let error = negotiated(|mut broker| async move {
        let request = broker.receive().await;
        broker
            .answer(
                request.correlation_id,
                &[0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f],
            )
            .await;
        broker
    });
    let error = error.await.expect_err("malformed");
    assert_eq!(
        error.to_string(),
        "broker 1 at b1:9092 sent a malformed answer: ApiVersionsResponse v4, byte 2, api_keys: \
         claims 4294967294 entries of at least 7 bytes each, 0 bytes are left; the connection was closed"
    );
}

#[tokio::test(start_paused = true)]
async fn f077_whoever_closes_or_stays_silent_is_named() {
    let closed = negotiated(|mut broker| async move {
        broker.receive().await;
        ScriptedBroker::new(1).1
    });
    let error = closed.await.expect_err("closed");
    assert!(matches!(error, WireError::ClosedAtOnce { .. }));
    assert!(error.to_string().contains("security.protocol"), "{error}");

    let silent = negotiated(|mut broker| async move {
        broker.receive().await;
        broker
    });
    let error = silent.await.expect_err("too late");
    assert_eq!(
        error.to_string(),
        "broker 1 at b1:9092 did not complete ApiVersions within 30000 ms; \
         it is overloaded, frozen or out of reach (request.timeout.ms)"
    );

    let http = negotiated(|mut broker| async move {
        broker.write(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        broker
    });
    assert!(matches!(
        http.await.expect_err("no broker"),
        WireError::HttpServer { .. }
    ));

    let tls = negotiated(|mut broker| async move {
        broker.write(&[0x15, 3, 3, 0, 2, 2, 10]).await;
        broker
    });
    assert!(matches!(
        tls.await.expect_err("no broker"),
        WireError::TlsServer { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn f077_a_broker_that_nobody_reaches_is_named() {
    let (pipe, broker) = ScriptedBroker::new(16);
    let limit = Duration::from_secs(1);
    drop(Connection::open(&pipe, peer(), "tests", 1 << 20, limit).await);
    drop(broker);
    let error = Connection::open(&pipe, peer(), "tests", 1 << 20, limit).await;
    let error = error.err().expect("the pipe connects once");
    assert_eq!(
        error.to_string(),
        "cannot connect to broker 1 at b1:9092: connection refused"
    );
    assert!(error.is_retriable());
}
