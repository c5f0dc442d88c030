//! A network namespace in which only our consumers are, with a cable to each broker.

use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, setns};

use super::setup::NODES;

/// Its cables and itself go when it is dropped.
pub(crate) struct Namespace {
    /// Told apart from that of another process.
    number: u32,
}

impl Namespace {
    pub(crate) fn make() -> Result<Self> {
        let namespace = Self {
            number: std::process::id() % 10_000,
        };
        let name = namespace.name();
        ip(&format!("netns add {name}")).context(
            "a network namespace cannot be made: run this test as root, with iproute2 installed",
        )?;
        for node in 1..=NODES {
            let (ours, theirs) = (namespace.cable(node), format!("node{node}"));
            ip(&format!(
                "link add {ours} type veth peer name {theirs} netns {name}"
            ))?;
            ip(&format!(
                "address add {}/30 dev {ours}",
                namespace.address(node)
            ))?;
            ip(&format!("link set {ours} up"))?;
            let at = Ipv4Addr::from_bits(namespace.address(node).to_bits() + 1);
            ip(&format!("-netns {name} address add {at}/30 dev {theirs}"))?;
            ip(&format!("-netns {name} link set {theirs} up"))?;
        }
        Ok(namespace)
    }

    fn name(&self) -> String {
        format!("chaos{}", self.number)
    }

    /// The broker's end of a cable.
    fn cable(&self, node: i32) -> String {
        format!("chaos{}-{node}", self.number)
    }

    /// The address of the broker's end.
    pub(crate) fn address(&self, node: i32) -> Ipv4Addr {
        let networks = self.number * 4 + u32::try_from(node).unwrap_or_default();
        Ipv4Addr::from_bits(Ipv4Addr::new(10, 200, 0, 1).to_bits() + 4 * networks)
    }

    /// What a cable that is pulled out takes with it is nobody told of: packets are lost.
    pub(crate) fn set_plugged(&self, node: i32, plugged: bool) -> Result<()> {
        let state = if plugged { "up" } else { "down" };
        ip(&format!("link set {} {state}", self.cable(node)))
    }

    pub(crate) fn enter(&self) -> Result<()> {
        let file = File::open(format!("/run/netns/{}", self.name()))?;
        Ok(setns(file, CloneFlags::CLONE_NEWNET)?)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&format!("netns delete {}", self.name())) {
            eprintln!("{error:#}");
        }
    }
}

fn ip(arguments: &str) -> Result<()> {
    let output = Command::new("ip")
        .args(arguments.split(' '))
        .output()
        .context("ip (iproute2)")?;
    ensure!(
        output.status.success(),
        "ip {arguments}: {}",
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(())
}
