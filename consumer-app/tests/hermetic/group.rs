//! Members of groups, against the embedded broker: both protocols, commits, listeners.

mod membership;
