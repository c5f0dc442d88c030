//! Whatever a client sends, the broker lives and others are served.

use bytes::{BufMut, BytesMut};
use kafka_protocol::messages::MetadataRequest;
use test_broker::TestBroker;

use crate::client::{Client, client, frame};

fn broker() -> TestBroker {
    let broker = TestBroker::builder().topic("t", 1).start_in_memory();
    broker.expect("started")
}

async fn is_well(broker: &TestBroker) {
    let all = MetadataRequest::default().with_topics(None);
    assert_eq!(client(broker, 1).call(&all, 9).await.topics.len(), 1);
}

async fn is_closed<S>(mut client: Client<S>)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    assert_eq!(client.receive_to_end().await, []);
}

/// A frame of an API and version with this body behind the header.
fn request(api: i16, version: i16, flexible: bool, body: &[u8]) -> BytesMut {
    let mut frame = BytesMut::new();
    frame.put_i32(10 + i32::from(flexible) + body.len() as i32);
    frame.put_i16(api);
    frame.put_i16(version);
    frame.put_i32(1);
    frame.put_i16(-1);
    if flexible {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    frame
}

#[tokio::test]
async fn f017_frame_lengths_that_cannot_be_are_refused() {
    let broker = broker();
    for length in [i32::MAX, -1, i32::MIN, (100 << 20) + 1] {
        let mut client = client(&broker, 1);
        client.send_raw(&length.to_be_bytes()).await;
        is_closed(client).await;
    }
    let mut http = client(&broker, 1);
    http.send_raw(b"GET / HTTP/1.1\r\n\r\n").await;
    is_closed(http).await;
    is_well(&broker).await;
}

#[tokio::test]
async fn the_limit_of_a_frame_can_be_set() {
    let broker = TestBroker::builder().topic("t", 1).max_request_bytes(100);
    let broker = broker.start_in_memory().expect("started");
    let mut large = client(&broker, 1);
    large.send_raw(&101_i32.to_be_bytes()).await;
    is_closed(large).await;
    is_well(&broker).await;
}

#[tokio::test]
async fn f017_declared_counts_are_not_believed() {
    let broker = broker();
    let count = i32::MAX.to_be_bytes();
    let compact = [0xff, 0xff, 0xff, 0xff, 0x0f];
    // Produce v8 and v9: transactional id, acks, timeout, topics
    let produce = [&[0xff, 0xff, 0, 1, 0, 0, 0, 1][..], &count].concat();
    let produce_compact = [&[0, 0, 1, 0, 0, 0, 1][..], &compact].concat();
    // Fetch v4 and v12: replica, wait, min, max, isolation, (session, epoch,) topics
    let fetch = [&[0; 17][..], &count].concat();
    let fetch_compact = [&[0; 25][..], &compact].concat();
    for frame in [
        request(3, 0, false, &count),
        request(3, 12, true, &compact),
        request(0, 8, false, &produce),
        request(0, 9, true, &produce_compact),
        request(1, 4, false, &fetch),
        request(1, 12, true, &fetch_compact),
        request(2, 1, false, &[&[0; 4][..], &count].concat()),
        request(19, 2, false, &count),
        request(20, 1, false, &count),
        request(23, 3, false, &[&[0; 4][..], &count].concat()),
    ] {
        let mut client = client(&broker, 1);
        client.send_raw(&frame).await;
        is_closed(client).await;
    }
    is_well(&broker).await;
}

#[tokio::test]
async fn what_is_not_served_closes_the_connection() {
    let broker = broker();
    // EndTxn, ShareGroupHeartbeat, an unknown key, negative ones, versions that do not exist
    for (api, version) in [
        (26, 2),
        (76, 1),
        (999, 0),
        (-1, 0),
        (1, 3),
        (1, 19),
        (0, 2),
        (3, -1),
    ] {
        let mut client = client(&broker, 1);
        client
            .send_raw(&request(api, version, false, &[0; 20]))
            .await;
        is_closed(client).await;
    }
    for short in [
        &[0, 0, 0, 0][..],
        &[0, 0, 0, 3, 0, 3, 0],
        &[0, 0, 0, 8, 0, 3, 0, 1, 0, 0, 0, 0],
    ] {
        let mut client = client(&broker, 1);
        client.send_raw(short).await;
        is_closed(client).await;
    }
    is_well(&broker).await;
}

#[tokio::test]
async fn random_bytes_do_not_take_it_down() {
    let broker = broker();
    let mut rng = fastrand::Rng::with_seed(3);
    for _ in 0..500 {
        let api = rng.choice([0, 1, 2, 3, 18, 19, 20, 22, 23]).expect("one");
        let body: Vec<u8> = (0..rng.usize(..64))
            .map(|_| rng.choice([0, 1, 2, 0xff, 0x7f]).expect("one"))
            .collect();
        let frame = request(api, rng.i16(0..19), rng.bool(), &body);
        let (mut reader, mut writer) = tokio::io::split(broker.connect(1).expect("up"));
        tokio::io::AsyncWriteExt::write_all(&mut writer, &frame)
            .await
            .expect("written");
        tokio::io::AsyncWriteExt::shutdown(&mut writer)
            .await
            .expect("closed");
        let mut answer = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut answer)
            .await
            .expect("an end");
    }
    is_well(&broker).await;
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_is_forgotten() {
    let broker = broker();
    let whole = frame(&MetadataRequest::default(), 9, 1);
    for cut in 0..whole.len() {
        let mut client = client(&broker, 1);
        client.send_raw(&whole[..cut]).await;
    }
    is_well(&broker).await;
    while broker.counters().connections_open > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f042_an_idle_connection_is_cut() {
    let idle = std::time::Duration::from_secs(600);
    let broker = broker();
    let mut silent = client(&broker, 1);
    let start = tokio::time::Instant::now();
    assert_eq!(silent.receive_to_end().await, []);
    assert_eq!(start.elapsed(), idle, "connections.max.idle.ms of Kafka");
    assert_eq!(broker.counters().connections_open, 0);
}
