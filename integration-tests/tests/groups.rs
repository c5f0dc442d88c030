//! Groups on a real broker, by both protocols, Java consumers among their members.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, by the wall clock"
)]

mod groups {
    pub(crate) mod child;
    pub(crate) mod churn;
    pub(crate) mod coordinator;
    pub(crate) mod group;
    pub(crate) mod leave;
    pub(crate) mod member;
    pub(crate) mod migration;
    pub(crate) mod mixed;
    pub(crate) mod pace;
    pub(crate) mod pattern;
    pub(crate) mod resume;
    pub(crate) mod revoked;
    pub(crate) mod rough;
    pub(crate) mod shared;
    pub(crate) mod statics;
    pub(crate) mod wrong;
}
