//! From a configuration to a running consumer.

use std::sync::Arc;

use actix::System;
use actix_rt::ArbiterHandle;
use buffer_actor::Policy;
use coordinator_actor::assign::Assignor;
use session_actor::wire::connect::{Connect, TcpConnect, TcpOptions};
use tokio::sync::{oneshot, watch};
use tracing::warn;

use crate::config::{ConfigError, ConfigErrors, ConsumerConfig, OffsetReset};
use crate::consumer::Consumer;
use crate::error::{Error, Result};
use crate::facade::{self, Started};
use crate::group::{Membership, RebalanceListener, group_config};

/// Configures and starts a [`Consumer`]. What is wrong with the configuration is said by the method that starts it, all at once.
#[derive(Default)]
pub struct ConsumerBuilder {
    config: ConsumerConfig,
    errors: ConfigErrors,
    connector: Option<Arc<dyn Connect>>,
    policy: Policy,
    membership: Membership,
}

impl ConsumerBuilder {
    /// `bootstrap.servers`: `host:port`, several with commas between them.
    #[must_use]
    pub fn bootstrap_servers(self, servers: &str) -> Self {
        self.set("bootstrap.servers", servers)
    }

    /// `group.id`.
    #[must_use]
    pub fn group_id(self, group: &str) -> Self {
        self.set("group.id", group)
    }

    /// `client.id`: the name under which brokers log and limit this client's requests.
    #[must_use]
    pub fn client_id(self, id: &str) -> Self {
        self.set("client.id", id)
    }

    /// `auto.offset.reset`: where to begin in a partition without a valid position.
    #[must_use]
    pub fn auto_offset_reset(self, reset: OffsetReset) -> Self {
        self.set("auto.offset.reset", &reset.to_string())
    }

    /// Any key of the Java client by its own name; see [`config`](crate::config).
    #[must_use]
    pub fn set(mut self, key: &str, value: &str) -> Self {
        self.errors.extend(self.config.set(key, value).err());
        self
    }

    /// Takes over what is given in `config`, from a file or the environment; keys set before it and not given in it stay.
    #[must_use]
    pub fn config(mut self, config: &ConsumerConfig) -> Self {
        self.config = self.config.overridden_by(config);
        self
    }

    /// Connects by other means than TCP: a pipe to a broker in the same process, or a simulated network.
    #[must_use]
    pub fn connector(mut self, connector: Arc<dyn Connect>) -> Self {
        self.connector = Some(connector);
        self
    }

    /// Whom to call when the group gives or takes partitions.
    #[must_use]
    pub fn rebalance_listener(mut self, listener: impl RebalanceListener) -> Self {
        self.membership.listener = Some(Arc::new(listener));
        self
    }

    /// Rules of one's own for dividing partitions, the preferred one first, in place of `partition.assignment.strategy`. All
    /// members of the group must have one of them in common.
    #[must_use]
    pub fn assignors(mut self, assignors: impl IntoIterator<Item = Arc<dyn Assignor>>) -> Self {
        self.membership.assignors = assignors.into_iter().collect();
        self
    }

    /// What to do with nodes that lead buffered partitions. For labs that compare.
    #[doc(hidden)]
    #[must_use]
    pub fn fetch_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Checks the configuration and starts the actors on a thread of their own. Brokers are not contacted before something is
    /// assigned: `poll` tells if none can be reached.
    ///
    /// # Errors
    /// [`Error::Config`] with everything that is wrong; [`Error::Start`].
    pub async fn build(self) -> Result<Consumer> {
        let plan = self.check()?;
        let (begun, started) = oneshot::channel();
        let (end, ending) = watch::channel(());
        let config = plan.config.clone();
        std::thread::Builder::new()
            .name("kafka-consumer".to_owned())
            .spawn(move || {
                System::new().block_on(async move {
                    let (ended, all_ended) = oneshot::channel();
                    // whoever began this may have given up
                    if begun.send(plan.start(ended)).is_ok() {
                        let _ = all_ended.await;
                    }
                });
                drop(end);
            })
            .map_err(|error| Error::Start(error.to_string()))?;
        let started = started.await.map_err(|_| Error::Failed)??;
        Ok(Consumer::new(started, config, ending))
    }

