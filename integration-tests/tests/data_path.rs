//! What our consumer reads from a real broker, held against what the producer wrote and the Java consumer reads; and how many requests and
//! bytes that takes.

#![expect(
    clippy::disallowed_methods,
    reason = "an application that is slow: its thread, and no actor's"
)]

mod data_path {
    pub(crate) mod bytes;
    pub(crate) mod codecs;
    pub(crate) mod fairness;
    pub(crate) mod gaps;
    pub(crate) mod labs;
    pub(crate) mod offsets;
    pub(crate) mod overlap;
    pub(crate) mod records;
    pub(crate) mod shared;
    pub(crate) mod transactions;
}
