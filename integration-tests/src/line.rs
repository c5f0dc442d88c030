//! A TCP line between clients and a broker that fails on demand: silently, as a cable that is pulled, or aloud, as a machine that is gone.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::thread;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Listens from [`open`](Self::open) on, until it is dropped. [`Proxy`](crate::Proxy) is the one that delays.
#[derive(Debug)]
pub struct Line {
    address: SocketAddr,
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    target: Option<SocketAddr>,
    condition: Condition,
    /// Connections that were there before the last of these are none any more.
    resets: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Whole,
    Silent,
    Refusing,
}

impl Line {
    /// Opens a port of this address. What connects before [`connect_to`](Self::connect_to) is reset.
    ///
    /// # Errors
    /// There is no free port, or no such address.
    pub fn open(address: IpAddr) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((address, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (state, watched) = watch::channel(State {
            target: None,
            condition: Condition::Whole,
            resets: 0,
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()?;
        thread::Builder::new()
            .name("line".to_owned())
            .spawn(move || runtime.block_on(listen(listener, watched)))?;
        Ok(Self { address, state })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Says where connections lead that are made from now on.
    pub fn connect_to(&self, target: SocketAddr) {
        self.state.send_modify(|state| state.target = Some(target));
    }

    /// Nothing passes any more, in neither direction, and nobody is told: connections stay, new ones are accepted and lead nowhere.
    pub fn silence(&self) {
        self.set(Condition::Silent);
    }

    /// Ends all connections, and those that are tried from now on, with a reset.
    pub fn refuse(&self) {
        self.set(Condition::Refusing);
        self.reset();
    }

    /// Ends all connections with a reset.
    pub fn reset(&self) {
        self.state.send_modify(|state| state.resets += 1);
    }

    /// All is well again. What was sent into a silent line arrives, unless its connection was [`reset`](Self::reset) before.
    pub fn mend(&self) {
        self.set(Condition::Whole);
    }

    fn set(&self, condition: Condition) {
        self.state.send_modify(|state| state.condition = condition);
    }
}

type Watched = watch::Receiver<State>;

async fn listen(listener: std::net::TcpListener, watched: Watched) {
    let Ok(listener) = TcpListener::from_std(listener) else {
        return;
    };
    let mut dropped = watched.clone();
    let dropped = dropped.wait_for(|_| false);
    tokio::pin!(dropped);
    loop {
        tokio::select! {
            _ = &mut dropped => return,
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    tokio::spawn(serve(client, watched.clone()));
                }
            }
        }
    }
}

/// Ends when the connection does, however that is: both sides see it for themselves.
async fn serve(mut client: TcpStream, mut watched: Watched) {
    let begin = *watched.borrow();
    let mut reset = watched.clone();
    let passed = tokio::select! {
        _ = reset.wait_for(|now| now.resets != begin.resets) => None,
        passed = connect_and_pass(&mut client, begin, &mut watched) => passed.ok(),
    };
    if passed.is_none() {
        // without it, the client would see an end in order; there is nobody to tell that it failed
        let _ = client.set_zero_linger();
    }
}

async fn connect_and_pass(
    client: &mut TcpStream,
    begin: State,
    watched: &mut Watched,
) -> io::Result<()> {
    let refused = || io::Error::from(io::ErrorKind::ConnectionRefused);
    if begin.condition == Condition::Refusing {
        return Err(refused());
    }
    let target = begin.target.ok_or_else(refused)?;
    whole(watched).await?;
    let mut server = TcpStream::connect(target).await?;
    for stream in [&*client, &server] {
        stream.set_nodelay(true)?;
    }
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::try_join!(
        pass(from_client, to_server, watched.clone()),
        pass(from_server, to_client, watched.clone()),
    )?;
    Ok(())
}

async fn pass(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    mut watched: Watched,
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        whole(&mut watched).await?;
        match buffer.get(..read) {
            Some(piece @ [_, ..]) => to.write_all(piece).await?,
            _ => return to.shutdown().await,
        }
    }
}

async fn whole(watched: &mut Watched) -> io::Result<()> {
    let whole = watched.wait_for(|now| now.condition == Condition::Whole);
    match whole.await {
        Ok(_) => Ok(()),
        Err(_) => Err(io::ErrorKind::ConnectionAborted.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;

    /// Long enough for what passes; waited for only where nothing may.
    const NOTHING: Duration = Duration::from_millis(200);

    /// What answers each byte with itself, and a line that leads there.
    async fn line_to_an_echo() -> Line {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let line = Line::open(Ipv4Addr::LOCALHOST.into()).unwrap();
        line.connect_to(listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        line
    }

    async fn echo(stream: &mut TcpStream) -> io::Result<u8> {
        stream.write_all(&[7]).await?;
        stream.read_u8().await
    }

    #[tokio::test]
    async fn what_is_sent_into_a_silent_line_arrives_when_it_is_mended() {
        let line = line_to_an_echo().await;
        let mut old = TcpStream::connect(line.address()).await.unwrap();
        assert_eq!(echo(&mut old).await.unwrap(), 7);
        line.silence();
        let mut new = TcpStream::connect(line.address()).await.unwrap();
        for stream in [&mut old, &mut new] {
            stream.write_all(&[8]).await.unwrap();
            let answer = tokio::time::timeout(NOTHING, stream.read_u8()).await;
            assert!(answer.is_err(), "{answer:?}");
        }
        line.mend();
        assert_eq!(old.read_u8().await.unwrap(), 8);
        assert_eq!(new.read_u8().await.unwrap(), 8);
    }

    #[tokio::test]
    async fn a_reset_ends_what_is_there_and_a_refusal_what_comes() {
        let line = line_to_an_echo().await;
        let connect = || TcpStream::connect(line.address());
        let mut stream = connect().await.unwrap();
        assert_eq!(echo(&mut stream).await.unwrap(), 7);
        line.reset();
        let ended = stream.read_u8().await.unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::ConnectionReset);
        let mut stream = connect().await.unwrap();
        assert_eq!(echo(&mut stream).await.unwrap(), 7);
        line.refuse();
        assert!(echo(&mut stream).await.is_err());
        let refused = match connect().await {
            Ok(mut stream) => echo(&mut stream).await.map(drop),
            Err(error) => Err(error),
        };
        assert!(refused.is_err());
        line.mend();
        let mut stream = connect().await.unwrap();
        assert_eq!(echo(&mut stream).await.unwrap(), 7);
    }
}
