use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

#[test]
fn a_read_waits_for_no_more_than_will_come() {
    for (room, expected) in [
        (0, 1),
        (1, 1),
        (READ_AHEAD, 1),
        (READ_AHEAD + 1, READ_AHEAD + 1),
        (MOST, MOST),
        (usize::MAX, MOST),
    ] {
        assert_eq!(mark(room), expected, "{room}");
    }
}

sockopt_impl!(
    /// The most that a sender may have on its way, whatever the buffer has room for.
    WindowClamp,
    GetOnly,
    libc::IPPROTO_TCP,
    libc::TCP_WINDOW_CLAMP,
    i32
);

/// Else a sender that waits for room for a whole segment would meet a reader that waits for that segment.
#[tokio::test]
async fn no_more_is_waited_for_than_half_of_what_may_be_on_its_way() {
    for receive_buffer in [None, Some(65_536)] {
        let (mut reader, _writer) = pair().await;
        let socket = SockRef::from(&reader.stream);
        if let Some(bytes) = receive_buffer {
            socket.set_recv_buffer_size(bytes).expect("an option");
        }
        for room in [READ_AHEAD + 1, MOST, 100] {
            let mut room = vec![0; room];
            let mut buf = ReadBuf::new(&mut room);
            let mut context = Context::from_waker(Waker::noop());
            let polled = Pin::new(&mut reader).poll_read(&mut context, &mut buf);
            assert!(polled.is_pending());
            let mark = LowWaterMark.get(&reader.stream).expect("an option") as usize;
            let window = WindowClamp.get(&reader.stream).expect("an option") as usize;
            let buffer = SockRef::from(&reader.stream).recv_buffer_size();
            // half of a buffer is for what the kernel needs beside the data
            let fits = buffer.expect("an option") / 2;
            assert!(
                mark == 1 || 2 * mark <= window.min(fits),
                "{mark}: {window}, {fits}"
            );
        }
    }
}

async fn pair() -> (LowWater, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (other, _) = listener.accept().await.expect("a connection");
    (LowWater::new(stream), other)
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Waits until the kernel has so many bytes for the reader.
async fn has_come(reader: &LowWater, bytes: usize) {
    let mut room = vec![MaybeUninit::uninit(); bytes];
    let socket = SockRef::from(&reader.stream);
    while socket.peek(&mut room).ok() != Some(bytes) {
        tokio::task::yield_now().await;
    }
}

/// Sees to it that all events until now were told.
async fn events_are_told() {
    let (mut reader, mut writer) = pair().await;
    writer.write_all(b"x").await.expect("written");
    reader.read_u8().await.expect("read");
}

#[tokio::test]
async fn the_reader_of_a_large_body_is_not_woken_for_each_piece() {
    const PIECE: usize = 20_000;
    let (mut reader, mut writer) = pair().await;
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let waker = Waker::from(Arc::clone(&count));
    let mut room = vec![0; MOST];
    let mut buf = ReadBuf::new(&mut room);
    let polled = Pin::new(&mut reader).poll_read(&mut Context::from_waker(&waker), &mut buf);
    assert!(polled.is_pending());

    let mut written = 0;
    while written + PIECE < MOST / 2 {
        writer.write_all(&[7; PIECE]).await.expect("written");
        written += PIECE;
        has_come(&reader, written).await;
        events_are_told().await;
        assert_eq!(count.0.load(Ordering::SeqCst), 0, "at {written}");
    }
    // the end wakes it, whatever is there
    drop(writer);
    while count.0.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    let polled = Pin::new(&mut reader).poll_read(&mut Context::from_waker(&waker), &mut buf);
    assert!(matches!(polled, Poll::Ready(Ok(()))));
    assert_eq!(buf.filled().len(), written);
}

/// Every size of body between two heads, over a socket whose buffer is smaller than what is waited for.
#[tokio::test]
async fn bodies_of_all_sizes_come_whole() {
    for receive_buffer in [None, Some(65_536)] {
        let (mut reader, mut writer) = pair().await;
        if let Some(bytes) = receive_buffer {
            let socket = SockRef::from(&reader.stream);
            socket.set_recv_buffer_size(bytes).expect("an option");
        }
        let sizes = [
            1,
            READ_AHEAD,
            READ_AHEAD + 1,
            100_000,
            MOST - 1,
            MOST,
            MOST + 1,
            3 * MOST + 17,
            5,
        ];
        let writing = async move {
            for size in sizes {
                writer.write_u32(size as u32).await.expect("written");
                for piece in vec![size as u8; size].chunks(10_007) {
                    writer.write_all(piece).await.expect("written");
                }
            }
            writer
        };
        let reading = async move {
            for size in sizes {
                let length = reader.read_u32().await.expect("a length");
                assert_eq!(length as usize, size);
                let mut body = vec![0; size];
                reader.read_exact(&mut body).await.expect("a body");
                assert!(body.iter().all(|byte| *byte == size as u8));
            }
        };
        tokio::join!(writing, reading);
    }
}
