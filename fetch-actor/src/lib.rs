//! The planner of a Kafka consumer: which node gets which fetch request next.
//!
//! It knows the assignment (from the buffer), the leaders (from metadata) and which lanes are idle (from the sessions). Whenever
//! a lane is idle it offers it to the buffer together with the partitions that the node leads, and it sends exactly what the
//! buffer grants. [`machine`] is the whole of the decisions; [`FetchActor`] is a thin shell around it.

mod actor;
pub mod machine;
pub mod messages;

pub use actor::{CountMessages, FetchActor, LaneHandle, LaneReports, Neighbours, OpenLane};
