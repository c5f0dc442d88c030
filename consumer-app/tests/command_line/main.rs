//! The command line as its users meet it: as a process, against the embedded broker over TCP. `fNNN` names a field report.
//!
//! Nothing here is decided by a timing: what is waited for has a limit that no machine in order comes near.

#![cfg(unix)]

mod at_end;
mod broker;
mod broker_command;
mod config;
mod group;
mod output;
mod perf;
mod process;
mod quickstart;
mod reasons;
mod signals;
