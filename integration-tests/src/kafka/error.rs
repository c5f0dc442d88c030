//! What goes wrong when Kafka is fetched, started or driven, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

/// The result of everything in this module.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command to the cluster failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that the real suites need is not installed.
    #[error(
        "`{tool}` was not found: install {install} and have it on the PATH; the suites under the feature `real-kafka` cannot run without it"
    )]
    MissingTool {
        /// Name of the program.
        tool: &'static str,
        /// The package that brings it.
        install: &'static str,
    },
    /// Maven could not fetch the jars of Apache Kafka.
    #[error(
        "maven could not fetch the jars of Apache Kafka ({status}); it needs to reach Maven Central or a mirror of it (~/.m2/settings.xml). It said:\n{output}"
    )]
    Fetch {
        /// How Maven ended.
        status: ExitStatus,
        /// The end of its output.
        output: String,
    },
    /// The Java helper does not compile.
    #[error(
        "javac could not compile the helper ({status}); a JDK of version 17 or newer is needed. It said:\n{output}"
    )]
    Compile {
        /// How javac ended.
        status: ExitStatus,
        /// Its output.
        output: String,
    },
    /// A file, folder, port or process could not be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried, with the path or address.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// A node was to be used that the cluster does not have.
    #[error("there is no node {node}: the cluster has the nodes 1 to {nodes}")]
    UnknownNode {
        /// The id that was asked for.
        node: i32,
        /// Number of nodes.
        nodes: usize,
    },
    /// An address was given for a listener that the cluster does not have.
    #[error("there is no listener {name}: the cluster has {}", known.join(", "))]
    UnknownListener {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A node is not in the state that the command needs.
    #[error("cannot {action} node {node}: it is {state}")]
    NodeState {
        /// The node's id.
        node: i32,
        /// What was to be done.
        action: &'static str,
        /// What the node is instead.
        state: &'static str,
    },
    /// A node's process ended although nobody stopped it.
    #[error("node {node} ended by itself ({status}); the end of {}:\n{tail}", log.display())]
    NodeExited {
        /// The node's id.
        node: i32,
        /// How it ended.
        status: ExitStatus,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// A node is running but did not become ready, or did not stop.
    #[error("node {node} did not {wanted} within {limit:?}: {state}; the end of {}:\n{tail}", log.display())]
    NodeTimeout {
        /// The node's id.
        node: i32,
        /// What it should have done.
        wanted: &'static str,
        /// How long it had.
        limit: Duration,
        /// What was seen last.
        state: String,
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// Kafka, or the Java client, refused a command.
    #[error("{command} failed with {kind}: {message}")]
    Command {
        /// The command and what it was about.
        command: String,
        /// The class of the Java exception, as `TopicExistsException`.
        kind: String,
        /// Its message, and those of its causes.
        message: String,
    },
    /// A command was given up.
    #[error("{command} was not answered within {limit:?}; the end of {}:\n{tail}", log.display())]
    CommandTimeout {
        /// The command and what it was about.
        command: String,
        /// How long it had.
        limit: Duration,
        /// The helper's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The JVM that carries out the commands is gone.
    #[error("{command} was not answered: the Java helper has ended; the end of {}:\n{tail}", log.display())]
    HelperGone {
        /// The command and what it was about.
        command: String,
        /// The helper's log.
        log: PathBuf,
        /// The last lines of the log.
        tail: String,
    },
    /// The helper answered something else than expected.
    #[error("the Java helper answered {command} with something unexpected ({source}): {answer}")]
    Answer {
        /// The command and what it was about.
        command: String,
        /// What came.
        answer: String,
        /// Why it does not fit.
        source: serde_json::Error,
    },
    /// A tool of Apache Kafka failed.
    #[error("{tool} failed ({status}):\n{stderr}")]
    Tool {
        /// The tool's class and arguments.
        tool: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote to stderr.
        stderr: String,
    },
    /// A topic was not compacted.
    #[error(
        "{topic} was not compacted within {limit:?}: {state}. A topic that is to be compacted soon needs cleanup.policy=compact, min.cleanable.dirty.ratio=0.01, max.compaction.lag.ms=1000, segment.ms=1000 and brokers with log.cleaner.backoff.ms=500"
    )]
    NotCompacted {
        /// The topic.
        topic: String,
        /// How long it had.
        limit: Duration,
        /// What is not done yet, per partition.
        state: String,
    },
}

impl Error {
    /// The class name of the Java exception if the cluster or the client refused the command.
    ///
    /// ```no_run
    /// # let kafka = integration_tests::kafka::Cluster::builder().start()?;
    /// kafka.create_topic("orders", 1, 1, &[])?;
    /// let refused = kafka.create_topic("orders", 1, 1, &[]).unwrap_err();
    /// assert_eq!(refused.java_kind(), Some("TopicExistsException"));
    /// # Ok::<(), integration_tests::kafka::Error>(())
    /// ```
    pub fn java_kind(&self) -> Option<&str> {
        match self {
            Self::Command { kind, .. } => Some(kind),
            _ => None,
        }
    }
}

/// Names what an I/O operation was for.
pub(crate) trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::Io {
            what: what(),
            source,
        })
    }
}

/// The last lines of a log file, for an error message.
pub(crate) fn tail(log: &Path) -> String {
    match std::fs::read(log) {
        Ok(bytes) => last_lines(&bytes),
        Err(error) => format!("(not readable: {error})"),
    }
}

/// The last lines of a program's output, for an error message.
pub(crate) fn last_lines(output: &[u8]) -> String {
    const LINES: usize = 40;
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn the_tail_is_the_end() {
        let text: String = (0..100).map(|line| format!("{line}\n")).collect();
        let tail = last_lines(text.as_bytes());
        assert!(tail.starts_with("60\n") && tail.ends_with("\n99"), "{tail}");
        assert_eq!(last_lines(b"one"), "one");
        assert_eq!(last_lines(b""), "");
    }
}
