//! What `consume` and `perf` have in common: which cluster, which settings.

use std::path::PathBuf;

use anyhow::Context;
use consumer_app::{Consumer, ConsumerConfig};

/// Which cluster, with which settings.
#[derive(Debug, clap::Args)]
pub(super) struct Connection {
    /// The brokers to begin with, host:port, several with commas between them.
    #[arg(long, value_name = "HOST:PORT")]
    bootstrap_server: String,
    /// A setting by the name of the Java client's key; may be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = pair)]
    property: Vec<(String, String)>,
    /// Settings from a file: .properties, .toml or .json.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.to_owned()))
        }
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

impl Connection {
    /// The consumer, with `more` settings below those that were given.
    pub(super) async fn open(&self, more: &[(&str, &str)]) -> anyhow::Result<Consumer> {
        let mut builder = Consumer::builder();
        for (key, value) in more {
            builder = builder.set(key, value);
        }
        if let Some(path) = &self.config {
            builder = builder.config(&read_config(path)?);
        }
        builder = builder.bootstrap_servers(&self.bootstrap_server);
        for (key, value) in &self.property {
            builder = builder.set(key, value);
        }
        Ok(builder.build().await?)
    }
}

fn read_config(path: &std::path::Path) -> anyhow::Result<ConsumerConfig> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension {
        Some("json") => serde_json::from_str(&text).with_context(|| format!("in {shown}")),
        Some("toml") => toml::from_str(&text).with_context(|| format!("in {shown}")),
        _ => ConsumerConfig::from_properties(&text).with_context(|| format!("in {shown}")),
    }
}
