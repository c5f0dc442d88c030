use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Memory for a request grows with what arrived, by at most this much ahead of it.
const READ_AHEAD: usize = 64 * 1024;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FrameError {
    #[error(
        "a request of {length} bytes is announced, the limit is {limit}{}",
        not_kafka(*length)
    )]
    Length { length: i32, limit: usize },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Other protocols announce themselves in the four bytes of the length.
fn not_kafka(length: i32) -> &'static str {
    match &length.to_be_bytes() {
        b"GET " | b"POST" | b"HEAD" | b"PUT " => "; this is an HTTP client",
        [0x16, 0x03, ..] => "; this is a TLS client, the listener speaks plaintext",
        _ => "",
    }
}

/// Reads one request. `None` when the client closed the connection between two requests.
///
/// The announced length is not trusted with an allocation.
pub(crate) async fn read_frame<R>(reader: &mut R, limit: usize) -> Result<Option<Bytes>, FrameError>
where
    R: AsyncRead + Unpin,
{
    let mut length = [0; 4];
    let mut have = 0;
    while have < length.len() {
        let rest = length.get_mut(have..).unwrap_or_default();
        match reader.read(rest).await? {
            0 if have == 0 => return Ok(None),
            0 => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            read => have += read,
        }
    }
    let length = i32::from_be_bytes(length);
    let size = match usize::try_from(length) {
        Ok(size) if size <= limit => size,
        _ => return Err(FrameError::Length { length, limit }),
    };
    let mut frame = BytesMut::new();
    while frame.len() < size {
        let missing = size - frame.len();
        frame.reserve(missing.min(frame.len().max(READ_AHEAD)));
        let read = (&mut *reader)
            .take(missing as u64)
            .read_buf(&mut frame)
            .await?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
    }
    Ok(Some(frame.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(input: &[u8], limit: usize) -> Result<Option<Bytes>, FrameError> {
        read_frame(&mut &*input, limit).await
    }

    #[tokio::test]
    async fn one_frame_is_read_and_no_byte_more() {
        let mut input: &[u8] = &[0, 0, 0, 2, 7, 8, 9];
        let frame = read_frame(&mut input, 10).await.expect("a frame");
        assert_eq!(frame.as_deref(), Some(&[7, 8][..]));
        assert_eq!(input, [9]);
    }

    #[tokio::test]
    async fn a_close_between_frames_is_the_end_and_one_within_is_an_error() {
        assert!(matches!(read(&[], 10).await, Ok(None)));
        for cut in [&[0, 0][..], &[0, 0, 0, 2], &[0, 0, 0, 2, 7]] {
            let error = read(cut, 10).await.expect_err("cut");
            assert!(matches!(error, FrameError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof));
        }
    }

    #[tokio::test]
    async fn f017_lengths_beyond_the_limit_are_refused_before_anything_is_allocated() {
        for length in [11, i32::MAX, -1, i32::MIN] {
            let error = read(&length.to_be_bytes(), 10).await.expect_err("refused");
            assert!(matches!(error, FrameError::Length { length: l, limit: 10 } if l == length));
        }
        let http = read(b"GET / HTTP/1.1", 100 << 20)
            .await
            .expect_err("refused");
        assert!(http.to_string().ends_with("this is an HTTP client"));
    }
}
