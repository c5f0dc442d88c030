//! A stand-alone broker for any Kafka client:
//! `cargo run -p test-broker --example broker -- --port 9092 --nodes 2 --topic orders:6`.

use std::error::Error;

use test_broker::TestBroker;

const USAGE: &str = "usage: broker [--port P] [--nodes N] [--topic NAME:PARTITIONS]...";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = TestBroker::builder().request_log(0);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let value = arguments.next().ok_or(USAGE)?;
        builder = match option.as_str() {
            "--port" => builder.port(value.parse()?),
            "--nodes" => builder.nodes(value.parse()?),
            "--topic" => {
                let (name, partitions) = value.rsplit_once(':').ok_or(USAGE)?;
                builder.topic(name, partitions.parse()?)
            }
            _ => return Err(USAGE.into()),
        };
    }
    let broker = builder.start().await?;
    println!("bootstrap.servers={}", broker.bootstrap_servers());
    std::future::pending().await
}
