//! Membership of a group, as the application sees it.

mod config;
mod handle;
mod listener;
mod rebalances;

pub(crate) use self::config::{Membership, group_config};
pub(crate) use self::listener::Callbacks;
pub use self::listener::{RebalanceContext, RebalanceListener};
pub(crate) use self::rebalances::Rebalances;
