//! The embedded broker of the quickstart, and what is in it.

use std::thread;

use test_broker::{ProducerRecord, TestBroker};
use tokio::sync::oneshot;

use super::check::Check;
use super::progress::Progress;

pub(super) const TOPIC: &str = "quickstart";
pub(super) const NODES: i32 = 2;
pub(super) const PARTITIONS: i32 = 6;
/// Records of one produced batch.
const BATCH: u64 = 500;

/// A broker on a thread of its own until this is dropped: it must not share the reader's.
#[derive(Debug)]
pub(super) struct Embedded {
    bootstrap_servers: String,
    _stop: oneshot::Sender<()>,
}

impl Embedded {
    /// Starts the broker and produces to it; what a reader must find.
    pub(super) async fn filled(records: u64, progress: Progress) -> anyhow::Result<(Self, Check)> {
        let (ready, filled) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("embedded-broker".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let runtime = match runtime {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        let _ = ready.send(Err(error.into()));
                        return;
                    }
                };
                runtime.block_on(async move {
                    let filled = fill(records, &progress).await;
                    drop(progress);
                    match filled {
                        Ok((broker, check)) => {
                            let _ = ready.send(Ok((broker.bootstrap_servers(), check)));
                            // ends when the sender is dropped
                            let _ = stopped.await;
                            broker.shutdown().await;
                        }
                        Err(error) => {
                            let _ = ready.send(Err(error));
                        }
                    }
                });
            })?;
        let (bootstrap_servers, check): (String, Check) = filled.await??;
        let embedded = Self {
            bootstrap_servers,
            _stop: stop,
        };
        Ok((embedded, check))
    }

    pub(super) fn bootstrap_servers(&self) -> &str {
        &self.bootstrap_servers
    }
}

async fn fill(records: u64, progress: &Progress) -> anyhow::Result<(TestBroker, Check)> {
    let broker = TestBroker::builder()
        .nodes(NODES)
        .topic(TOPIC, PARTITIONS)
        .start()
        .await?;
    let mut check = Check::new(usize::try_from(PARTITIONS)?);
    let mut partitions = (0..PARTITIONS).zip(0..).cycle();
    let mut produced = 0;
    while produced < records {
        let count = BATCH.min(records - produced);
        let Some((partition, index)) = partitions.next() else {
            break;
        };
        let batch: Vec<ProducerRecord> = (produced..produced + count)
            .map(|number| {
                let key = format!("order-{number}");
                let value = format!(
                    r#"{{"order":{number},"customer":"c{}","cents":{},"state":"paid"}}"#,
                    number % 9973,
                    number * 37 % 100_000
                );
                check.produced(index, key.len(), value.len());
                ProducerRecord::new(value).key(key)
            })
            .collect();
        broker.produce(TOPIC, partition, batch)?;
        produced += count;
        progress.is_at(produced);
    }
    Ok((broker, check))
}
