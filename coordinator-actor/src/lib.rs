//! Group membership (classic and KIP-848), assignment and commits of a Kafka consumer.

pub mod assign;
