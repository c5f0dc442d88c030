use super::{FrameReader, FrameWriter, READ_AHEAD};
use crate::wire::error::WireError;
use crate::wire::peer::{Address, Peer};
use bytes::BufMut;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, duplex};

fn peer() -> Peer {
    Peer {
        node: Some(1),
        address: Address::new("b1", 9092),
    }
}

fn frame(body: &[u8]) -> Vec<u8> {
    let len = i32::try_from(body.len()).expect("a length");
    [&len.to_be_bytes()[..], body].concat()
}

fn reader<R: AsyncRead + Unpin>(io: R) -> FrameReader<R> {
    FrameReader::new(io, peer(), 1 << 20)
}

async fn body<R: AsyncRead + Unpin>(reader: &mut FrameReader<R>) -> Result<Vec<u8>, WireError> {
    let len = reader.read_len().await?;
    let mut body = Vec::with_capacity(len);
    reader.read_body_into(&mut body).await?;
    assert_eq!(body.len(), len);
    Ok(body)
}

/// Counts the reads of a stream, each of which would be a system call.
struct Counted<R> {
    io: R,
    reads: usize,
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reads += 1;
        Pin::new(&mut self.io).poll_read(context, buf)
    }
}

#[tokio::test]
async fn frames_come_out_as_they_went_in() {
    let large: Vec<u8> = (0..3 * READ_AHEAD).map(|at| at.to_le_bytes()[0]).collect();
    let bodies = [
        b"0123".to_vec(),
        large,
        vec![7; READ_AHEAD - 4],
        b"last".to_vec(),
    ];
    let stream: Vec<u8> = bodies.iter().flat_map(|body| frame(body)).collect();
    let mut reader = reader(&stream[..]);
    for expected in bodies {
        assert_eq!(body(&mut reader).await.expect("a frame"), expected);
    }
    let end = reader.read_len().await.expect_err("the end");
    assert_eq!(end.to_string(), "broker 1 at b1:9092 closed the connection");
}

#[tokio::test]
async fn a_frame_may_arrive_in_two_parts_cut_anywhere() {
    let stream = [frame(b"first"), frame(b"second"), frame(b"third")].concat();
    for cut in 0..stream.len() {
        let mut reader = reader((&stream[..cut]).chain(&stream[cut..]));
        for expected in ["first", "second", "third"] {
            let body = body(&mut reader).await.expect("a frame");
            assert_eq!(body, expected.as_bytes(), "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn a_small_frame_costs_one_read_and_a_large_one_no_detour() {
    let stream = [frame(&[1; 300]), frame(&vec![2; 10 * READ_AHEAD])].concat();
    let (small, large) = stream.split_at(304);
    let mut reader = reader(Counted {
        io: small.chain(large),
        reads: 0,
    });
    body(&mut reader).await.expect("the small one");
    assert_eq!(reader.io.reads, 1);
    body(&mut reader).await.expect("the large one");
    // the end of the first slice, its head and what came ahead with that, the rest
    assert!(reader.io.reads <= 4, "{} reads", reader.io.reads);
}

#[tokio::test]
async fn a_frame_survives_that_every_one_of_its_futures_is_dropped() {
    let (mut broker, client) = duplex(1 << 20);
    let mut reader = reader(client);
    let bodies = [vec![1; 70], vec![2; 40_000]];
    for expected in &bodies {
        let mut got = Vec::new();
        let mut complete = false;
        for byte in frame(expected) {
            broker.write_all(&[byte]).await.expect("room");
            // polled once, then dropped
            tokio::select! {
                biased;
                read = async { reader.read_len().await?; reader.read_body_into(&mut got).await } => {
                    read.expect("no error");
                    complete = true;
                }
                () = std::future::ready(()) => {}
            }
        }
        assert!(complete);
        assert_eq!(&got, expected);
    }
}

#[tokio::test]
async fn the_length_waits_until_there_is_memory_for_the_body() {
    let stream = [frame(b"first"), frame(b"second")].concat();
    let mut reader = reader(&stream[..]);
    assert_eq!(reader.read_len().await.expect("a length"), 5);
    assert_eq!(reader.read_len().await.expect("the same length"), 5);
    reader.discard_body().await.expect("nothing to stop it");
    assert_eq!(body(&mut reader).await.expect("the next"), b"second");
}

#[tokio::test]
async fn a_large_body_can_be_thrown_away() {
    let stream = [frame(&vec![1; 5 * READ_AHEAD + 3]), frame(b"next")].concat();
    let mut reader = reader(&stream[..]);
    reader.read_len().await.expect("a length");
    reader.discard_body().await.expect("nothing to stop it");
    assert_eq!(body(&mut reader).await.expect("the next"), b"next");
}

#[tokio::test]
async fn a_stream_that_ends_inside_a_frame_says_what_is_missing() {
    let whole = frame(b"0123456789");
    for (cut, missing, of) in [(2, 2, 4), (4, 10, 10), (7, 7, 10)] {
        let mut reader = reader(&whole[..cut]);
        let error = body(&mut reader).await.expect_err("cut off");
        assert!(
            matches!(error, WireError::Truncated { missing: m, of: o, .. } if (m, o) == (missing, of)),
            "{error}"
        );
        assert!(error.is_retriable());
    }
}

#[tokio::test]
async fn a_body_goes_into_memory_of_fixed_size_or_not_at_all() {
    let stream = frame(b"0123456789");
    let mut memory = [0; 10];
    let mut reader = reader(&stream[..]);
    reader.read_len().await.expect("a length");
    let mut short = &mut memory[..9];
    let error = reader
        .read_body_into(&mut short)
        .await
        .expect_err("too short");
    assert!(
        error.to_string().contains("no room for a body of 10 bytes"),
        "{error}"
    );
    let mut fits = &mut memory[..];
    reader.read_body_into(&mut fits).await.expect("it fits");
    assert_eq!(&memory, b"0123456789");
}

#[tokio::test]
async fn b193_other_servers_are_told_by_their_first_bytes() {
    for (first, words) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "is an HTTP server",
        ),
        (&[0x15, 3, 1, 0, 2, 2, 70], "speaks TLS on this port"),
        (&[0x16, 3, 3, 0, 0x7a, 2, 0], "speaks TLS on this port"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "(\"SSH-\")"),
    ] {
        let error = reader(first).read_len().await.expect_err("no broker");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains("broker 1 at b1:9092"), "{error}");
        assert!(!error.is_retriable());
    }
}

