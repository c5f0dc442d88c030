//! The harness itself: each command once, held against a fact that comes from somewhere else.

mod harness {
    pub(crate) mod data;
    pub(crate) mod lifetime;
    pub(crate) mod nodes;
    pub(crate) mod shared;
    pub(crate) mod topics;
}
