//! The smallest possible Kafka client: does a broker answer at all?

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The correlation id of the request, which the answer must carry.
const CORRELATION: [u8; 4] = 7_i32.to_be_bytes();

/// ApiVersions (key 18) version 0 from a client without a name: the length, then the request header v1, no body.
const API_VERSIONS: [u8; 14] = {
    let [a, b, c, d] = CORRELATION;
    [0, 0, 0, 10, 0, 18, 0, 0, a, b, c, d, 0xff, 0xff]
};

/// Connects and sends ApiVersions. The answer is not waited for: see [`read_answer`].
pub(crate) fn ask(address: SocketAddr, limit: Duration) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_write_timeout(Some(limit))?;
    stream.write_all(&API_VERSIONS)?;
    Ok(stream)
}

/// Waits for the answer to ApiVersions.
pub(crate) fn read_answer(stream: &mut TcpStream, limit: Duration) -> io::Result<()> {
    stream.set_read_timeout(Some(limit))?;
    let mut start = [0; 10];
    stream.read_exact(&mut start)?;
    let [_, _, _, _, correlation @ .., e0, e1] = start;
    let error = i16::from_be_bytes([e0, e1]);
    if correlation == CORRELATION && error == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidData,
        format!("not an answer to ApiVersions: correlation id {correlation:?}, error code {error}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn only_a_broker_is_taken_for_one() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let limit = Duration::from_secs(10);
        for (answer, fits) in [
            (&[0, 0, 0, 10, 0, 0, 0, 7, 0, 0][..], true),
            (&[0, 0, 0, 10, 0, 0, 0, 8, 0, 0], false), // another correlation id
            (&[0, 0, 0, 10, 0, 0, 0, 7, 0, 35], false), // UNSUPPORTED_VERSION
            (&[0, 0, 0, 10], false),                   // closed in the middle
        ] {
            let mut asked = ask(listener.local_addr()?, limit)?;
            let (mut peer, _) = listener.accept()?;
            let mut request = [0; API_VERSIONS.len()];
            peer.read_exact(&mut request)?;
            peer.write_all(answer)?;
            drop(peer);
            assert_eq!(read_answer(&mut asked, limit).is_ok(), fits, "{answer:?}");
        }
        Ok(())
    }
}
