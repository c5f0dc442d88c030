//! One broker process.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Context, Error, Result, tail};
use super::jars::Jars;
use super::ports::Port;
use super::probe;
use super::process::Process;

/// How long a node may take to start or to stop. A node alone on a machine needs two seconds.
pub(crate) const START_STOP: Duration = Duration::from_secs(90);
/// How long a single probe waits.
const PROBE: Duration = Duration::from_secs(2);

/// A node of a cluster; its files stay when its process does not.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: i32,
    /// The plain listener's, then those of the other listeners.
    pub(crate) ports: Vec<Port>,
    pub(crate) jmx: Port,
    pub(crate) data: PathBuf,
    pub(crate) properties: PathBuf,
    pub(crate) log: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    Down,
    Running(Process),
    Frozen(Process),
}

impl State {
    fn name(&self) -> &'static str {
        match self {
            Self::Down => "not running",
            Self::Running(_) => "running",
            Self::Frozen(_) => "frozen",
        }
    }
}

impl Node {
    pub(crate) fn new(id: i32, ports: Vec<Port>, jmx: Port, folder: &std::path::Path) -> Self {
        Self {
            id,
            ports,
            jmx,
            data: folder.join("data"),
            properties: folder.join("server.properties"),
            log: folder.join("broker.log"),
            state: Mutex::new(State::Down),
        }
    }

    /// The address of the listener with this place among the ports.
    pub(crate) fn address(&self, listener: usize) -> Option<SocketAddr> {
        self.ports
            .get(listener)
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port.number())))
    }

    pub(crate) fn plain_address(&self) -> SocketAddr {
        SocketAddr::from((
            Ipv4Addr::LOCALHOST,
            self.ports.first().map_or(0, Port::number),
        ))
    }

    /// Starts the broker's process; it is not ready yet.
    pub(crate) fn spawn(&self, jars: &Jars, jvm_options: &[String]) -> Result<()> {
        let mut state = self.state();
        if !matches!(*state, State::Down) {
            return Err(self.wrong_state("start", &state));
        }
        let mut java = jars.java();
        java.args(self.jmx_options())
            .args(LOGGING)
            .args(jvm_options)
            .arg("kafka.Kafka")
            .arg(&self.properties);
        *state = State::Running(Process::spawn(&java, &self.log, &self.log)?);
        Ok(())
    }

    /// Waits until the broker answers ApiVersions.
    pub(crate) fn await_ready(&self) -> Result<()> {
        let end = Instant::now() + START_STOP;
        loop {
            self.check_alive()?;
            let asked = probe::ask(self.plain_address(), PROBE);
            let Err(error) = asked.and_then(|mut stream| probe::read_answer(&mut stream, PROBE))
            else {
                return Ok(());
            };
            if Instant::now() >= end {
                return Err(self.timeout(
                    "become ready",
                    format!("ApiVersions at {}: {error}", self.plain_address()),
                ));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// An error with the log if the process ended by itself.
    pub(crate) fn check_alive(&self) -> Result<()> {
        let mut state = self.state();
        let (State::Running(process) | State::Frozen(process)) = &mut *state else {
            return Ok(());
        };
        let ended = process
            .ended()
            .context(|| format!("watch node {}", self.id))?;
        let Some(status) = ended else { return Ok(()) };
        *state = State::Down;
        Err(Error::NodeExited {
            node: self.id,
            status,
            log: self.log.clone(),
            tail: tail(&self.log),
        })
    }

    /// SIGTERM, and waits for the end.
    pub(crate) fn stop(&self) -> Result<()> {
        self.end("stop", "TERM")
    }

    /// SIGKILL, and waits for the end.
    pub(crate) fn kill(&self) -> Result<()> {
        self.end("kill", "KILL")
    }

    fn end(&self, action: &'static str, signal: &str) -> Result<()> {
        let mut state = self.state();
        let process = match &mut *state {
            State::Running(process) => process,
            // a frozen process dies of SIGKILL, but does not hear SIGTERM
            State::Frozen(process) if signal == "KILL" => process,
            _ => return Err(self.wrong_state(action, &state)),
        };
        process
            .signal(signal)
            .context(|| format!("{action} node {}", self.id))?;
        let ended = process
            .wait(START_STOP)
            .context(|| format!("{action} node {}", self.id))?;
        if ended.is_none() {
            return Err(self.timeout("end", format!("{signal} was sent")));
        }
        *state = State::Down;
        Ok(())
    }

    /// SIGSTOP.
    pub(crate) fn freeze(&self) -> Result<()> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Down) {
            State::Running(mut process) => {
                let sent = process
                    .signal("STOP")
                    .context(|| format!("freeze node {}", self.id));
                *state = if sent.is_ok() {
                    State::Frozen(process)
                } else {
                    State::Running(process)
                };
                sent.map(|_| ())
            }
            other => {
                *state = other;
                Err(self.wrong_state("freeze", &state))
            }
        }
    }

    /// SIGCONT.
    pub(crate) fn thaw(&self) -> Result<()> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, State::Down) {
            State::Frozen(mut process) => {
                let sent = process
                    .signal("CONT")
                    .context(|| format!("thaw node {}", self.id));
                *state = if sent.is_ok() {
                    State::Running(process)
                } else {
                    State::Frozen(process)
                };
                sent.map(|_| ())
            }
            other => {
                *state = other;
                Err(self.wrong_state("thaw", &state))
            }
        }
    }

    /// The process id, if there is a process.
    pub(crate) fn pid(&self) -> Option<u32> {
        match &*self.state() {
            State::Down => None,
            State::Running(process) | State::Frozen(process) => Some(process.pid()),
        }
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.state(), State::Running(_))
    }

    pub(crate) fn timeout(&self, wanted: &'static str, state: String) -> Error {
        Error::NodeTimeout {
            node: self.id,
            wanted,
            limit: START_STOP,
            state,
            log: self.log.clone(),
            tail: tail(&self.log),
        }
    }

    fn wrong_state(&self, action: &'static str, state: &State) -> Error {
        Error::NodeState {
            node: self.id,
            action,
            state: state.name(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn jmx_options(&self) -> [String; 6] {
        let port = self.jmx.number();
        [
            format!("-Dcom.sun.management.jmxremote.port={port}"),
            format!("-Dcom.sun.management.jmxremote.rmi.port={port}"),
            "-Dcom.sun.management.jmxremote.host=127.0.0.1".into(),
            "-Djava.rmi.server.hostname=127.0.0.1".into(),
            "-Dcom.sun.management.jmxremote.authenticate=false".into(),
            "-Dcom.sun.management.jmxremote.ssl=false".into(),
        ]
    }
}

const LOGGING: [&str; 4] = [
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    // every setting, a dozen times over, would be all that the end of the log has
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config.AbstractConfig=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
];
