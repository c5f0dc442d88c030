//! A Kafka consumer of actors: the facade a service uses, and the command line.

pub mod config;