    /// As [`build`](Self::build), with the actors in an arbiter of a service that runs actix.
    ///
    /// # Errors
    /// As [`build`](Self::build); [`Error::Start`] if the arbiter has stopped.
    pub async fn spawn_in(self, arbiter: &ArbiterHandle) -> Result<Consumer> {
        let plan = self.check()?;
        let (begun, started) = oneshot::channel();
        let (end, ending) = watch::channel(());
        let config = plan.config.clone();
        let running = arbiter.spawn(async move {
            let (ended, all_ended) = oneshot::channel();
            if begun.send(plan.start(ended)).is_ok() {
                let _ = all_ended.await;
            }
            drop(end);
        });
        if !running {
            return Err(Error::Start("the arbiter has stopped".to_owned()));
        }
        let started = started.await.map_err(|_| Error::Failed)??;
        Ok(Consumer::new(started, config, ending))
    }

    /// As [`build`](Self::build), with the actors on the current thread, which must run a tokio `LocalSet`: for tests with a
    /// paused clock and for simulation.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn spawn_local(self) -> Result<Consumer> {
        let plan = self.check()?;
        let (end, ending) = watch::channel(());
        let config = plan.config.clone();
        let (ended, all_ended) = oneshot::channel();
        let started = plan.start(ended)?;
        actix_rt::spawn(async move {
            let _ = all_ended.await;
            drop(end);
        });
        Ok(Consumer::new(started, config, ending))
    }

    fn check(mut self) -> Result<Plan> {
        let warnings = match self.config.validate() {
            Ok(warnings) => warnings,
            Err(errors) => {
                // a value that was refused is not missing as well
                let is_known = |error: &ConfigError| matches!(error, ConfigError::Missing { key, .. } if self.errors.refuses(key));
                let errors = errors.into_iter().filter(|error| !is_known(error));
                let errors: Vec<_> = errors.collect();
                self.errors.extend(errors);
                Vec::new()
            }
        };
        let config = self.errors.into_result(self.config)?;
        for warning in warnings {
            warn!("{warning}");
        }
        let connector = self.connector.unwrap_or_else(|| {
            Arc::new(TcpConnect::new(TcpOptions {
                send_buffer_bytes: config.send_buffer_bytes(),
                receive_buffer_bytes: config.receive_buffer_bytes(),
                setup_timeout: config.socket_connection_setup_timeout(),
                setup_timeout_max: config.socket_connection_setup_timeout_max(),
            }))
        });
        Ok(Plan {
            config,
            policy: self.policy,
            connector,
            membership: self.membership,
        })
    }
}

impl std::fmt::Debug for ConsumerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConsumerBuilder")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// A consumer that can be started: nothing about it can fail any more.
struct Plan {
    config: ConsumerConfig,
    policy: Policy,
    connector: Arc<dyn Connect>,
    membership: Membership,
}

impl Plan {
    fn start(self, ended: oneshot::Sender<()>) -> Result<Started> {
        let group = group_config(&self.config, &self.membership);
        let group = group.map(|group| (group, self.membership));
        let started = facade::start(&self.config, self.policy, self.connector, group, ended);
        Ok(started?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(builder: ConsumerBuilder) -> Vec<ConfigError> {
        match builder.check() {
            Err(Error::Config(errors)) => errors.into_iter().collect(),
            Err(other) => panic!("{other}"),
            Ok(_) => Vec::new(),
        }
    }

    #[test]
    fn a_value_that_is_refused_is_not_missing_as_well() {
        let missing = errors(ConsumerBuilder::default());
        assert!(
            matches!(
                missing.as_slice(),
                [ConfigError::Missing {
                    key: "bootstrap.servers",
                    ..
                }]
            ),
            "{missing:?}"
        );
        let refused = errors(ConsumerBuilder::default().bootstrap_servers("a:port"));
        assert!(
            matches!(
                refused.as_slice(),
                [ConfigError::InvalidValue {
                    key: "bootstrap.servers",
                    ..
                }]
            ),
            "{refused:?}"
        );
    }
}
