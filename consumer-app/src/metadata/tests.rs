//! Tables for the machine.
