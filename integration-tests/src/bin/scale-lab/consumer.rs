//! The consumer's process, as the lab talks to it: a line says what to do, a line answers what it cost.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

/// What the consumer has used for something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// Processor time of all its threads, in user and kernel mode.
    pub(crate) cpu: Duration,
    pub(crate) fetches: u64,
    pub(crate) records: u64,
}

impl Cost {
    /// Of a core.
    pub(crate) fn share(&self) -> f64 {
        self.cpu.as_secs_f64() / self.wall.as_secs_f64()
    }
}

/// Dropping it kills the process.
pub(crate) struct Consumer {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Consumer {
    pub(crate) fn start(bootstrap_servers: &str, partitions: i32) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["read", bootstrap_servers, &partitions.to_string()]);
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self {
            to: process.stdin.take().context("its input")?,
            from: BufReader::new(process.stdout.take().context("its output")?),
            process,
        })
    }

    /// Waits until every partition has been asked for.
    pub(crate) fn begin(&mut self) -> Result<Cost> {
        self.answer()
    }

    /// Polls for so long, in vain.
    pub(crate) fn idle(&mut self, time: Duration) -> Result<Cost> {
        self.ask(&format!("idle {}", time.as_millis()))?;
        self.answer()
    }

    /// Polls until so many records have come, which `produce` writes meanwhile.
    pub(crate) fn read(
        &mut self,
        records: u64,
        produce: impl FnOnce() -> Result<()>,
    ) -> Result<Cost> {
        self.ask(&format!("read {records}"))?;
        produce()?;
        let cost = self.answer()?;
        ensure!(
            cost.records == records,
            "{} records of {records}",
            cost.records
        );
        Ok(cost)
    }

    pub(crate) fn end(mut self) -> Result<()> {
        self.ask("end")?;
        let status = self.process.wait()?;
        ensure!(status.success(), "the consumer ended: {status}");
        Ok(())
    }

    fn ask(&mut self, what: &str) -> Result<()> {
        writeln!(self.to, "{what}")?;
        Ok(self.to.flush()?)
    }

    fn answer(&mut self) -> Result<Cost> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        let numbers: Vec<u64> = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        let [wall, cpu, fetches, records] = numbers[..] else {
            bail!("the consumer said {line:?}");
        };
        Ok(Cost {
            wall: Duration::from_nanos(wall),
            cpu: Duration::from_nanos(cpu),
            fetches,
            records,
        })
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // where it has ended by itself there is nothing to kill
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
