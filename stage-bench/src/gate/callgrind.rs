//! Valgrind's callgrind, which executes a program on a processor of its own and counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};

/// Where the profiles are kept, for `callgrind_annotate`.
pub(crate) struct Callgrind {
    profiles: PathBuf,
}

/// Valgrind's version, without its name: `3.19.0`.
pub(crate) fn version() -> Result<String> {
    let said = Command::new("valgrind").arg("--version").output();
    let said = said.map_err(|error| {
        anyhow!(
            "instructions are counted by valgrind, which cannot be run here ({error}): install it, on Debian and Ubuntu with \
             `apt-get install valgrind`, or where you may not install, unpack it with `apt-get download valgrind && dpkg -x \
             valgrind_*.deb DIR`, put DIR/usr/bin into PATH and set VALGRIND_LIB=DIR/usr/libexec/valgrind"
        )
    })?;
    let said = String::from_utf8_lossy(&said.stdout);
    let version = said.trim().strip_prefix("valgrind-");
    Ok(version
        .with_context(|| format!("valgrind --version said {said:?}"))?
        .to_owned())
}

impl Callgrind {
    pub(crate) fn new(profiles: &Path) -> Result<Self> {
        fs::create_dir_all(profiles).with_context(|| format!("create {}", profiles.display()))?;
        Ok(Self {
            profiles: profiles.to_owned(),
        })
    }

    /// Instructions of one stage.
    pub(crate) fn count(&self, program: &Path, stage: &str) -> Result<u64> {
        let profile = self
            .profiles
            .join(stage.replace(['/', ' '], "-"))
            .with_extension("callgrind");
        let mut command = Command::new("valgrind");
        // the environment is on the stack, and so moves what is below it
        command.env_clear();
        command.envs(
            ["PATH", "VALGRIND_LIB"]
                .iter()
                .filter_map(|&key| Some((key, std::env::var_os(key)?))),
        );
        command.arg("--tool=callgrind");
        command.arg(format!("--toggle-collect={}", stage_bench::WATCHED));
        command.arg(format!("--callgrind-out-file={}", profile.display()));
        command.arg(program).args([stage_bench::COUNT, stage]);
        let done = command
            .output()
            .with_context(|| format!("run {command:?}"))?;
        let said = String::from_utf8_lossy(&done.stderr);
        ensure!(
            done.status.success(),
            "{command:?}: {}\n{said}",
            done.status
        );
        let count = collected(&said)
            .with_context(|| format!("{command:?} did not say what it collected:\n{said}"))?;
        ensure!(count > 0, "{command:?} did not see the stage begin");
        Ok(count)
    }
}

/// The number in `==123== Collected : 456`.
fn collected(said: &str) -> Option<u64> {
    let mut lines = said.lines();
    let number = lines.find_map(|line| line.split_once("Collected :"))?.1;
    number.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn what_was_collected_is_found_among_the_rest() {
        let said = "==7== Events    : Ir\n==7== Collected : 1234\n==7== \n";
        assert_eq!(collected(said), Some(1234));
        assert_eq!(collected("==7== Events    : Ir\n"), None);
    }
}
