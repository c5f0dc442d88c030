//! A member: a process that joins, reads, commits in its own way, and leaves when it is told to.

use std::sync::Arc;
use std::time::Duration;

use consumer_app::{
    Consumer, ConsumerBuilder, Error, RebalanceContext, RebalanceListener, TopicPartition,
};
use tokio::time::sleep;

use super::{GROUP, Group, MEMBERS, NODES, Protocol, SESSION_TIMEOUT, TOPIC};
use crate::network::{Dial, PORT, host_of as node_of};

/// The host of a slot's members.
pub(super) fn host_of(slot: usize) -> String {
    format!("member-{slot}")
}

/// What a slot is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Free,
    /// To join as soon as its host starts.
    Wanted,
    Running,
    /// To leave as soon as it sees this.
    Leaving,
}

/// By slot.
#[derive(Default)]
pub(super) struct Members {
    pub(super) states: [State; MEMBERS],
    /// How many members a slot had.
    pub(super) counts: [u64; MEMBERS],
    /// Which are cut off from the brokers.
    pub(super) cut: [bool; MEMBERS],
    /// Which were cut off at some time since they began to leave.
    pub(super) was_cut: [bool; MEMBERS],
    /// The last fault is over: nobody takes long any more.
    pub(super) hurry: bool,
}

impl Members {
    pub(super) fn cut(&mut self, slot: usize) {
        self.cut[slot] = true;
        self.was_cut[slot] = true;
    }

    /// Slots in this state.
    pub(super) fn are(&self, state: State) -> Vec<usize> {
        (0..MEMBERS)
            .filter(|slot| self.states[*slot] == state)
            .collect()
    }
}

/// How a member commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commits {
    /// `enable.auto.commit`, every so often.
    Automatically(Duration),
    /// After each poll, and waits for it.
    EachPoll,
    /// After so many polls, and when something is revoked.
    Seldom(u32),
}

/// What a member is like.
#[derive(Clone, Copy, Debug)]
struct Habits {
    commits: Commits,
    on_revoke: bool,
    /// The longest that it waits for records.
    patience: Duration,
    /// How long it works on them, and then has processed them.
    work: Duration,
    max_poll_records: u32,
}

impl Habits {
    fn drawn(random: &mut fastrand::Rng, in_order: bool) -> Self {
        Self {
            commits: match random.u8(0..3) {
                0 => Commits::Automatically(Duration::from_millis(random.u64(50..2_000))),
                1 => Commits::EachPoll,
                _ => Commits::Seldom(random.u32(2..20)),
            },
            on_revoke: in_order || random.bool(),
            patience: Duration::from_millis(random.u64(10..300)),
            work: Duration::from_millis(match random.u8(0..3) {
                0 => random.u64(0..1_000),
                _ => random.u64(0..60),
            }),
            max_poll_records: random.u32(1..40),
        }
    }
}

/// What a slot's host runs.
pub(super) async fn run(group: Group, slot: usize) -> turmoil::Result {
    let number = {
        let mut members = group.members.borrow_mut();
        if members.states[slot] != State::Wanted {
            return Ok(());
        }
        members.states[slot] = State::Running;
        members.counts[slot] += 1;
        members.counts[slot]
    };
    let name = format!("{slot}.{number}");
    let seed = group.setup.seed << 16 | (slot as u64) << 8 | number;
    let habits = Habits::drawn(&mut fastrand::Rng::with_seed(seed), group.setup.in_order);
    group
        .checker()
        .journal
        .note(format_args!("{name} starts, {habits:?}"));
    let mut consumer = builder(&group, slot, &name, habits).spawn_local()?;
    consumer.subscribe([TOPIC]).await?;
    let mut polls = 0;
    while group.members.borrow().states[slot] == State::Running {
        let polled = consumer.poll(habits.patience).await;
        group.checker().polled(&name);
        match polled {
            Ok(records) => {
                group.checker().given(&name, &records);
                if !group.members.borrow().hurry {
                    sleep(habits.work).await;
                }
                group.checker().processed(&records);
            }
            Err(error) => failed(&group, &name, "poll", &error),
        }
        polls += 1;
        let commits = match habits.commits {
            Commits::Automatically(_) => false,
            Commits::EachPoll => true,
            Commits::Seldom(every) => polls % every == 0,
        };
        if commits && let Err(error) = consumer.commit().await {
            failed(&group, &name, "commit", &error);
        }
    }
    {
        let mut members = group.members.borrow_mut();
        members.was_cut[slot] = members.cut[slot];
    }
    consumer.close(Duration::from_secs(5)).await?;
    // who cannot commit in time is not waited for
    let in_order = !group.members.borrow().was_cut[slot];
    group.checker().ended(&name, in_order);
    group.members.borrow_mut().states[slot] = State::Free;
    Ok(())
}

