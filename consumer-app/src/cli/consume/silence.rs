//! When nothing is printed: whether to say why, and what. No I/O: the text is returned.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use consumer_app::{Consumer, TopicPartition};

/// So long nothing is said: a broker may take its time.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at after that.
const LOOK: Duration = Duration::from_secs(1);
/// So many partitions are named; more are counted.
const NAMED: usize = 3;

/// Speaks once for each cause of a silence.
#[derive(Debug)]
pub(super) struct Silence {
    next_look: Instant,
    said: Option<Cause>,
    /// A topic that is read to its end and now and then gets a record would have it said each time.
    has_said_at_end: bool,
}

/// How far the program has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has asked for these topics.
    Topics(Vec<String>),
    /// It has assigned these partitions.
    Reading(Vec<View>),
}

/// What is known of an assigned partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) name: TopicPartition,
    /// The next offset to be printed.
    pub(super) position: Option<i64>,
    /// The end that a broker last told.
    pub(super) end: Option<i64>,
}

impl Stage {
    pub(super) fn of(consumer: &Consumer) -> Self {
        // those that have been read to where they were to end
        let paused = consumer.paused();
        let mut views: Vec<_> = consumer
            .assignment()
            .into_iter()
            .filter(|name| !paused.contains(name))
            .map(|name| View {
                position: consumer.position(&name),
                end: consumer.known_end(&name),
                name,
            })
            .collect();
        views.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Self::Reading(views)
    }
}

/// Why nothing comes, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    NoTopics,
    NoPosition,
    NoAnswer,
    Stuck,
    AtEnd,
}

impl View {
    fn cause(&self) -> Cause {
        match (self.position, self.end) {
            (None, _) => Cause::NoPosition,
            (Some(_), None) => Cause::NoAnswer,
            (Some(position), Some(end)) if position < end => Cause::Stuck,
            (Some(_), Some(_)) => Cause::AtEnd,
        }
    }

    fn describe(&self, text: &mut String) {
        let name = &self.name;
        // writing to a string does not fail
        let _ = match (self.position, self.end) {
            (Some(position), Some(end)) if position < end => {
                write!(text, "{name} at offset {position} of {end}")
            }
            (Some(position), _) => write!(text, "{name} at offset {position}"),
            (None, _) => write!(text, "{name}"),
        };
    }
}

impl Silence {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            next_look: now + PATIENCE,
            said: None,
            has_said_at_end: false,
        }
    }

    /// Records have come.
    pub(super) fn heard(&mut self, now: Instant) {
        self.next_look = now + PATIENCE;
        self.said = None;
    }

    /// When [`look`](Self::look) may next have something to say.
    pub(super) fn next_look(&self) -> Instant {
        self.next_look
    }

    /// What to say now, if anything.
    pub(super) fn look(&mut self, now: Instant, stage: impl FnOnce() -> Stage) -> Option<String> {
        if now < self.next_look {
            return None;
        }
        self.next_look = now + LOOK;
        let (cause, text) = explain(&stage())?;
        let is_new = self.said.replace(cause) != Some(cause);
        let is_known = cause == Cause::AtEnd && std::mem::replace(&mut self.has_said_at_end, true);
        (is_new && !is_known).then_some(text)
    }
}

fn explain(stage: &Stage) -> Option<(Cause, String)> {
    let views = match stage {
        Stage::Topics(topics) => {
            let text = format!(
                "waiting: no broker has told which partitions there are of {}",
                topics.join(", ")
            );
            return Some((Cause::NoTopics, text));
        }
        Stage::Reading(views) => views,
    };
    let cause = views.iter().map(View::cause).min()?;
    let mut text = String::from(match cause {
        Cause::NoTopics | Cause::NoPosition => "waiting: no leader has told the position of ",
        Cause::NoAnswer => "waiting: no leader has answered a fetch of ",
        Cause::Stuck => "waiting: there is more, but nothing comes of ",
        Cause::AtEnd => "waiting at the end: nothing newer in ",
    });
    let concerned = || views.iter().filter(|view| view.cause() == cause);
    for (index, view) in concerned().take(NAMED).enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        view.describe(&mut text);
    }
    let more = concerned().count().saturating_sub(NAMED);
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    Some((cause, text))
}
