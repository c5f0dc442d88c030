//! Building the peers, and how each is started.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use integration_tests::kafka::Jars;

use crate::peer::{Peer, Program};
use crate::topic::{Batches, Filled, PARTITIONS};

/// Where the peers' sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The built programs.
pub(crate) struct Programs {
    target: PathBuf,
    jars: Jars,
}

impl Programs {
    /// Builds what is needed, each program by itself, so that none is built with the features that another one asks of a crate.
    pub(crate) fn build(peers: &[&Peer]) -> Result<Self> {
        let programs = Self {
            target: target()?,
            jars: Jars::fetch()?,
        };
        fs::create_dir_all(programs.folder())?;
        let wanted: BTreeSet<Program> = peers.iter().map(|peer| peer.program).collect();
        for program in wanted {
            programs.build_one(program)?;
        }
        Ok(programs)
    }

    fn build_one(&self, program: Program) -> Result<()> {
        match program {
            Program::Floor => cargo("peer-floor"),
            Program::Ours => cargo("peer-ours"),
            Program::Librdkafka => cargo("peer-librdkafka"),
            Program::Krafka => cargo("peer-krafka"),
            Program::Java => {
                let mut javac = Command::new("javac");
                javac.args(["--release", "17", "-d"]).arg(self.folder());
                javac.arg("-cp").arg(self.jars.folder().join("*"));
                javac.arg(Path::new(SOURCES).join("java/Peer.java"));
                run(javac, "a JDK of version 17 or newer")
            }
            Program::Franz => {
                let mut go = Command::new("go");
                go.current_dir(Path::new(SOURCES).join("franz"));
                go.args(["build", "-o"]).arg(self.folder().join("franz"));
                go.arg(".");
                run(go, "Go 1.26 or newer")
            }
        }
    }

    /// What is neither cargo's.
    fn folder(&self) -> PathBuf {
        self.target.join("peers")
    }

    /// How a peer reads a topic.
    pub(crate) fn command(
        &self,
        peer: &Peer,
        filled: &Filled,
        bootstrap_servers: &str,
        passes: usize,
    ) -> Result<Command> {
        let binary = |name: &str| Command::new(self.target.join("release").join(name));
        let mut command = match peer.program {
            Program::Floor => binary("peer-floor"),
            Program::Ours => binary("peer-ours"),
            Program::Librdkafka => binary("peer-librdkafka"),
            Program::Krafka => binary("peer-krafka"),
            Program::Franz => Command::new(self.folder().join("franz")),
            Program::Java => {
                let classes = std::env::join_paths([self.folder(), self.jars.folder().join("*")])?;
                let mut java = Command::new("java");
                java.args(["-Xmx1g", "-XX:+UseSerialGC"]);
                java.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
                java.arg("-cp").arg(classes).arg("Peer");
                java
            }
        };
        let Some(properties) = (match filled.topic.batches {
            Batches::Large => peer.large,
            Batches::Single => peer.single,
        }) else {
            bail!("{} does not read {}", peer.name, filled.topic.name);
        };
        // a backtrace of each error that is dealt with is nobody's cost
        command.env_remove("RUST_BACKTRACE");
        command.env_remove("RUST_LIB_BACKTRACE");
        command.args(["--bootstrap-server", bootstrap_servers]);
        command.args(["--topic", filled.topic.name]);
        command.args(["--partitions", &PARTITIONS.to_string()]);
        command.args(["--records", &filled.records.to_string()]);
        command.args(["--passes", &passes.to_string()]);
        command.args(["--limit", &LIMIT.to_string()]);
        if !peer.mode.is_empty() {
            command.args(["--mode", peer.mode]);
        }
        for (key, value) in properties {
            command.args(["--set", &format!("{key}={value}")]);
        }
        Ok(command)
    }
}

/// Seconds that a pass may take: an idle machine needs 20 for the slowest.
pub(crate) const LIMIT: u64 = 180;

fn cargo(package: &str) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--package", package]);
    command.arg("--manifest-path");
    command.arg(Path::new(SOURCES).join("Cargo.toml"));
    run(command, "Rust, and for librdkafka a C compiler and make")
        .with_context(|| format!("build {package}"))
}

fn run(mut command: Command, needed: &str) -> Result<()> {
    let tool = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => bail!("{tool} failed ({status})"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!(
                "{tool} was not found: install {needed}, or leave out the peers that need it (--peers)"
            )
        }
        Err(error) => Err(error).context(tool),
    }
}

/// The target folder that this program was built into, wherever that is.
pub(crate) fn target() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").exists());
    Ok(target
        .context("this program is not in a target folder of cargo's: start it with `cargo run`")?
        .to_owned())
}
