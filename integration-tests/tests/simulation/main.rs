//! The real actors on a simulated network: consumers, brokers and what goes wrong between them, on one thread, with simulated
//! time, all of it from one seed. See the README of this crate.

mod checker;
mod failures;

mod groups;
mod network;
mod seeds;
mod world;
