//! `broker`: the embedded broker alone.

use anyhow::bail;
use test_broker::{Error, TestBroker};

use super::interrupt::Interrupt;
use super::usage::WrongUsage;
use super::{log, stdout};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The port of the first node; the others have the ports after it. 0 takes free ones.
    #[arg(long, default_value_t = 9092)]
    port: u16,
    /// How many nodes.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i32).range(1..=1000))]
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

pub(super) async fn run(arguments: Arguments) -> anyhow::Result<()> {
    let mut interrupt = Interrupt::listen()?;
    let mut builder = TestBroker::builder()
        .port(arguments.port)
        .nodes(arguments.nodes)
        .auto_create_topics(true);
    for (name, partitions) in arguments.topic {
        builder = builder.topic(name, partitions);
    }
    let broker = match builder.start().await {
        Ok(broker) => broker,
        Err(error @ (Error::Setting { .. } | Error::Topic { .. })) => {
            return Err(WrongUsage::new(error).into());
        }
        Err(error @ Error::Bind { .. }) => bail!("{error} --port takes another, 0 a free one"),
        Err(error) => return Err(error.into()),
    };
    // whoever started it may have read enough; clients may not
    let _ = stdout::print(format_args!("listening on {}", broker.bootstrap_servers()))?;
    log::note("data is kept in memory only; Ctrl-C stops the broker");
    interrupt.wait().await;
    broker.shutdown().await;
    Ok(())
}
