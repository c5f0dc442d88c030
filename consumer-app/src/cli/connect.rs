//! What `consume` and `perf` have in common: which cluster, with which settings.

mod file;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use consumer_app::{Consumer, ConsumerBuilder, Error};

use super::usage::WrongUsage;

/// Which cluster, with which settings.
#[derive(Debug, clap::Args)]
pub(super) struct Connection {
    /// The brokers to begin with, host:port, several with commas between them. Not needed where --config or --property gives
    /// bootstrap.servers, and stronger than these.
    #[arg(short, long, value_name = "HOST:PORT")]
    bootstrap_server: Option<String>,
    /// A setting by the name of the Java client's key; may be repeated. Stronger than --config.
    #[arg(short = 'X', long, value_name = "KEY=VALUE")]
    property: Vec<String>,
    /// Settings from a file: .properties, .toml or .json.
    #[arg(short = 'F', long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Not a parser of clap's, which shows what it does not take: there may be a password in it.
fn pair(text: &str) -> Result<(&str, &str), WrongUsage> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim(), value)),
        _ => {
            let is_end = |letter: char| letter.is_whitespace() || matches!(letter, ':' | '=');
            let name = text.split(is_end).next().unwrap_or_default();
            Err(WrongUsage(format!("--property {name}…: write KEY=VALUE")))
        }
    }
}

/// Settings that a command has of its own.
#[derive(Debug, Default)]
pub(super) struct Own<'a> {
    /// Where nothing else is said.
    pub(super) weak: Vec<(&'static str, &'a str)>,
    /// Whatever else is said.
    pub(super) strong: Vec<(&'static str, &'a str)>,
}

impl Connection {
    /// The consumer. What is wrong with its settings is wrong usage.
    pub(super) async fn open(&self, own: &Own<'_>) -> anyhow::Result<Consumer> {
        match self.builder(own)?.build().await {
            Err(Error::Config(errors)) => Err(WrongUsage::new(errors).into()),
            built => Ok(built?),
        }
    }

    /// From the weakest to the strongest.
    fn builder(&self, own: &Own<'_>) -> Result<ConsumerBuilder, WrongUsage> {
        // a mistyped name must not become a topic
        let mut builder = Consumer::builder().set("allow.auto.create.topics", "false");
        for (key, value) in &own.weak {
            builder = builder.set(key, value);
        }
        if let Some(path) = &self.config {
            builder = builder.config(&file::read(path)?);
        }
        for property in &self.property {
            let (key, value) = pair(property)?;
            builder = builder.set(key, value);
        }
        if let Some(servers) = &self.bootstrap_server {
            builder = builder.bootstrap_servers(servers);
        }
        for (key, value) in &own.strong {
            builder = builder.set(key, value);
        }
        Ok(builder)
    }
}
