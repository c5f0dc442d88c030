//! The command line.

mod output;
mod start_from;
