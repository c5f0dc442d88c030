//! Apache Kafka's own command-line tools.

use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::cluster::Cluster;
use super::error::{Context, Error, Result, last_lines};
use super::helper::LONG;
use super::process::Process;

/// # Tools
impl Cluster {
    /// Runs a Java class of Apache Kafka to its end and answers its stdout. Each run starts a JVM, which takes about a second.
    ///
    /// ```no_run
    /// # let kafka = integration_tests::kafka::Cluster::builder().start()?;
    /// let servers = kafka.bootstrap_servers();
    /// let groups = kafka.tool(
    ///     "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    ///     &["--bootstrap-server", servers, "--describe", "--all-groups"],
    /// )?;
    /// # Ok::<(), integration_tests::kafka::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Tool`] with the end of its stderr if its status is not 0; [`Error::CommandTimeout`] after 5 minutes.
    pub fn tool(&self, class: &str, arguments: &[&str]) -> Result<String> {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let file = |kind| self.run.path().join(format!("tool-{run}.{kind}"));
        let (out, err) = (file("out"), file("err"));
        let mut java: Command = self.jars.java();
        java.args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", class])
            .args(arguments);
        let name = || format!("{class} {}", arguments.join(" "));
        let ended = Process::spawn(&java, &out, &err)?
            .wait(LONG)
            .context(|| format!("wait for {class}"))?;
        let read =
            |file: &std::path::Path| fs::read(file).context(|| format!("read {}", file.display()));
        let stderr = last_lines(&read(&err)?);
        match ended {
            None => Err(Error::CommandTimeout {
                command: name(),
                limit: LONG,
                log: err,
                tail: stderr,
            }),
            Some(status) if !status.success() => Err(Error::Tool {
                tool: name(),
                status,
                stderr,
            }),
            Some(_) => Ok(String::from_utf8_lossy(&read(&out)?).into_owned()),
        }
    }
}