#[tokio::test]
async fn a_later_frame_may_be_as_long_as_tls_bytes_say() {
    let stream = [frame(b"0123"), vec![0x16, 3, 3, 0]].concat();
    let mut reader = FrameReader::new(&stream[..], peer(), i32::MAX as usize);
    body(&mut reader).await.expect("a frame");
    assert_eq!(reader.read_len().await.expect("a length"), 0x1603_0300);
}

#[tokio::test]
async fn f017_a_length_above_the_limit_is_refused() {
    let stream = [0, 0x10, 0, 1];
    let error = reader(&stream[..]).read_len().await.expect_err("too long");
    assert!(error.to_string().contains("1048577 bytes"), "{error}");
    assert!(error.to_string().contains("4 to 1048576"), "{error}");
}

#[tokio::test]
async fn f059_dropped_writes_leave_whole_frames() {
    for step in 1..=20 {
        let (client, mut broker) = duplex(step);
        let mut writer = FrameWriter::new(client, peer());
        let bodies: Vec<Vec<u8>> = (10..40).map(|len| vec![len; usize::from(len)]).collect();
        let received = async {
            let mut received = Vec::new();
            broker.read_to_end(&mut received).await.expect("a stream");
            received
        };
        let sent = async {
            for body in &bodies {
                writer.queue().put_slice(&frame(body));
                // as a caller does that gives up as soon as it has to wait
                tokio::select! {
                    biased;
                    flushed = writer.flush() => flushed.expect("no error"),
                    () = std::future::ready(()) => {}
                }
                tokio::task::yield_now().await;
            }
            while !writer.is_flushed() {
                writer.flush().await.expect("no error");
            }
            drop(writer);
        };
        let (received, ()) = tokio::join!(received, sent);
        let mut reader = reader(&received[..]);
        for expected in &bodies {
            assert_eq!(&body(&mut reader).await.expect("a whole frame"), expected);
        }
        assert!(matches!(
            reader.read_len().await,
            Err(WireError::Closed { .. })
        ));
    }
}

#[tokio::test]
async fn writing_to_a_peer_that_went_away_is_an_error() {
    let (client, broker) = duplex(16);
    drop(broker);
    let mut writer = FrameWriter::new(client, peer());
    writer.queue().put_slice(b"anything");
    let error = writer.flush().await.expect_err("nobody there");
    assert!(
        error
            .to_string()
            .starts_with("connection to broker 1 at b1:9092 lost while writing"),
        "{error}"
    );
}
