//! Members of our groups, which come and go while all else fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use consumer_app::{
    Consumer, Error, GroupError, RebalanceContext, RebalanceListener, TopicPartition,
};
use fastrand::Rng;
use tokio::time::{Instant, sleep};

use super::at_least_once::{AtLeastOnce, Name};
use super::clients::{Common, Phase, Shared};
use super::reader::builder;
use super::setup::{Seed, TOPIC};

/// Members of each group at a time.
pub(crate) const SLOTS: u64 = 3;
/// A member's last commit comes through within this, as no fault comes any more.
const LAST_COMMIT: Duration = Duration::from_secs(60);
const CLOSE: Duration = Duration::from_secs(5);

/// A group, and what came to its members.
#[derive(Clone)]
pub(crate) struct Group {
    pub(crate) name: &'static str,
    settings: Vec<(&'static str, &'static str)>,
    pub(crate) checker: Shared<AtLeastOnce>,
    members: Arc<AtomicU32>,
}

pub(crate) const CLASSIC: &str = "chaos-classic";
pub(crate) const CONSUMER: &str = "chaos-consumer";

/// One of each protocol.
pub(crate) fn groups(seed: Seed) -> Vec<Group> {
    let strategy = if seed.seed.is_multiple_of(2) {
        "range"
    } else {
        "cooperative-sticky"
    };
    let classic = vec![
        ("group.protocol", "classic"),
        ("partition.assignment.strategy", strategy),
        ("session.timeout.ms", "6000"),
        ("heartbeat.interval.ms", "500"),
    ];
    let new = |name, settings| Group {
        name,
        settings,
        checker: Shared::default(),
        members: Arc::default(),
    };
    vec![
        new(CLASSIC, classic),
        new(CONSUMER, vec![("group.protocol", "consumer")]),
    ]
}

/// One member after the other, until the end.
pub(crate) async fn run(common: Common, group: Group, subject: u64) -> Result<()> {
    let mut random = common.seed.rng(subject);
    while *common.phase.borrow() != Phase::End {
        life(&common, &group, &mut random).await?;
    }
    Ok(())
}

/// What a member is like.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// By itself if it does not commit: `enable.auto.commit`.
    commits_each: Option<Duration>,
    work_ms: u64,
    lives: Duration,
}

async fn life(common: &Common, group: &Group, random: &mut Rng) -> Result<()> {
    let name = group.members.fetch_add(1, Ordering::Relaxed) + 1;
    let habits = Habits {
        commits_each: random
            .bool()
            .then(|| Duration::from_millis(random.u64(..1_000))),
        work_ms: random.u64(..40),
        lives: Duration::from_secs(random.u64(5..40)),
    };
    let id = format!("{}-{name}", group.name);
    common.world.tell(&format!("{id} comes: {habits:?}"));
    let listener = Listener {
        name,
        checker: group.checker.clone(),
        commits: habits.commits_each.is_some(),
    };
    let builder = builder(common, random)
        .client_id(&id)
        .group_id(group.name)
        .rebalance_listener(listener)
        .set("auto.commit.interval.ms", "500");
    let builder = match habits.commits_each {
        Some(_) => builder.set("enable.auto.commit", "false"),
        None => builder,
    };
    let settings = group.settings.iter();
    let builder = settings.fold(builder, |builder, (key, value)| builder.set(key, value));
    let mut member = Member {
        name,
        id,
        consumer: builder.build().await?,
        checker: group.checker.clone(),
    };
    member.consumer.subscribe([TOPIC]).await?;
    let end = Instant::now() + habits.lives;
    let mut committed = Instant::now();
    loop {
        let phase = *common.phase.borrow();
        match phase {
            Phase::Churn if Instant::now() < end => {
                sleep(Duration::from_millis(random.u64(..=habits.work_ms))).await;
            }
            Phase::Finish => {}
            Phase::Churn | Phase::End => break,
        }
        member.poll().await;
        if habits
            .commits_each
            .is_some_and(|each| committed.elapsed() >= each)
        {
            member.commit().await;
            committed = Instant::now();
        }
    }
    if *common.phase.borrow() == Phase::End {
        let begin = Instant::now();
        while !member.commit().await {
            ensure!(begin.elapsed() < LAST_COMMIT, "{} cannot commit", member.id);
        }
    }
    member.consumer.close(CLOSE).await?;
    group.checker.lock().ended(name);
    common.world.tell(&format!("{} has closed", member.id));
    Ok(())
}

struct Member {
    name: Name,
    id: String,
    consumer: Consumer,
    checker: Shared<AtLeastOnce>,
}

impl Member {
    async fn poll(&mut self) {
        match self.consumer.poll(Duration::from_millis(200)).await {
            Ok(records) => {
                let records = records.iter();
                let records = records.map(|record| (record.partition(), record.offset()));
                self.checker.lock().given(self.name, records);
            }
            Err(error) => self.failed("poll", &error),
        }
    }

    /// Whether it was committed.
    async fn commit(&mut self) -> bool {
        let asked = self.checker.lock().asks(self.name);
        let committed = self.consumer.commit().await;
        // what was taken away before the commit was made is heard of in here
        self.poll().await;
        match &committed {
            Ok(()) => self.checker.lock().committed(self.name, &asked),
            Err(error) => self.failed("commit", error),
        }
        committed.is_ok()
    }

    /// Some failures are to be expected of a member that was away; those that nobody can do anything about are not.
    fn failed(&self, what: &str, error: &Error) {
        tracing::info!("{}: {what}: {error}", self.id);
        let was_away = matches!(error, Error::Group(error) if matches!(**error, GroupError::CommitFailed { .. }));
        if !error.is_retriable() && !was_away {
            let violation = format!("{}: {what}: {error}", self.id);
            self.checker.lock().violations.push(violation);
        }
    }
}

struct Listener {
    name: Name,
    checker: Shared<AtLeastOnce>,
    commits: bool,
}

impl RebalanceListener for Listener {
    async fn assigned(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.checker
            .lock()
            .assigned(self.name, &numbers(partitions));
    }

    async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        let asked = self.checker.lock().asks(self.name);
        // what is not committed comes again
        if self.commits && context.commit().await.is_ok() {
            self.checker.lock().committed(self.name, &asked);
        }
        self.checker.lock().gone(self.name, &numbers(partitions));
    }

    async fn lost(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.checker.lock().gone(self.name, &numbers(partitions));
    }
}

fn numbers(partitions: &[TopicPartition]) -> Vec<i32> {
    partitions.iter().map(TopicPartition::partition).collect()
}
