//! Three real brokers that die, freeze, are cut off and change their leaders, a producer that goes on all the same, and consumers of ours
//! that lose nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, by the wall clock"
)]

mod chaos {
    pub(crate) mod at_least_once;
    pub(crate) mod clients;
    pub(crate) mod exactly_once;
    pub(crate) mod faults;
    pub(crate) mod member;
    #[cfg(target_os = "linux")]
    pub(crate) mod namespace;
    pub(crate) mod reader;
    pub(crate) mod run;
    pub(crate) mod setup;
    #[cfg(target_os = "linux")]
    pub(crate) mod silent_join;
}
