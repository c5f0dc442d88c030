use super::{Connect, Resolve, ResolveFuture, TcpConnect, TcpOptions};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

/// Gives the answers it was told, one a call.
struct Scripted(Mutex<VecDeque<io::Result<Vec<SocketAddr>>>>);

impl Resolve for Scripted {
    fn resolve<'a>(&'a self, _host: &'a str, _port: u16) -> ResolveFuture<'a> {
        let next = self.0.lock().expect("no panic elsewhere").pop_front();
        Box::pin(async move { next.expect("as many answers as calls") })
    }
}

fn resolving(answers: impl IntoIterator<Item = io::Result<Vec<SocketAddr>>>) -> TcpConnect {
    let answers = Scripted(Mutex::new(answers.into_iter().collect()));
    TcpConnect::with_resolver(TcpOptions::default(), Box::new(answers))
}

/// An address at which nobody listens, nor will while the socket that holds it is there.
fn closed() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

async fn listening() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

async fn refusal(connector: &TcpConnect) -> io::Error {
    match connector.connect("broker.example", 9092).await {
        Ok(_) => panic!("connected"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn f037_every_address_is_tried() {
    let (listener, open) = listening().await;
    let (_holder, closed) = closed();
    let connector = resolving([Ok(vec![closed, open])]);
    let mut stream = connector
        .connect("broker.example", 9092)
        .await
        .expect("the second");
    let (mut accepted, _) = listener.accept().await.expect("a connection");
    stream.write_all(b"ping").await.expect("written");
    let mut read = [0; 4];
    accepted.read_exact(&mut read).await.expect("read");
    assert_eq!(&read, b"ping");
}

#[tokio::test]
async fn f037_a_name_is_resolved_at_every_attempt() {
    let (_listener, new) = listening().await;
    let (_holder, old) = closed();
    let connector = resolving([Ok(vec![old]), Ok(vec![new])]);
    assert_eq!(
        refusal(&connector).await.kind(),
        io::ErrorKind::ConnectionRefused
    );
    connector
        .connect("broker.example", 9092)
        .await
        .expect("the new address");
}

#[tokio::test]
async fn f077_what_failed_is_named() {
    let ((_holder, one), (_other_holder, other)) = (closed(), closed());
    let error = refusal(&resolving([Ok(vec![one, other])])).await;
    let text = error.to_string();
    assert!(
        text.contains(&one.to_string()) && text.contains(&other.to_string()),
        "{text}"
    );

    let unknown = io::Error::other("Name or service not known");
    let error = refusal(&resolving([Err(unknown)])).await;
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    let text = error.to_string();
    assert!(
        text.contains("\"broker.example\" does not resolve (Name or service not known)"),
        "{text}"
    );

    let error = refusal(&resolving([Ok(vec![])])).await;
    assert!(error.to_string().contains("has no address"), "{error}");
}

#[tokio::test]
async fn socket_options_are_set() {
    let (_listener, address) = listening().await;
    let options = TcpOptions {
        send_buffer_bytes: Some(40_000),
        receive_buffer_bytes: Some(50_000),
        ..TcpOptions::default()
    };
    let connector = TcpConnect::new(options);
    let stream = connector.dial(address).await.expect("a connection");
    assert!(stream.nodelay().expect("an option"));
    let socket = socket2::SockRef::from(&stream);
    assert!(socket.keepalive().expect("an option"));
    assert_eq!(
        socket.tcp_keepalive_time().expect("an option"),
        Duration::from_secs(20)
    );
    // Linux doubles what is asked for
    assert!((40_000..=80_000).contains(&socket.send_buffer_size().expect("an option")));
    assert!((50_000..=100_000).contains(&socket.recv_buffer_size().expect("an option")));
}

#[tokio::test]
async fn the_setup_timeout_doubles_with_each_failure_up_to_its_maximum() {
    let (_listener, open) = listening().await;
    let (_holder, nobody) = closed();
    let failing = || Ok(vec![nobody]);
    let connector = resolving([failing(), failing(), failing(), Ok(vec![open])]);
    let limit = |port| connector.setup_timeout("broker.example", port).as_secs();
    assert_eq!(limit(9092), 10);
    for expected in [20, 30, 30] {
        refusal(&connector).await;
        assert_eq!((limit(9092), limit(9093)), (expected, 10));
    }
    connector
        .connect("broker.example", 9092)
        .await
        .expect("somebody there");
    assert_eq!(limit(9092), 10);
}

#[tokio::test]
async fn a_maximum_below_the_timeout_does_not_shorten_it() {
    let options = TcpOptions {
        setup_timeout: Duration::from_secs(10),
        setup_timeout_max: Duration::from_secs(1),
        ..TcpOptions::default()
    };
    assert_eq!(TcpConnect::new(options).setup_timeout("b", 1).as_secs(), 10);
}
