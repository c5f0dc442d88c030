//! What our consumer does when brokers fail, and when what it is given is wrong.

#![expect(
    clippy::disallowed_methods,
    reason = "waits for processes, in threads of its own"
)]

mod failures {
    pub(crate) mod away;
    pub(crate) mod elections;
    pub(crate) mod follower;
    pub(crate) mod leaders;
    pub(crate) mod recreated;
    pub(crate) mod retries;
    pub(crate) mod wrong;
}
