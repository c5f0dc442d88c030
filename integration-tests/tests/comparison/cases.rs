//! The cases, by subject.

mod api_versions;
mod deletion;
mod fetch_errors;
mod fetch_limits;
mod fetch_versions;
mod leader_epochs;
mod list_offsets;
mod metadata;
mod nodes;
mod produce;
mod producer_ids;
mod session_cache;
mod session_errors;
mod session_measured;
mod session_moves;
mod sessions;
mod topics;
mod transaction_log;
mod transactions;
mod waiting;

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};

use kafka_protocol::protocol::{Message, Request};
use libtest_mimic::Trial;

use crate::clusters::Clusters::{Shared, Small};
use crate::engine::Totals;
use crate::subject;

pub(crate) fn all(totals: &Arc<Mutex<Totals>>) -> Vec<Trial> {
    vec![
        // the longest ones first
        subject(totals, "session_cache", Small, session_cache::run),
        subject(totals, "sessions", Shared, sessions::run),
        subject(totals, "session_moves", Shared, session_moves::run),
        subject(totals, "session_measured", Shared, session_measured::run),
        subject(totals, "session_errors", Shared, session_errors::run),
        subject(totals, "waiting", Shared, waiting::run),
        subject(totals, "deletion", Shared, deletion::run),
        subject(totals, "nodes", Shared, nodes::run),
        subject(totals, "leader_epochs", Shared, leader_epochs::run),
        subject(totals, "transactions", Shared, transactions::run),
        subject(totals, "fetch_versions", Shared, fetch_versions::run),
        subject(totals, "fetch_limits", Shared, fetch_limits::run),
        subject(totals, "fetch_errors", Shared, fetch_errors::run),
        subject(totals, "produce", Shared, produce::run),
        subject(totals, "list_offsets", Shared, list_offsets::run),
        subject(totals, "metadata", Shared, metadata::run),
        subject(totals, "topics", Shared, topics::run),
        subject(totals, "producer_ids", Shared, producer_ids::run),
        subject(totals, "api_versions", Shared, api_versions::run),
    ]
}

/// All versions of an API that the protocol crate knows; `api_versions` compares whether both brokers offer them.
fn versions<R: Request + Message>() -> RangeInclusive<i16> {
    R::VERSIONS.min..=R::VERSIONS.max
}
