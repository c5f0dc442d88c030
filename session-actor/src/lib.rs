//! One broker connection of a Kafka consumer and its incremental fetch session (KIP-227).

pub mod wire;
