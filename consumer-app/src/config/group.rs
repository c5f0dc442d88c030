//! Keys of groups: membership, assignment, commits.

use std::time::Duration;

use super::ConsumerConfig;
use super::choice::{Assignor, GroupProtocol};
use super::feature::Feature;
use super::key::{ConfigKey, Field, Nature, Slot};
use super::kind::{Assignors, Flag, Kind, OneOf, Optional, Shown, Span, Text, shown_by_copy};
use super::section::{returned, section};

shown_by_copy!(GroupProtocol);

section! {
    /// Groups. Without `group.id` these have no effect.
    Group in group, Some(Feature::Groups);

    /// The group that this consumer belongs to; needed to subscribe and to commit.
    "group.id" => pub group_id: Option<String> as Option<&str> = Optional(Text::SENT_NOT_EMPTY), None;

    /// A name of this member that outlasts restarts, so that a short restart moves no partitions (KIP-345).
    "group.instance.id" => pub group_instance_id: Option<String> as Option<&str>
        = Optional(Text::LEGAL_NAME), None;

    /// Who computes the assignment: the members (`classic`) or the coordinator (`consumer`, KIP-848).
    "group.protocol" => pub group_protocol: GroupProtocol
        = OneOf::<GroupProtocol>::in_any_case(), GroupProtocol::Classic;

    /// The coordinator's assignor, for `group.protocol=consumer` only.
    "group.remote.assignor" => pub group_remote_assignor: Option<String> as Option<&str>
        = Optional(Text::SENT_NOT_EMPTY), None;

    /// The members' assignors, the preferred one first, for `group.protocol=classic` only.
    "partition.assignment.strategy" => pub partition_assignment_strategy: Vec<Assignor> as &[Assignor]
        = Assignors, vec![Assignor::Range, Assignor::CooperativeSticky];

    /// How long the coordinator waits for a heartbeat before the member is out, for `group.protocol=classic` only.
    "session.timeout.ms" => pub session_timeout: Duration = Span::int_ms(1), Duration::from_secs(45);

    /// The time between heartbeats, less than `session.timeout.ms`, for `group.protocol=classic` only.
    "heartbeat.interval.ms" => pub heartbeat_interval: Duration = Span::int_ms(1), Duration::from_secs(3);

    /// The longest time between two polls before the member leaves the group; also how long a rebalance may take.
    "max.poll.interval.ms" => pub max_poll_interval: Duration = Span::int_ms(1), Duration::from_secs(300);

    /// Whether what has been processed is committed from time to time. Off without a group.
    "enable.auto.commit" => pub(super) auto_commit_asked: bool = Flag, true;

    /// The time between automatic commits.
    "auto.commit.interval.ms" => pub auto_commit_interval: Duration = Span::int_ms(0), Duration::from_secs(5);

    /// Whether a subscription by pattern leaves out the cluster's own topics.
    "exclude.internal.topics" => pub exclude_internal_topics: bool = Flag, true;
}

impl ConsumerConfig {
    /// Whether what has been processed is committed from time to time; never so without a group.
    ///
    /// Key: `enable.auto.commit`.
    #[must_use]
    pub fn enable_auto_commit(&self) -> bool {
        self.auto_commit_asked() && self.group_id().is_some()
    }
}
