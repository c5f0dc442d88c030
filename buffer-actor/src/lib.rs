//! Custody of partitions, completed fetches, byte budget and leases of a Kafka consumer.
