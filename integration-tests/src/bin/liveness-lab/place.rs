//! Three nodes: Apache Kafka's, or those of the embedded broker in this process.

use std::time::Duration;

use anyhow::{Context, Result};
use integration_tests::Proxy;
use integration_tests::kafka::Cluster;
use test_broker::{ApiKey, Fault, TestBroker};
use tokio::runtime::Runtime;

use crate::setting::Setting;

/// The node that is idle, slow or frozen.
const THIRD: i32 = 3;
const NODES: usize = 3;
/// The listener whose third node is behind a proxy.
const PROXIED: &str = "PROXIED";
const SLOW: Duration = Duration::from_secs(5);

pub(crate) struct Embedded {
    broker: TestBroker,
    #[expect(dead_code, reason = "the broker's nodes run in it")]
    runtime: Runtime,
}

pub(crate) enum Place {
    Kafka(Box<Cluster>),
    Embedded(Embedded),
}

impl Place {
    pub(crate) fn start(embedded: bool) -> Result<Self> {
        if embedded {
            let runtime = Runtime::new()?;
            let broker = TestBroker::builder()
                .nodes(NODES as i32)
                .auto_create_topics(false);
            let broker = runtime.block_on(broker.start())?;
            return Ok(Self::Embedded(Embedded { broker, runtime }));
        }
        let proxy = Proxy::open(SLOW / 2)?;
        let cluster = Cluster::builder()
            .nodes(NODES)
            .listener(PROXIED, "PLAINTEXT")
            .advertised(THIRD, PROXIED, &proxy.address().to_string())
            // what users have
            .jvm_option("-XX:TieredStopAtLevel=4")
            .start()?;
        let target = cluster.listener_address(THIRD, PROXIED)?;
        proxy.connect_to(target.context("node 3 has no such listener")?);
        Ok(Self::Kafka(Box::new(cluster)))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kafka(_) => "Apache Kafka",
            Self::Embedded(_) => "the embedded broker",
        }
    }

    /// Where the writer connects.
    pub(crate) fn servers(&self) -> String {
        match self {
            Self::Kafka(cluster) => cluster.bootstrap_servers().to_owned(),
            Self::Embedded(embedded) => embedded.broker.bootstrap_servers(),
        }
    }

    /// Where the readers connect.
    pub(crate) fn readers_servers(&self, setting: Setting) -> Result<String> {
        match self {
            Self::Kafka(cluster) if setting == Setting::SlowNode => {
                let address = cluster.listener_address(1, PROXIED)?;
                Ok(address.context("node 1 has no such listener")?.to_string())
            }
            _ => Ok(self.servers()),
        }
    }

    /// The setting's topic, its leaders round the nodes.
    pub(crate) fn create_topic(&self, setting: Setting) -> Result<()> {
        let (name, partitions) = (setting.name(), setting.partitions());
        match self {
            Self::Kafka(cluster) => {
                let leaders: Vec<[i32; 1]> = (0..partitions)
                    .map(|partition| [(partition % NODES) as i32 + 1])
                    .collect();
                let replicas: Vec<&[i32]> = leaders.iter().map(|leader| &leader[..]).collect();
                cluster.create_topic_on(name, &replicas, &[])?;
            }
            Self::Embedded(embedded) => embedded.broker.create_topic(name, partitions as i32)?,
        }
        Ok(())
    }

    /// Begins what is wrong with the third node.
    pub(crate) fn disturb(&self, setting: Setting) -> Result<()> {
        match (self, setting) {
            (Self::Kafka(cluster), Setting::FrozenNode) => cluster.freeze(THIRD)?,
            (Self::Embedded(embedded), Setting::FrozenNode) => {
                embedded.broker.freeze_node(THIRD)?
            }
            (Self::Embedded(embedded), Setting::SlowNode) => {
                embedded
                    .broker
                    .inject(Fault::delay(SLOW).on(ApiKey::Fetch).node(THIRD));
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) fn restore(&self, setting: Setting) -> Result<()> {
        match (self, setting) {
            (Self::Kafka(cluster), Setting::FrozenNode) => cluster.thaw(THIRD)?,
            (Self::Embedded(embedded), Setting::FrozenNode) => {
                embedded.broker.unfreeze_node(THIRD)?
            }
            (Self::Embedded(embedded), _) => embedded.broker.clear_faults(),
            _ => {}
        }
        Ok(())
    }
}
