//! Our consumers, in a thread of their own: one of assigned partitions, and a group of each protocol.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::exactly_once::ExactlyOnce;
use super::member::{self, Group};
use super::reader;
use super::setup::{Seed, World};

/// What our consumers are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Members come and go.
    Churn,
    /// Nobody goes or rests any more.
    Finish,
    /// Commit, close, and end.
    End,
}

/// A checker that is asked from another thread.
pub(crate) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Shared<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all of them do in common.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) servers: String,
    pub(crate) seed: Seed,
    pub(crate) phase: watch::Receiver<Phase>,
    pub(crate) world: Arc<World>,
}

/// The consumers at work.
pub(crate) struct Clients {
    phase: watch::Sender<Phase>,
    thread: JoinHandle<Result<()>>,
    pub(crate) reader: Shared<ExactlyOnce>,
    pub(crate) groups: Vec<Group>,
}

impl Clients {
    pub(crate) fn start(world: &Arc<World>, seed: Seed) -> Self {
        let (phase, watched) = watch::channel(Phase::Churn);
        let common = Common {
            servers: world.bootstrap_servers(),
            seed,
            phase: watched,
            world: Arc::clone(world),
        };
        let checker = Shared::default();
        let groups = member::groups(seed);
        let (for_reader, for_members) = (checker.clone(), groups.clone());
        let thread = thread::spawn(move || {
            common.world.network.enter()?;
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async move {
                let mut all = JoinSet::new();
                all.spawn(reader::run(common.clone(), for_reader));
                for (index, group) in for_members.into_iter().enumerate() {
                    for slot in 0..member::SLOTS {
                        let subject = 100 + 10 * index as u64 + slot;
                        all.spawn(member::run(common.clone(), group.clone(), subject));
                    }
                }
                while let Some(ended) = all.join_next().await {
                    ended.map_err(|panic| anyhow!("a consumer's task: {panic}"))??;
                }
                Ok(())
            })
        });
        Self {
            phase,
            thread,
            reader: checker,
            groups,
        }
    }

    /// An error as soon as something came that must not.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.thread.is_finished(), "a consumer has ended by itself");
        let mut violations = self.reader.lock().violations.clone();
        for group in &self.groups {
            let checker = group.checker.lock();
            let named = checker.violations.iter();
            violations.extend(named.map(|violation| format!("{}: {violation}", group.name)));
        }
        ensure!(
            violations.is_empty(),
            "{} violations, as\n{}",
            violations.len(),
            violations[..violations.len().min(20)].join("\n")
        );
        Ok(())
    }

    /// Waits until everything before `ends` came to all, and tells after how long it had to whom.
    pub(crate) fn await_ends(
        &self,
        ends: &BTreeMap<i32, i64>,
        limit: Duration,
    ) -> Result<BTreeMap<&'static str, Duration>> {
        self.phase.send_replace(Phase::Finish);
        let begin = Instant::now();
        let mut complete = BTreeMap::new();
        loop {
            self.check()?;
            let mut missing = vec![("reader", self.reader.lock().missing(ends))];
            let groups = self.groups.iter();
            missing.extend(groups.map(|group| (group.name, group.checker.lock().missing(ends))));
            let took = begin.elapsed();
            for (name, missing) in &missing {
                if missing.is_empty() {
                    complete.entry(*name).or_insert(took);
                }
            }
            if complete.len() == missing.len() {
                return Ok(complete);
            }
            ensure!(
                took < limit,
                "after {limit:?} without a fault this many records are missing, by partition: {missing:?}"
            );
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Has all of them commit and close.
    pub(crate) fn end(self) -> Result<(Shared<ExactlyOnce>, Vec<Group>)> {
        self.phase.send_replace(Phase::End);
        let ended = self.thread.join();
        ended
            .map_err(|_| anyhow!("the consumers' thread panicked"))?
            .context("a consumer")?;
        Ok((self.reader, self.groups))
    }
}
