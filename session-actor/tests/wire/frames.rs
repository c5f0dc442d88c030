//! Frame lengths that are none, and what they make us allocate.

use crate::allocations::allocated;
use session_actor::wire::frame::FrameReader;
use session_actor::wire::{Address, Peer, WireError};

/// Reads one frame of a stream that consists of `bytes`, with no limit but that of a length itself.
fn read(bytes: &[u8]) -> (Result<Vec<u8>, WireError>, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let peer = Peer {
        node: Some(3),
        address: Address::new("b3.example", 9092),
    };
    allocated(|| {
        runtime.block_on(async {
            let mut reader = FrameReader::new(bytes, peer, i32::MAX as usize);
            reader.read_len().await?;
            let mut body = Vec::new();
            reader.read_body_into(&mut body).await?;
            Ok(body)
        })
    })
}

#[test]
fn f017_frame_lengths_that_are_negative_absurd_or_too_short() {
    for (claimed, words) in [
        (
            0x7fff_ffff,
            "broker 3 at b3.example:9092 closed the connection inside a frame: 2147483643 of 2147483647 bytes are missing",
        ),
        (-1, "claims a frame of -1 bytes"),
        (0, "claims a frame of 0 bytes"),
        (3, "claims a frame of 3 bytes"),
        (0x4854_5450, "broker 3 at b3.example:9092 is an HTTP server"),
    ] {
        let mut bytes = i32::to_be_bytes(claimed).to_vec();
        bytes.extend_from_slice(b"/1.1");
        let (body, allocated) = read(&bytes);
        let error = body.expect_err("no frame").to_string();
        assert!(error.contains(words), "{error}");
        assert!(allocated < 1 << 20, "{allocated} bytes for {claimed:#x}");
    }
}
