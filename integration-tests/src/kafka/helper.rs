//! The Java helper: one JVM per cluster that carries out commands with the Java client.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Context, Error, Result, tail};
use super::jars::{JDK, Jars, not_started};

/// For a command that changes or asks something small.
pub(crate) const QUICK: Duration = Duration::from_secs(60);
/// For a command that moves a lot of data.
pub(crate) const LONG: Duration = Duration::from_secs(300);
/// The helper gives a command up by itself and says what was missing; this is how much later it is given up without that.
const GRACE: Duration = Duration::from_secs(10);

/// Commands that wait for their answer, by id. `None` once the helper has ended.
type Pending = Arc<Mutex<Option<HashMap<u64, mpsc::Sender<Value>>>>>;

/// The running helper. Commands may be given from many threads; they run side by side.
#[derive(Debug)]
pub(crate) struct Helper {
    process: Child,
    requests: Mutex<Requests>,
    pending: Pending,
    log: PathBuf,
}

#[derive(Debug)]
struct Requests {
    pipe: ChildStdin,
    last_id: u64,
}

impl Helper {
    pub(crate) fn start(jars: &Jars, bootstrap_servers: &str, log: &Path) -> Result<Self> {
        let stderr = File::create(log).context(|| format!("create {}", log.display()))?;
        let mut process = jars
            .java()
            .args([
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "Helper",
                bootstrap_servers,
            ])
            // it ends by itself when its stdin does, so also when the test process is killed
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .spawn()
            .map_err(|source| not_started(source, "java", JDK))?;
        let (Some(pipe), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both were asked for as pipes");
        };
        let pending: Pending = Arc::new(Mutex::new(Some(HashMap::new())));
        let dispatched = Arc::clone(&pending);
        thread::spawn(move || dispatch(answers, &dispatched));
        let requests = Mutex::new(Requests { pipe, last_id: 0 });
        Ok(Self {
            process,
            requests,
            pending,
            log: log.to_owned(),
        })
    }

    /// Carries out a command; `subject` says in errors what it is about.
    pub(crate) fn call<T: DeserializeOwned>(
        &self,
        command: &str,
        subject: &str,
        arguments: Value,
        limit: Duration,
    ) -> Result<T> {
        let name = || format!("{command} {subject}");
        let gone = || Error::HelperGone {
            command: name(),
            log: self.log.clone(),
            tail: tail(&self.log),
        };
        let (sender, receiver) = mpsc::channel();
        let id = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.last_id += 1;
            let id = requests.last_id;
            match &mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(pending) => pending.insert(id, sender),
                None => return Err(gone()),
            };
            let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            let line =
                json!({"id": id, "command": command, "limit_ms": limit_ms, "arguments": arguments});
            // an error means that it has ended, which the reader of its answers will see, too
            let _ = writeln!(requests.pipe, "{line}").and_then(|()| requests.pipe.flush());
            id
        };
        let mut answer = match receiver.recv_timeout(limit + GRACE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(pending) =
                    &mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner)
                {
                    pending.remove(&id);
                }
                return Err(Error::CommandTimeout {
                    command: name(),
                    limit: limit + GRACE,
                    log: self.log.clone(),
                    tail: tail(&self.log),
                });
            }
        };
        if let Some(error) = answer.get("error") {
            let text = |field| {
                error
                    .get(field)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            return Err(Error::Command {
                command: name(),
                kind: text("kind"),
                message: text("message"),
            });
        }
        let ok = answer.get_mut("ok").map(Value::take).unwrap_or_default();
        T::deserialize(&ok).map_err(|source| Error::Answer {
            command: name(),
            answer: ok.to_string(),
            source,
        })
    }

    /// The helper's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Err(error) = self.process.kill().and_then(|()| self.process.wait()) {
            eprintln!(
                "the Java helper, process {}, may be left over: {error}",
                self.pid()
            );
        }
    }
}

/// Gives each answer to the command that waits for it, until the helper ends.
fn dispatch(answers: ChildStdout, pending: &Mutex<Option<HashMap<u64, mpsc::Sender<Value>>>>) {
    for line in BufReader::new(answers).lines().map_while(Result::ok) {
        match serde_json::from_str::<Value>(&line) {
            Ok(answer) => {
                let id = answer.get("id").and_then(Value::as_u64);
                let waiting = pending.lock().unwrap_or_else(PoisonError::into_inner);
                let waiting = waiting
                    .as_ref()
                    .zip(id)
                    .and_then(|(waiting, id)| waiting.get(&id));
                // a command that was given up does not listen any more
                let _ = waiting.map(|waiting| waiting.send(answer));
            }
            Err(error) => {
                eprintln!("the Java helper wrote a line that is no answer ({error}): {line}")
            }
        }
    }
    *pending.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
