//! The jars of Apache Kafka and the compiled helper.

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::cache;
use super::error::{Context, Error, Result, last_lines};

/// Where `pom.xml` and the helper's sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/java");

/// For programs that live for seconds: the second compiler would cost more than it gains.
const LIGHT: [&str; 3] = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// Apache Kafka as a class path.
#[derive(Clone, Debug)]
pub struct Jars {
    folder: PathBuf,
    class_path: OsString,
}

impl Jars {
    /// The jars that `java/pom.xml` names, and the compiled helper: fetched with Maven and compiled with javac at the first use, from the
    /// target folder afterwards. Several processes may call this at once.
    ///
    /// # Errors
    ///
    /// [`Error::MissingTool`] names what to install; [`Error::Fetch`] and [`Error::Compile`] carry the program's output.
    pub fn fetch() -> Result<Self> {
        let folder = kafka()?;
        Self::of(&classes(&folder)?, folder)
    }

    /// The same helper with the Java client 3.9.1 in place of Apache Kafka 4.4.0. Only classes that use what both have run with it.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub fn fetch_client_3_9() -> Result<Self> {
        let client = dependencies(&Path::new(SOURCES).join("client-3.9.1/pom.xml"))?;
        Self::of(&classes(&kafka()?)?, client)
    }

    fn of(classes: &Path, folder: PathBuf) -> Result<Self> {
        let class_path = std::env::join_paths([classes, &folder.join("*")])
            .map_err(io::Error::other)
            .context(|| format!("make a class path of {}", folder.display()))?;
        Ok(Self { folder, class_path })
    }

    /// The folder that holds the jars.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A command that runs `java` with the jars on the class path and a heap of at most 512 MiB; the caller adds options (a later one wins
    /// over an earlier one), the main class and its arguments.
    pub fn java(&self) -> Command {
        let mut command = Command::new("java");
        command.args(LIGHT).arg("-cp").arg(&self.class_path);
        command
    }
}

/// Runs a program to its end, or says that it is not installed.
fn run(
    command: &mut Command,
    tool: &'static str,
    install: &'static str,
) -> Result<std::process::Output> {
    command
        .output()
        .map_err(|source| not_started(source, tool, install))
}

/// The error for a program that cannot be started.
pub(crate) fn not_started(source: io::Error, tool: &'static str, install: &'static str) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        Error::MissingTool { tool, install }
    } else {
        Error::Io {
            what: format!("start {tool}"),
            source,
        }
    }
}

/// What brings `java` and `javac`.
pub(crate) const JDK: &str = "a JDK of version 17 or newer (Debian: openjdk-17-jdk-headless)";

/// The folder with the jars of Apache Kafka 4.4.0.
fn kafka() -> Result<PathBuf> {
    dependencies(&Path::new(SOURCES).join("pom.xml"))
}

/// The folder with the compiled helper.
fn classes(kafka: &Path) -> Result<PathBuf> {
    let sources = sources()?;
    cache::once(&format!("classes-{}", digest(&sources)?), |classes| {
        compile(&sources, &kafka.join("*"), classes)
    })
}

/// The folder with the jars that a `pom.xml` names.
fn dependencies(pom: &Path) -> Result<PathBuf> {
    let name = format!("jars-{}", digest(&[pom.to_owned()])?);
    cache::once(&name, |folder| copy_dependencies(pom, folder))
}

fn copy_dependencies(pom: &Path, folder: &Path) -> Result<()> {
    let mut maven = Command::new("mvn");
    maven
        .args(["--quiet", "--batch-mode", "--file"])
        .arg(pom)
        .arg("dependency:copy-dependencies");
    maven.arg(format!("-DoutputDirectory={}", folder.display()));
    let output = run(
        &mut maven,
        "mvn",
        "Apache Maven 3.6 or newer (Debian: maven)",
    )?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Fetch {
        status: output.status,
        output: last_lines(&[output.stdout, output.stderr].concat()),
    })
}

fn sources() -> Result<Vec<PathBuf>> {
    let reading = || format!("read the folder {SOURCES}");
    let mut sources = Vec::new();
    for entry in fs::read_dir(SOURCES).context(reading)? {
        let path = entry.context(reading)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "java")
        {
            sources.push(path);
        }
    }
    sources.sort();
    Ok(sources)
}

fn compile(sources: &[PathBuf], jars: &Path, classes: &Path) -> Result<()> {
    let mut javac = Command::new("javac");
    javac
        .args(["--release", "17", "-proc:none", "-d"])
        .arg(classes)
        .arg("-cp")
        .arg(jars)
        .args(sources);
    let output = run(&mut javac, "javac", JDK)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Error::Compile {
        status: output.status,
        output: last_lines(&[output.stdout, output.stderr].concat()),
    })
}

/// Tells contents apart, so that a change of them is a new name in the cache.
fn digest(files: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for file in files {
        file.file_name().hash(&mut hasher);
        fs::read(file)
            .context(|| format!("read {}", file.display()))?
            .hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_is_named_with_what_to_install() {
        let missing = run(
            &mut Command::new("no-such-program-of-kafka"),
            "mvn",
            "Apache Maven",
        )
        .unwrap_err();
        assert!(
            matches!(missing, Error::MissingTool { tool: "mvn", .. }),
            "{missing}"
        );
        assert!(
            missing.to_string().contains("install Apache Maven"),
            "{missing}"
        );
    }

    #[test]
    fn a_source_that_does_not_compile_is_shown() -> Result<()> {
        let folder = cache::folder()?.join(format!("test-compile-{}", std::process::id()));
        cache::create(&folder)?;
        let source = folder.join("Wrong.java");
        fs::write(&source, "class Wrong { int x = \"text\"; }").context(|| "write".into())?;
        let refused = compile(&[source], Path::new("nothing"), &folder).unwrap_err();
        cache::remove(&folder)?;
        assert!(
            refused.to_string().contains("incompatible types"),
            "{refused}"
        );
        Ok(())
    }
}
