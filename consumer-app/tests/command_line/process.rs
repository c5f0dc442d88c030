//! The program as a process: what it prints, and how it ends.

use std::io::Read;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Longer than anything takes that is not broken.
const LIMIT: Duration = Duration::from_secs(60);

/// How a program ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None`: by a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// Without the notes about waiting: they come with time, on a machine that is busy.
    pub(crate) stderr: String,
}

impl Ended {
    /// What it printed, after it was done without a failure or a word.
    pub(crate) fn quiet(self) -> Vec<u8> {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// What it printed.
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("text")
    }

    /// The lines that it printed.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let text = self.text();
        assert!(
            text.is_empty() || text.ends_with('\n'),
            "a line is not whole: {text:?}"
        );
        text.lines().collect()
    }

    /// The lines as JSON.
    pub(crate) fn json(&self) -> Vec<Value> {
        let parse = |line: &&str| serde_json::from_str(line).expect("JSON");
        self.lines().iter().map(parse).collect()
    }
}

/// A running program; killed when dropped.
pub(crate) struct Program {
    child: Child,
    stdout: Stream,
    stderr: Stream,
}

/// Runs the program to its end.
pub(crate) fn run(arguments: &[&str]) -> Ended {
    Program::start(arguments).ended()
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// With variables of the environment.
    pub(crate) fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let (mut program, stdout) = Self::start_unread(arguments, environment);
        program.stdout = Stream::read(stdout);
        program
    }

    /// With a stdout that nobody reads until the caller does.
    pub(crate) fn start_unread(
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> (Self, ChildStdout) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_consumer-app"))
            .args(arguments)
            .env_remove("RUST_LOG")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = child.stdout.take().expect("piped");
        let stderr = Stream::read(child.stderr.take().expect("piped"));
        let program = Self {
            child,
            stdout: Stream::default(),
            stderr,
        };
        (program, stdout)
    }

    /// Waits until so many whole lines have been printed, and gives them.
    pub(crate) fn wait_for_lines(&self, count: usize) -> Vec<String> {
        let is_there = |bytes: &[u8]| bytes.iter().filter(|&&byte| byte == b'\n').count() >= count;
        let text = self.stdout.wait_until(is_there, || self.said());
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until something is on stderr, and gives the line.
    pub(crate) fn wait_for_word(&self, part: &str) -> String {
        let line_of = |text: &str| {
            let mut lines = text.split_inclusive('\n');
            let line = lines.find(|line| line.contains(part) && line.ends_with('\n'));
            line.map(|line| line.trim_end().to_owned())
        };
        let text = self.stderr.wait_until(
            |bytes| line_of(&String::from_utf8_lossy(bytes)).is_some(),
            || format!("{part:?} is not in it"),
        );
        line_of(&text).expect("waited for")
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.stderr.shared.state().bytes).into_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("it runs");
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ended {
        let stderr = self.stderr.whole();
        let stdout = self.stdout.whole();
        let status = self.child.wait().expect("it was started");
        let stderr = String::from_utf8(stderr).expect("text");
        let lines = stderr.split_inclusive('\n');
        Ended {
            code: status.code(),
            stdout,
            stderr: lines
                .filter(|line| !line.starts_with("consumer-app: waiting"))
                .collect(),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // it has ended, or the test has failed
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pipe that is read to its end by a thread.
#[derive(Default)]
struct Stream {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    is_read: bool,
    has_ended: bool,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread of a test fails here")
    }
}

impl Stream {
    fn read(mut pipe: impl Read + Send + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        shared.state().is_read = true;
        let writer = Arc::clone(&shared);
        thread::spawn(move || {
            let mut piece = vec![0; 64 * 1024];
            loop {
                let read = pipe.read(&mut piece).expect("a pipe");
                let mut state = writer.state();
                state.bytes.extend_from_slice(&piece[..read]);
                state.has_ended = read == 0;
                writer.changed.notify_all();
                if state.has_ended {
                    return;
                }
            }
        });
        Self { shared }
    }

    /// Waits for what is to come.
    fn wait_until(&self, is_there: impl Fn(&[u8]) -> bool, context: impl Fn() -> String) -> String {
        let waits = |state: &mut State| !is_there(&state.bytes) && !state.has_ended;
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), LIMIT, waits)
            .expect("no thread of a test fails here");
        let text = String::from_utf8_lossy(&state.bytes).into_owned();
        let is_there = is_there(&state.bytes);
        drop(state);
        assert!(
            is_there,
            "what is waited for did not come: {}\n{text}",
            context()
        );
        text
    }

    /// All of it.
    fn whole(&self) -> Vec<u8> {
        if !self.shared.state().is_read {
            return Vec::new();
        }
        let (mut state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.state(), LIMIT, |state| !state.has_ended)
            .expect("no thread of a test fails here");
        assert!(
            state.has_ended,
            "the program does not end: {}",
            String::from_utf8_lossy(&state.bytes)
        );
        std::mem::take(&mut state.bytes)
    }
}
