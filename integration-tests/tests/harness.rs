//! The harness itself: each command once, held against a fact that comes from somewhere else.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, in threads of its own"
)]

mod harness {
    pub(crate) mod data;
    pub(crate) mod lifetime;
    pub(crate) mod nodes;
    pub(crate) mod shared;
    pub(crate) mod topics;
}
