//! Suites against a real Apache Kafka, simulations and labs.
