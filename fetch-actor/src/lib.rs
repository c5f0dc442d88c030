//! The planner of a Kafka consumer: which node gets which fetch request next.

pub mod machine;