/// Some failures are to be expected of who is cut off or late; those that nobody can do anything about are not.
fn failed(group: &Group, name: &str, what: &str, error: &Error) {
    let late = matches!(error, Error::Group(error) if matches!(**error, consumer_app::GroupError::CommitFailed { .. }));
    let mut checker = group.checker();
    let line = format_args!("{name} cannot {what}: {error}");
    if error.is_retriable() || late && !group.setup.in_order {
        checker.journal.note(line);
    } else {
        checker.journal.violation(line);
    }
}

fn builder(group: &Group, slot: usize, name: &str, habits: Habits) -> ConsumerBuilder {
    let servers: Vec<_> = (1..=NODES)
        .map(|node| format!("{}:{PORT}", node_of(node)))
        .collect();
    let builder = Consumer::builder()
        .bootstrap_servers(&servers.join(","))
        .group_id(GROUP)
        .client_id(name)
        .set("auto.offset.reset", "earliest")
        .set("request.timeout.ms", "4000")
        .set("default.api.timeout.ms", "8000")
        .set("socket.connection.setup.timeout.ms", "2000")
        .set("max.poll.interval.ms", "30000")
        .set("max.poll.records", &habits.max_poll_records.to_string())
        .connector(Arc::new(Dial {
            client: host_of(slot),
            cuts: group.cuts.clone(),
        }))
        .rebalance_listener(Listener {
            checker: Arc::clone(&group.checker),
            name: name.to_owned(),
            commits: habits.on_revoke,
        });
    let builder = match habits.commits {
        Commits::Automatically(every) => {
            builder.set("auto.commit.interval.ms", &every.as_millis().to_string())
        }
        _ => builder.set("enable.auto.commit", "false"),
    };
    let classic = |strategy: &str| {
        [
            ("group.protocol", "classic".to_owned()),
            ("partition.assignment.strategy", strategy.to_owned()),
            (
                "session.timeout.ms",
                SESSION_TIMEOUT.as_millis().to_string(),
            ),
            ("heartbeat.interval.ms", "1000".to_owned()),
        ]
    };
    let settings = match group.setup.protocol {
        Protocol::Range => classic("range").to_vec(),
        Protocol::CooperativeSticky => classic("cooperative-sticky").to_vec(),
        Protocol::Consumer => vec![("group.protocol", "consumer".to_owned())],
    };
    settings
        .iter()
        .fold(builder, |builder, (key, value)| builder.set(key, value))
}

struct Listener {
    checker: Arc<std::sync::Mutex<crate::checker::group::GroupChecker>>,
    name: String,
    commits: bool,
}

impl Listener {
    async fn gone(&self, how: &str, context: &RebalanceContext, partitions: &[TopicPartition]) {
        if self.commits {
            let committed = context.commit().await;
            if let Err(error) = committed {
                let line = format!("{}: not committed when {how}: {error}", self.name);
                self.checker.lock().unwrap().journal.note(line);
            }
        }
        self.checker
            .lock()
            .unwrap()
            .gone(&self.name, how, partitions);
    }
}

impl RebalanceListener for Listener {
    async fn assigned(&self, _: &RebalanceContext, partitions: &[TopicPartition]) {
        self.checker
            .lock()
            .unwrap()
            .assigned(&self.name, partitions);
    }

    async fn revoked(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        self.gone("revoked", context, partitions).await;
    }

    async fn lost(&self, context: &RebalanceContext, partitions: &[TopicPartition]) {
        self.gone("lost", context, partitions).await;
    }
}
