//! Topics, offsets, groups, metrics, tools, listeners.

use integration_tests::kafka::{
    Codec, ConsumeSpec, ExplicitRecord, Offset, ProduceSpec, Result, Value,
};

use super::shared::KAFKA;

#[test]
fn a_topic_created_again_is_another_topic() -> Result<()> {
    KAFKA.create_topic("again", 1, 1, &[])?;
    let first = KAFKA.describe_topic("again")?;
    let taken = KAFKA.create_topic("again", 1, 1, &[]).unwrap_err();
    assert_eq!(taken.java_kind(), Some("TopicExistsException"), "{taken}");
    KAFKA.produce(ProduceSpec {
        topic: "again".into(),
        records: 3,
        ..ProduceSpec::default()
    })?;
    KAFKA.delete_topic("again")?;
    let gone = KAFKA.describe_topic("again").unwrap_err();
    assert_eq!(
        gone.java_kind(),
        Some("UnknownTopicOrPartitionException"),
        "{gone}"
    );
    KAFKA.create_topic("again", 2, 1, &[("retention.ms", "-1")])?;
    let second = KAFKA.describe_topic("again")?;
    assert_ne!(first.id, second.id);
    assert_eq!((first.partitions.len(), second.partitions.len()), (1, 2));
    assert_eq!(second.partitions[&0].leader, Some(1));
    assert_eq!(second.configs["retention.ms"], "-1");
    assert_eq!(KAFKA.end_offsets("again")?, [(0, 0), (1, 0)].into());
    Ok(())
}

#[test]
fn partitions_are_added() -> Result<()> {
    KAFKA.create_topic("growing", 1, 1, &[])?;
    KAFKA.create_partitions("growing", 3)?;
    assert_eq!(KAFKA.describe_topic("growing")?.partitions.len(), 3);
    assert_eq!(KAFKA.end_offsets("growing")?.len(), 3);
    Ok(())
}

#[test]
fn offsets_are_found_by_time() -> Result<()> {
    KAFKA.create_topic("times", 2, 1, &[])?;
    let at = |timestamp| ExplicitRecord {
        partition: Some(0),
        timestamp: Some(timestamp),
        ..ExplicitRecord::default()
    };
    KAFKA.produce_records("times", Codec::None, &[at(2), at(4), at(8), at(6)])?;
    let found = |place| {
        KAFKA
            .list_offsets("times", place)
            .map(|offsets| offsets[&0])
    };
    assert_eq!(found(Offset::Timestamp(3))?, Some(1));
    assert_eq!(found(Offset::Timestamp(8))?, Some(2));
    assert_eq!(found(Offset::Timestamp(9))?, None);
    assert_eq!(found(Offset::MaxTimestamp)?, Some(2));
    assert_eq!(
        KAFKA.list_offsets("times", Offset::Earliest)?,
        [(0, Some(0)), (1, Some(0))].into()
    );
    Ok(())
}

#[test]
fn records_are_deleted_from_the_start() -> Result<()> {
    KAFKA.create_topic("shortened", 1, 1, &[])?;
    KAFKA.produce(ProduceSpec {
        topic: "shortened".into(),
        records: 100,
        ..ProduceSpec::default()
    })?;
    assert_eq!(KAFKA.delete_records("shortened", 0, 40)?, 40);
    assert_eq!(
        KAFKA.list_offsets("shortened", Offset::Earliest)?,
        [(0, Some(40))].into()
    );
    assert_eq!(KAFKA.java_consume("shortened")?.total.records, 60);
    Ok(())
}

#[test]
fn settings_change_and_change_back() -> Result<()> {
    KAFKA.create_topic("altered", 1, 1, &[])?;
    let large = ProduceSpec {
        topic: "altered".into(),
        records: 1,
        values: vec![Value::Random(500)],
        ..ProduceSpec::default()
    };
    KAFKA.alter_topic_configs("altered", &[("max.message.bytes", Some("300"))])?;
    let refused = KAFKA.produce(large.clone()).unwrap_err();
    assert_eq!(
        refused.java_kind(),
        Some("RecordTooLargeException"),
        "{refused}"
    );
    KAFKA.alter_topic_configs("altered", &[("max.message.bytes", None)])?;
    assert_eq!(KAFKA.produce(large)?.all.records, 1);

    let described = || {
        let servers = KAFKA.bootstrap_servers();
        let arguments = [
            "--bootstrap-server",
            servers,
            "--entity-type",
            "brokers",
            "--entity-name",
            "1",
            "--describe",
        ];
        KAFKA.tool("org.apache.kafka.tools.ConfigCommand", &arguments)
    };
    KAFKA.alter_broker_configs(1, &[("log.cleaner.threads", Some("2"))])?;
    assert!(described()?.contains("log.cleaner.threads=2"));
    KAFKA.alter_broker_configs(1, &[("log.cleaner.threads", None)])?;
    assert!(!described()?.contains("log.cleaner.threads=2"));
    let read_only = KAFKA
        .alter_broker_configs(1, &[("broker.rack", Some("r"))])
        .unwrap_err();
    assert_eq!(
        read_only.java_kind(),
        Some("InvalidRequestException"),
        "{read_only}"
    );
    Ok(())
}

