//! Zero-copy reader of Kafka record batches: v0, v1 and v2, every codec, nothing trusted.
