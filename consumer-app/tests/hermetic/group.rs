//! Members of groups: commits, assignment, listeners, faults of the coordinator.

mod commits;
mod listener;
mod membership;
mod support;
