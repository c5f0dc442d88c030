use kafka_protocol::messages::MetadataRequest;
use test_broker::{Error, TestBroker};
use tokio::net::TcpStream;

use crate::client::{Client, Fetch, batches};

fn addresses(broker: &TestBroker) -> Vec<String> {
    let servers = broker.bootstrap_servers();
    servers.split(',').map(str::to_owned).collect()
}

async fn connect(address: &str) -> Client<TcpStream> {
    Client::new(TcpStream::connect(address).await.expect("connected"))
}

#[tokio::test]
async fn every_node_has_a_port_and_says_so() {
    let broker = TestBroker::builder().nodes(3).topic("t", 3).start().await;
    let broker = broker.expect("started");
    broker.produce("t", 1, ["v"]).expect("produced");
    let addresses = addresses(&broker);
    for address in &addresses {
        let all = MetadataRequest::default().with_topics(None);
        let metadata = connect(address).await.call(&all, 9).await;
        let told: Vec<_> = metadata
            .brokers
            .iter()
            .map(|node| format!("{}:{}", node.host.as_str(), node.port))
            .collect();
        assert_eq!(told, addresses);
    }
    let read = connect(&addresses[1])
        .await
        .fetch_one(&Fetch::at(&broker, "t", 1, 0))
        .await;
    assert_eq!(batches(&read), [(0, 0)]);
    let (host, port) = addresses[2].rsplit_once(':').expect("an address");
    assert_eq!(broker.node_at(host, port.parse().expect("a port")), Some(3));
}

#[tokio::test]
async fn large_answers_come_in_one_piece() {
    let broker = TestBroker::builder()
        .topic("t", 1)
        .start()
        .await
        .expect("started");
    for _ in 0..20 {
        broker
            .produce("t", 0, [vec![7; 300_000]])
            .expect("produced");
    }
    let fetch = Fetch::at(&broker, "t", 0, 0).partition_max_bytes(10 << 20);
    let read = connect(&addresses(&broker)[0])
        .await
        .fetch_one(&fetch)
        .await;
    assert_eq!(batches(&read).len(), 20);
    assert!(broker.counters().bytes_sent > 6_000_000);
}

#[tokio::test]
async fn b037_a_killed_node_refuses_and_comes_back_on_its_port() {
    let broker = TestBroker::builder().nodes(2).topic("t", 2).start().await;
    let broker = broker.expect("started");
    broker.produce("t", 0, ["kept"]).expect("produced");
    let address = addresses(&broker)[0].clone();
    let mut cut = connect(&address).await;
    cut.fetch_one(&Fetch::at(&broker, "t", 0, 0)).await;
    broker.kill_node(1).await.expect("killed");
    assert!(cut.receive_frame().await.is_err());
    assert!(TcpStream::connect(&address).await.is_err());
    broker.restart_node(1).await.expect("restarted");
    let read = connect(&address)
        .await
        .fetch_one(&Fetch::at(&broker, "t", 0, 0))
        .await;
    assert_eq!(batches(&read), [(0, 0)]);
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let first = TestBroker::builder().start().await.expect("started");
    let port = addresses(&first)[0]
        .rsplit_once(':')
        .expect("an address")
        .1
        .parse();
    let second = TestBroker::builder()
        .port(port.expect("a port"))
        .start()
        .await;
    let error = second.expect_err("taken");
    assert!(matches!(error, Error::Bind { node: 1, .. }), "{error}");
    assert!(error.to_string().contains("127.0.0.1:"));
}