#[test]
fn metrics_count_what_was_done() -> Result<()> {
    KAFKA.create_topic("counted", 1, 1, &[])?;
    let requests = "kafka.network:type=RequestMetrics,name=RequestsPerSec,request=Fetch,version=*";
    let bytes_in = "kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=counted";
    assert_eq!(
        KAFKA.metric_sum(1, bytes_in, "Count")?,
        0.0,
        "there is no bean before the first byte"
    );
    let spec = ProduceSpec {
        topic: "counted".into(),
        records: 1_000,
        values: vec![Value::Random(200)],
        ..ProduceSpec::default()
    };
    KAFKA.produce(spec)?;
    let received = KAFKA.metric_sum(1, bytes_in, "Count")?;
    assert!((200_000.0..260_000.0).contains(&received), "{received}");
    let before = KAFKA.metric_sum(1, requests, "Count")?;
    KAFKA.java_consume("counted")?;
    assert!(KAFKA.metric_sum(1, requests, "Count")? > before);
    let log = std::fs::read_to_string(KAFKA.log(1)?).expect("a node has a log");
    assert!(
        log.contains("Created fetch session"),
        "the level of a logger was not set"
    );
    let wrong = KAFKA.metric(1, "no pattern", "Count").unwrap_err();
    assert_eq!(
        wrong.java_kind(),
        Some("MalformedObjectNameException"),
        "{wrong}"
    );
    Ok(())
}

#[test]
fn tools_and_groups() -> Result<()> {
    KAFKA.create_topic("console", 1, 1, &[])?;
    let hello = ExplicitRecord {
        value: Some(b"hello".to_vec()),
        ..ExplicitRecord::default()
    };
    KAFKA.produce_records("console", Codec::None, &[hello.clone(), hello])?;
    let servers = KAFKA.bootstrap_servers();
    let arguments = [
        "--topic",
        "console",
        "--from-beginning",
        "--max-messages",
        "2",
        "--group",
        "g",
    ];
    let printed = KAFKA.tool(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        &[&["--bootstrap-server", servers], &arguments[..]].concat(),
    )?;
    assert_eq!(printed, "hello\nhello\n");
    let committed = KAFKA.committed("g")?;
    assert_eq!(committed.len(), 1);
    assert_eq!(
        (
            committed[0].topic.as_str(),
            committed[0].partition,
            committed[0].offset
        ),
        ("console", 0, 2)
    );
    assert!(KAFKA.committed("nobody")?.is_empty());

    let wrong = KAFKA
        .tool("kafka.tools.StorageTool", &["format", "--no-such-option"])
        .unwrap_err()
        .to_string();
    assert!(
        wrong.contains("StorageTool") && wrong.contains("no-such-option"),
        "{wrong}"
    );
    Ok(())
}

#[test]
fn an_added_listener_has_its_own_address_and_rules() -> Result<()> {
    KAFKA.create_topic("guarded", 1, 1, &[])?;
    let produced = KAFKA.produce(ProduceSpec {
        topic: "guarded".into(),
        records: 10,
        ..ProduceSpec::default()
    })?;
    let outside = KAFKA
        .listener_address(1, "OUTSIDE")?
        .expect("the cluster was started with it");
    assert_ne!(outside, KAFKA.address(1)?);
    assert_eq!(KAFKA.listener_address(1, "INSIDE")?, None);
    let module = "org.apache.kafka.common.security.plain.PlainLoginModule";
    let consume_as_guest = |password: &str| {
        let mut spec = ConsumeSpec::new("guarded");
        for (key, value) in [
            ("bootstrap.servers", outside.to_string()),
            ("security.protocol", "SASL_PLAINTEXT".into()),
            ("sasl.mechanism", "PLAIN".into()),
            (
                "sasl.jaas.config",
                format!("{module} required username=guest password={password};"),
            ),
        ] {
            spec.properties.insert(key.into(), value);
        }
        KAFKA.java_consume(spec)
    };
    assert_eq!(consume_as_guest("right")?.total, produced.all);
    let refused = consume_as_guest("wrong").unwrap_err();
    assert_eq!(
        refused.java_kind(),
        Some("SaslAuthenticationException"),
        "{refused}"
    );
    Ok(())
}
