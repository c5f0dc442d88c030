//! `broker`: the embedded broker alone.

use std::process::ExitCode;

use test_broker::TestBroker;

use super::interrupt::Interrupt;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The port of the first node; the others have the ports after it. 0 takes free ones.
    #[arg(long, default_value_t = 9092)]
    port: u16,
    /// How many nodes.
    #[arg(long, default_value_t = 1)]
    nodes: i32,
    /// A topic to create; may be repeated. Others are created when they are first used.
    #[arg(long, value_name = "NAME:PARTITIONS", value_parser = topic)]
    topic: Vec<(String, i32)>,
}

fn topic(text: &str) -> Result<(String, i32), String> {
    let (name, partitions) = text.rsplit_once(':').unwrap_or((text, "1"));
    match partitions.parse() {
        Ok(partitions) if partitions > 0 && !name.is_empty() => Ok((name.to_owned(), partitions)),
        _ => Err("write NAME:PARTITIONS, such as orders:6".to_owned()),
    }
}

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let mut interrupt = Interrupt::listen()?;
    let mut builder = TestBroker::builder()
        .port(arguments.port)
        .nodes(arguments.nodes)
        .auto_create_topics(true);
    for (name, partitions) in arguments.topic {
        builder = builder.topic(name, partitions);
    }
    let broker = builder.start().await?;
    println!("listening on {}", broker.bootstrap_servers());
    println!("data is kept in memory; Ctrl-C stops the broker");
    interrupt.wait().await;
    broker.shutdown().await;
    Ok(ExitCode::SUCCESS)
}
