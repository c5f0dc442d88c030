//! A process that cannot outlive the test process.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::error::{Context, Result};

/// Starts the program given as arguments and stays its parent. Takes signals for it, by name, as lines on stdin and answers each with a
/// line. The end of stdin, which the kernel brings about when the test process dies in whatever way, kills the program, also a stopped one.
/// Ends with the program and with its status.
const GUARD: &str = r#"
exec 3<&0
out=$1 err=$2
shift 2
"$@" </dev/null >>"$out" 2>>"$err" 3<&- &
program=$!
echo "$program"
{
    while read -r signal <&3; do
        kill -s "$signal" "$program" 2>/dev/null && echo sent || echo gone
    done
    kill -s KILL "$program" 2>/dev/null
} &
guard=$!
exec >/dev/null
wait "$program" 2>/dev/null
status=$?
kill "$guard" 2>/dev/null
exit "$status"
"#;

/// A running program with its output in files; dropping it kills the program and waits until it is gone.
#[derive(Debug)]
pub struct Process {
    shell: Child,
    signals: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pid: u32,
}

impl Process {
    /// Starts a program with its arguments; its output is added to the two files, which may be one and the same. What else the command
    /// says, as variables of the environment, has no effect.
    ///
    /// # Errors
    ///
    /// [`Error::Io`](super::Error::Io) if a file cannot be opened or no shell started. A program that is not there ends with status 127.
    pub fn spawn(program: &Command, out: &Path, err: &Path) -> Result<Self> {
        let name = program.get_program().to_string_lossy();
        for file in [out, err] {
            File::options()
                .create(true)
                .append(true)
                .open(file)
                .context(|| format!("create {}", file.display()))?;
        }
        let mut shell = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .args([out, err])
            .arg(program.get_program())
            .args(program.get_args())
            // Ctrl-C at the terminal is for the test process; its end is what ends this one
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context(|| format!("start {name}"))?;
        let (Some(signals), Some(answers)) = (shell.stdin.take(), shell.stdout.take()) else {
            unreachable!("both were asked for as pipes");
        };
        let mut process = Self {
            shell,
            signals: Some(signals),
            answers: BufReader::new(answers),
            pid: 0,
        };
        let line = process.answer().context(|| format!("start {name}"))?;
        process.pid = line
            .parse()
            .map_err(io::Error::other)
            .context(|| format!("start {name}: pid {line:?}"))?;
        Ok(process)
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal by name (`TERM`). Returns when it is sent; false if the program has ended.
    ///
    /// # Errors
    ///
    /// That the shell which sends it cannot be reached.
    pub fn signal(&mut self, name: &str) -> io::Result<bool> {
        let Some(signals) = &mut self.signals else {
            return Ok(false);
        };
        if let Err(error) = writeln!(signals, "{name}") {
            return if error.kind() == io::ErrorKind::BrokenPipe {
                Ok(false)
            } else {
                Err(error)
            };
        }
        Ok(self.answer()? == "sent")
    }

    /// How the program ended, if it has. One that a signal ended has 128 and the signal's number as its status.
    ///
    /// # Errors
    ///
    /// That of the operating system.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.shell.try_wait()
    }

    /// Waits for the end of the program; `None` if it still runs after `limit`.
    ///
    /// # Errors
    ///
    /// That of the operating system.
    pub fn wait(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        let end = Instant::now() + limit;
        loop {
            let ended = self.ended()?;
            if ended.is_some() || Instant::now() >= end {
                return Ok(ended);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The next line of the shell; empty if it has ended.
    fn answer(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.signals.take());
        // the shell is the program's parent: when it has ended, the program has
        if let Err(error) = self.shell.wait() {
            eprintln!("process {} may be left over: {error}", self.pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::RunFolder;
    use super::*;
    use std::fs;

    /// Whether a process exists and is no zombie.
    fn lives(pid: u32) -> bool {
        let state = Command::new("ps")
            .args(["-o", "stat=", "-p", &pid.to_string()])
            .output()
            .unwrap();
        let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
        !state.is_empty() && !state.starts_with('Z')
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_status_are_the_programs() {
        let run = RunFolder::create().unwrap();
        let (out, err) = (run.path().join("out file"), run.path().join("err"));
        let mut process = Process::spawn(
            &shell("echo 'to out'; echo 'to err' >&2; exit 7"),
            &out,
            &err,
        )
        .unwrap();
        let status = process.wait(Duration::from_secs(20)).unwrap().unwrap();
        assert_eq!(status.code(), Some(7));
        assert_eq!(fs::read_to_string(out).unwrap(), "to out\n");
        assert_eq!(fs::read_to_string(err).unwrap(), "to err\n");
        assert!(
            !process.signal("TERM").unwrap(),
            "nobody is there to be signalled"
        );
    }

    #[test]
    fn signals_reach_the_program() {
        let run = RunFolder::create().unwrap();
        let out = run.path().join("out");
        let script = "trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
        let mut process = Process::spawn(&shell(script), &out, &out).unwrap();
        while fs::read_to_string(&out).unwrap() != "ready\n" {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(process.signal("TERM").unwrap());
        assert_eq!(
            process
                .wait(Duration::from_secs(20))
                .unwrap()
                .unwrap()
                .code(),
            Some(3)
        );
        assert_eq!(fs::read_to_string(&out).unwrap(), "ready\nasked\n");
    }

    #[test]
    fn dropping_kills_also_what_is_stopped() {
        let run = RunFolder::create().unwrap();
        let out = run.path().join("out");
        for stopped in [false, true] {
            let mut process = Process::spawn(
                &shell("trap '' TERM; while :; do sleep 0.05; done"),
                &out,
                &out,
            )
            .unwrap();
            let pid = process.pid();
            if stopped {
                assert!(process.signal("STOP").unwrap());
            }
            assert!(lives(pid));
            drop(process);
            assert!(!lives(pid), "stopped: {stopped}");
        }
    }
}
