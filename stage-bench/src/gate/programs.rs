//! The bench programs: built as users build the library, and asked for their stages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// A stage as a bench program names it.
pub(crate) struct Stage {
    pub(crate) name: String,
    /// How many units it deals with, and what they are.
    pub(crate) count: u64,
    pub(crate) unit: String,
}

/// What cargo says of each thing that it made; fields of other messages are absent.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// The compiler's name for itself, without its own: `1.95.0 (59807616e 2026-04-14)`.
pub(crate) fn rustc_version() -> Result<String> {
    let said = output(Command::new("rustc").arg("--version"))?;
    Ok(said.trim().trim_start_matches("rustc ").to_owned())
}

/// Builds the benches of these crates with profile `bench`, which is `release`, without their default features.
pub(crate) fn build(workspace: &Path, crates: &[&str]) -> Result<Vec<PathBuf>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace);
    cargo.args([
        "bench",
        "--no-run",
        "--bench",
        "stages",
        "--locked",
        "--no-default-features",
    ]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    for name in crates {
        cargo.args(["-p", name]);
    }
    let mut programs = Vec::new();
    for line in output(&mut cargo)?.lines() {
        let message: Message = serde_json::from_str(line).context("a message of cargo")?;
        let is_bench = |target: Target| target.kind.iter().any(|kind| kind == "bench");
        if let (Some(true), Some(program)) = (message.target.map(is_bench), message.executable) {
            programs.push(program);
        }
    }
    programs.sort();
    let (found, wanted) = (programs.len(), crates.len());
    ensure!(found == wanted, "{found} bench programs of {wanted} crates");
    Ok(programs)
}

/// What a program has to measure.
pub(crate) fn stages(program: &Path) -> Result<Vec<Stage>> {
    let listed = output(Command::new(program).arg(stage_bench::LIST))?;
    let stages: Vec<Stage> = listed.lines().map(stage).collect::<Result<_>>()?;
    ensure!(!stages.is_empty(), "{} has no stage", program.display());
    Ok(stages)
}

fn stage(line: &str) -> Result<Stage> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, count, unit] = fields[..] else {
        anyhow::bail!("a stage is NAME, COUNT, UNIT: {line:?}");
    };
    Ok(Stage {
        name: name.to_owned(),
        count: count
            .parse()
            .with_context(|| format!("a count: {line:?}"))?,
        unit: unit.to_owned(),
    })
}

/// What a command that must succeed writes to its standard output.
fn output(command: &mut Command) -> Result<String> {
    let done = command.stderr(Stdio::inherit()).output();
    let done = done.with_context(|| format!("run {command:?}"))?;
    ensure!(done.status.success(), "{command:?}: {}", done.status);
    String::from_utf8(done.stdout).with_context(|| format!("the output of {command:?}"))
}
