//! Groups on a real broker, by both protocols, Java consumers among their members.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, by the wall clock"
)]

mod groups {
    pub(crate) mod churn;
    pub(crate) mod member;
    pub(crate) mod mixed;
    pub(crate) mod resume;
    pub(crate) mod revoked;
}
