//! From the keys of a group, and what the builder was given beside them, to what the coordinator needs.

use std::sync::Arc;

use coordinator_actor::assign::{Assignor, CooperativeSticky, Range, RoundRobin, Sticky};
use coordinator_actor::{GroupConfig, GroupProtocol};
use session_actor::wire::Address;

use super::Callbacks;
use crate::config::{self, ConsumerConfig};
use crate::facade::{reconnect, retry};

/// What a key cannot say.
#[derive(Clone, Default)]
pub(crate) struct Membership {
    /// In place of `partition.assignment.strategy`, if there are any.
    pub(crate) assignors: Vec<Arc<dyn Assignor>>,
    pub(crate) listener: Option<Arc<dyn Callbacks>>,
}

/// `None` without `group.id`.
pub(crate) fn group_config(
    config: &ConsumerConfig,
    membership: &Membership,
) -> Option<GroupConfig> {
    let bootstrap = config.bootstrap_servers().iter();
    Some(GroupConfig {
        group_id: config.group_id()?.into(),
        instance_id: config.group_instance_id().map(Into::into),
        protocol: protocol(config, membership),
        max_poll_interval: config.max_poll_interval(),
        rack: Some(config.client_rack())
            .filter(|rack| !rack.is_empty())
            .map(Into::into),
        auto_commit: config
            .enable_auto_commit()
            .then(|| config.auto_commit_interval()),
        has_listener: membership.listener.is_some(),
        exclude_internal_topics: config.exclude_internal_topics(),
        retry: retry(config),
        reconnect: reconnect(config),
        request_timeout: config.request_timeout(),
        api_timeout: config.default_api_timeout(),
        bootstrap: bootstrap
            .map(|server| Address::new(server.host(), server.port()))
            .collect(),
    })
}

fn protocol(config: &ConsumerConfig, membership: &Membership) -> GroupProtocol {
    match config.group_protocol() {
        config::GroupProtocol::Classic => GroupProtocol::Classic {
            assignors: if membership.assignors.is_empty() {
                let named = config.partition_assignment_strategy().iter();
                named.map(|name| assignor(*name)).collect()
            } else {
                membership.assignors.clone()
            },
            session_timeout: config.session_timeout(),
            heartbeat_interval: config.heartbeat_interval(),
        },
        config::GroupProtocol::Consumer => GroupProtocol::Consumer {
            remote_assignor: config.group_remote_assignor().map(Into::into),
        },
    }
}

fn assignor(name: config::Assignor) -> Arc<dyn Assignor> {
    match name {
        config::Assignor::Range => Arc::new(Range),
        config::Assignor::RoundRobin => Arc::new(RoundRobin),
        config::Assignor::Sticky => Arc::new(Sticky),
        config::Assignor::CooperativeSticky => Arc::new(CooperativeSticky),
    }
}
