//! The cases, by subject.

mod api_versions;
mod deletion;
mod fetch_errors;
mod fetch_limits;
mod fetch_versions;
mod groups;
mod leader_epochs;
mod list_offsets;
mod metadata;
mod nodes;
mod produce;
mod producer_ids;
mod read_replicas;
mod session_cache;
mod session_errors;
mod session_measured;
mod session_moves;
mod sessions;
mod topic_creation;
mod topics;
mod transaction_log;
mod transactions;
mod waiting;

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use kafka_protocol::protocol::{Message, Request};
use libtest_mimic::Trial;

use crate::clusters::Clusters::{Small, Two};
use crate::engine::Totals;
use crate::subject;

pub(crate) fn all(totals: &Arc<Mutex<Totals>>) -> Vec<Trial> {
    vec![
        // the longest ones first
        subject(totals, "session_cache", Small, session_cache::run),
        subject(totals, "group_timeouts", Two, groups::timeouts::run),
        subject(totals, "consumer_walks", Two, groups::consumer_walks::run),
        subject(totals, "rebalances", Two, groups::rebalances::run),
        subject(totals, "static_members", Two, groups::static_members::run),
        subject(totals, "classic_groups", Two, groups::classic::run),
        subject(totals, "classic_errors", Two, groups::classic_errors::run),
        subject(
            totals,
            "consumer_rebalances",
            Two,
            groups::consumer_rebalances::run,
        ),
        subject(
            totals,
            "consumer_subscriptions",
            Two,
            groups::consumer_subscriptions::run,
        ),
        subject(totals, "consumer_static", Two, groups::consumer_static::run),
        subject(totals, "consumer_errors", Two, groups::consumer_errors::run),
        subject(totals, "consumer_groups", Two, groups::consumer::run),
        subject(totals, "protocols_mixed", Two, groups::protocols_mixed::run),
        subject(totals, "committed", Two, groups::committed::run),
        subject(totals, "coordinators", Two, groups::coordinators::run),
        subject(totals, "lists", Two, groups::lists::run),
        subject(totals, "sessions", Two, sessions::run),
        subject(totals, "session_moves", Two, session_moves::run),
        subject(totals, "session_measured", Two, session_measured::run),
        subject(totals, "session_errors", Two, session_errors::run),
        subject(totals, "read_replicas", Two, read_replicas::run),
        subject(totals, "waiting", Two, waiting::run),
        subject(totals, "deletion", Two, deletion::run),
        subject(totals, "nodes", Two, nodes::run),
        subject(totals, "leader_epochs", Two, leader_epochs::run),
        subject(totals, "transactions", Two, transactions::run),
        subject(totals, "fetch_versions", Two, fetch_versions::run),
        subject(totals, "fetch_limits", Two, fetch_limits::run),
        subject(totals, "fetch_errors", Two, fetch_errors::run),
        subject(totals, "produce", Two, produce::run),
        subject(totals, "list_offsets", Two, list_offsets::run),
        subject(totals, "metadata", Two, metadata::run),
        subject(totals, "topic_creation", Small, topic_creation::run),
        subject(totals, "topics", Two, topics::run),
        subject(totals, "producer_ids", Two, producer_ids::run),
        subject(totals, "api_versions", Two, api_versions::run),
    ]
}

/// All versions of an API that the protocol crate knows; `api_versions` compares whether both brokers offer them.
fn versions<R: Request + Message>() -> RangeInclusive<i16> {
    R::VERSIONS.min..=R::VERSIONS.max
}
