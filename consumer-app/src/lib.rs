//! A Kafka consumer of actors: the facade a service uses, and the command line.

#[cfg(feature = "cli")]
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the binary that uses it is still to come")
)]
mod cli;
pub mod config;
