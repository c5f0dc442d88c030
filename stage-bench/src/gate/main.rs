//! Counts the instructions of each stage under callgrind and holds them against `counts.toml`: more than 5 % over the record fails. With
//! `UPDATE_COUNTS=1` in the environment it writes the record instead. See docs/decisions/instruction-counts.md.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

mod callgrind;
mod programs;
mod record;
mod verdict;

use callgrind::Callgrind;
use record::{Record, Tools};

/// The crates that have stages.
const CRATES: [&str; 5] = [
    "record-batch",
    "buffer-actor",
    "session-actor",
    "coordinator-actor",
    "consumer-app",
];

const UPDATE: &str = "UPDATE_COUNTS";

fn main() -> Result<ExitCode> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workspace = package.parent().context("the workspace")?;
    let path = package.join("counts.toml");
    let tools = Tools {
        rustc: programs::rustc_version()?,
        valgrind: callgrind::version()?,
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
    };
    let callgrind = Callgrind::new(&workspace.join("target/instruction-counts"))?;
    let mut counted = Record::new(tools);
    for program in programs::build(workspace, &CRATES)? {
        for stage in programs::stages(&program)? {
            let count = callgrind.count(&program, &stage.name)?;
            let each = count as f64 / stage.count as f64;
            println!(
                "{:<44} {count:>12}  {each:>9.2} per {}",
                stage.name, stage.unit
            );
            counted.instructions.insert(stage.name, count);
        }
    }
    println!();
    if std::env::var_os(UPDATE).is_some_and(|value| value == "1") {
        counted.write(&path)?;
        println!("recorded in {}", path.display());
        return Ok(ExitCode::SUCCESS);
    }
    let recorded = Record::read(&path)?;
    let report = verdict::compare(&recorded, &counted);
    print!("{report}");
    Ok(if report.passes() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
