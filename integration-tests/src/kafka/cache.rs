//! The folder under the build's target folder that holds what is made once, and what runs now.
//!
//! Test binaries run side by side, so everything is made under a lock, beside its final place, and renamed into it when complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::error::{Context, Result};

/// The cache: `real-kafka` in the target folder.
pub(crate) fn folder() -> Result<&'static Path> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| target_folder().join("real-kafka"));
    create(folder)?;
    Ok(folder)
}

/// Test binaries and examples lie in the target folder, wherever cargo was told to put it; it can be told by its tag. A documentation test
/// runs elsewhere.
fn target_folder() -> PathBuf {
    let tagged = std::env::current_exe().ok().and_then(|exe| {
        exe.ancestors()
            .find(|folder| folder.join("CACHEDIR.TAG").exists())
            .map(Path::to_owned)
    });
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    tagged
        .or_else(|| std::env::var_os("CARGO_TARGET_DIR").map(|folder| workspace.join(folder)))
        .unwrap_or_else(|| workspace.join("target"))
}

/// Creates a folder and those above it.
pub(crate) fn create(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).context(|| format!("create the folder {}", folder.display()))
}

/// Answers the folder `name` of the cache; if it is not there yet, `fill` is given an empty folder that becomes it.
pub(crate) fn once(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let done = folder()?.join(name);
    if done.exists() {
        return Ok(done);
    }
    let _lock = lock(&folder()?.join(format!("{name}.lock")))?;
    if !done.exists() {
        let partial = folder()?.join(format!("{name}.partial"));
        remove(&partial)?; // of a process that was killed while it held the lock
        create(&partial)?;
        fill(&partial)?;
        fs::rename(&partial, &done)
            .context(|| format!("rename {} to {}", partial.display(), done.display()))?;
    }
    Ok(done)
}

/// Takes a lock between processes, waiting for it. It ends with the returned file, or with the process.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).context(|| format!("open the lock file {}", path.display()))?;
    file.lock().context(|| format!("lock {}", path.display()))?;
    Ok(file)
}

/// Takes a lock between processes if it is free.
pub(crate) fn try_lock(path: &Path) -> Result<Option<File>> {
    let file = File::create(path).context(|| format!("open the lock file {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(source)) => {
            Err(source).context(|| format!("lock {}", path.display()))
        }
    }
}

/// Removes a folder that may not exist.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(|| format!("remove the folder {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The data and logs of one cluster: a folder that is removed when this is dropped.
///
/// What a killed process left behind is removed when the next cluster starts.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
    _lock: File,
}

impl RunFolder {
    pub(crate) fn create() -> Result<Self> {
        let runs = folder()?.join("run");
        create(&runs)?;
        // so that nobody finds a folder that has no lock yet
        let _making = lock(&runs.join("lock"))?;
        for entry in
            fs::read_dir(&runs).context(|| format!("read the folder {}", runs.display()))?
        {
            let path = entry
                .context(|| format!("read the folder {}", runs.display()))?
                .path();
            if path.is_dir() && try_lock(&path.join("lock"))?.is_some() {
                remove(&path)?;
            }
        }
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let path = runs.join(format!(
            "{}-{}",
            std::process::id(),
            RUNS.fetch_add(1, Ordering::Relaxed)
        ));
        create(&path)?;
        let lock = lock(&path.join("lock"))?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if let Err(error) = remove(&self.path) {
            eprintln!("the data of a test cluster stays: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_once_is_made_once() -> Result<()> {
        let name = format!("test-{}", std::process::id());
        let made = AtomicU32::new(0);
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    let folder = once(&name, |partial| {
                        made.fetch_add(1, Ordering::Relaxed);
                        fs::write(partial.join("file"), "whole").context(|| "write".into())
                    })
                    .unwrap();
                    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "whole");
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
        remove(&folder()?.join(&name))?;
        fs::remove_file(folder()?.join(format!("{name}.lock"))).context(|| "remove".into())
    }

    #[test]
    fn an_attempt_that_failed_is_no_obstacle() -> Result<()> {
        let name = format!("test-failed-{}", std::process::id());
        let failed = once(&name, |_| {
            Err(std::io::Error::other("no network")).context(|| "fetch".into())
        });
        assert_eq!(failed.unwrap_err().to_string(), "fetch: no network");
        let folder_made = once(&name, |partial| {
            fs::write(partial.join("file"), "whole").context(|| "write".into())
        })?;
        assert!(folder_made.join("file").exists());
        remove(&folder_made)?;
        fs::remove_file(folder()?.join(format!("{name}.lock"))).context(|| "remove".into())
    }

    #[test]
    fn a_run_folder_is_its_own_while_it_lives_and_gone_afterwards() -> Result<()> {
        let one = RunFolder::create()?;
        let other = RunFolder::create()?;
        assert_ne!(one.path(), other.path());
        assert!(
            one.path().exists(),
            "the second must not take the first for a dead one"
        );
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
        Ok(())
    }
}
