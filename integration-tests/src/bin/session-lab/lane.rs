//! One mode with a broker of its own.

#![expect(
    clippy::disallowed_methods,
    reason = "blocking and the real clock are the point here: this watches processes, and no actor calls it"
)]

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use integration_tests::kafka::Cluster;

use crate::broker::{Counters, Logged, Sessions, agree, readers_address};
use crate::java::Clients;
use crate::mode::{Client, Mode, Version};
use crate::ours::Readers;
use crate::setting::{Habit, Load, VISIT};

/// Newcomers that have their sessions want no more of them, so each lives for so long.
const NEWCOMERS_LIVE: Duration = Duration::from_secs(30);
/// How often sessions are looked at.
const SAMPLE: Duration = Duration::from_secs(2);
/// Readers that have no sessions after so long do not read.
const SESSIONS_MADE: Duration = Duration::from_secs(60);

/// What differs from one run of a setting to another.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) load: Load,
    /// Java consumers of 4.4.0 that come and go: each wants a session of all partitions, and asks for it with each fetch until it has it.
    pub(crate) newcomers: u32,
}

/// What was seen of a mode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) mode: Mode,
    pub(crate) seconds: f64,
    pub(crate) evictions: f64,
    pub(crate) id_not_found: f64,
    pub(crate) requests: f64,
    pub(crate) request_bytes: f64,
    pub(crate) response_bytes: f64,
    pub(crate) logged: Logged,
    /// Sessions at the samples: how many on average, and partitions per session.
    pub(crate) sessions: f64,
    pub(crate) size: f64,
    pub(crate) lowest_size: f64,
    pub(crate) records: u64,
    /// Requests that only kept a session alive; Java has none.
    pub(crate) touches: Option<u64>,
    /// Partitions that readers paused or had to give away, which sessions have to forget; not counted with Java.
    pub(crate) let_go: Option<u64>,
}

/// Reads with a mode's consumers and measures, until the time is over.
pub(crate) fn run(mode: Mode, plan: &Plan, kafka: &Cluster) -> Result<Measured> {
    let mut clients = Measurand::start(mode, plan, kafka)?;
    await_sessions(mode, plan, kafka)?;
    if plan.load.habit == Habit::InGroup {
        clients.visit(plan, kafka)?;
    }
    let mut newcomers = (plan.newcomers > 0)
        .then(|| start_newcomers(plan, kafka))
        .transpose()?;
    thread::sleep(plan.load.skip);

    let begun = Instant::now();
    let from = Counters::read(kafka, &plan.load)?;
    let (records, touches, let_go) = (clients.records()?, clients.touches()?, clients.let_go());
    let mut samples = Vec::new();
    while begun.elapsed() < plan.load.measure {
        samples.push(Sessions::read(kafka, &plan.load)?);
        clients.check()?;
        newcomers.as_mut().map_or(Ok(()), Clients::check)?;
        thread::sleep(SAMPLE);
    }
    let to = Counters::read(kafka, &plan.load)?;
    let seconds = begun.elapsed().as_secs_f64();
    let logged = Logged::between(kafka, &from, &to)?;
    let evictions = to.evictions - from.evictions;
    agree(mode, &plan.load, evictions, &logged)?;

    let sessions: f64 = samples.iter().map(|sample| sample.sessions).sum();
    let partitions: f64 = samples.iter().map(|sample| sample.partitions).sum();
    let sizes = samples
        .iter()
        .map(|sample| sample.partitions / sample.sessions);
    Ok(Measured {
        mode,
        seconds,
        evictions,
        id_not_found: to.id_not_found - from.id_not_found,
        requests: to.requests - from.requests,
        request_bytes: to.request_bytes - from.request_bytes,
        response_bytes: to.response_bytes - from.response_bytes,
        logged,
        sessions: sessions / samples.len() as f64,
        size: partitions / sessions,
        lowest_size: sizes.fold(plan.load.full_session(), f64::min),
        records: clients.records()? - records,
        touches: match (touches, clients.touches()?) {
            (Some(before), Some(after)) => Some(after - before),
            _ => None,
        },
        let_go: let_go
            .zip(clients.let_go())
            .map(|(before, after)| after - before),
    })
}

fn start_newcomers(plan: &Plan, kafka: &Cluster) -> Result<Clients> {
    let as_fast_as_they_can = Load {
        readers: plan.newcomers,
        work: (Duration::ZERO, Duration::ZERO),
        max_poll_records: 500,
        habit: Habit::Assigned,
        ..plan.load
    };
    Clients::read(
        (Client::Classic, Version::V4_4_0),
        Some((NEWCOMERS_LIVE, Duration::ZERO)),
        &as_fast_as_they_can,
        kafka.bootstrap_servers(),
        kafka,
    )
}

/// Until as many readers have a session as can have one.
fn await_sessions(mode: Mode, plan: &Plan, kafka: &Cluster) -> Result<()> {
    let wanted = plan.load.slots.min(plan.load.readers) * u32::try_from(plan.load.brokers)?;
    let begun = Instant::now();
    loop {
        let sessions = Sessions::read(kafka, &plan.load)?.sessions;
        if sessions >= f64::from(wanted) {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < SESSIONS_MADE,
            "{mode}: {sessions} of {wanted} sessions are there after {SESSIONS_MADE:?}"
        );
        thread::sleep(SAMPLE / 4);
    }
}

/// The consumers that are measured.
enum Measurand {
    Ours(Readers),
    Java {
        of: (Client, Version),
        readers: Clients,
        /// The second members of the readers' groups.
        visitors: Option<Clients>,
    },
}

impl Measurand {
    fn start(mode: Mode, plan: &Plan, kafka: &Cluster) -> Result<Self> {
        let servers = readers_address(kafka)?;
        Ok(match mode {
            Mode::Ours(policy) => Self::Ours(Readers::start(policy, &plan.load, &servers)?),
            Mode::Java(client, version) => Self::Java {
                of: (client, version),
                readers: Clients::read((client, version), None, &plan.load, &servers, kafka)?,
                visitors: None,
            },
        })
    }

    /// Into each reader's group comes a second member, and leaves it again, time after time.
    fn visit(&mut self, plan: &Plan, kafka: &Cluster) -> Result<()> {
        match self {
            Self::Ours(readers) => readers.visit(),
            Self::Java { of, visitors, .. } => {
                let servers = readers_address(kafka)?;
                let stay = Some((VISIT, VISIT));
                *visitors = Some(Clients::read(*of, stay, &plan.load, &servers, kafka)?);
            }
        }
        Ok(())
    }

    fn records(&self) -> Result<u64> {
        match self {
            Self::Ours(readers) => Ok(readers.records()),
            Self::Java {
                readers, visitors, ..
            } => {
                let visitors = visitors.as_ref().map_or(Ok(0), Clients::records)?;
                Ok(readers.records()? + visitors)
            }
        }
    }

    fn touches(&self) -> Result<Option<u64>> {
        match self {
            Self::Ours(readers) => readers.touches().map(Some),
            Self::Java { .. } => Ok(None),
        }
    }

    fn let_go(&self) -> Option<u64> {
        match self {
            Self::Ours(readers) => Some(readers.let_go()),
            Self::Java { .. } => None,
        }
    }

    fn check(&mut self) -> Result<()> {
        match self {
            Self::Ours(readers) => readers.check(),
            Self::Java {
                readers, visitors, ..
            } => {
                visitors.as_mut().map_or(Ok(()), Clients::check)?;
                readers.check()
            }
        }
    }
}
