//! Members of groups: commits, assignment, listeners, faults of the coordinator.

mod churn;
mod commits;
mod coordinator;
mod full_buffer;
mod large;
mod listener;
mod membership;
mod metrics;
mod pace;
mod sessions;
mod subscription;
mod support;
