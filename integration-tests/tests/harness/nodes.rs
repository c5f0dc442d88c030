//! Nodes that are stopped, killed, frozen, and that hand over their leaders.

use std::time::Duration;

use integration_tests::Proxy;
use integration_tests::kafka::{Cluster, ConsumeSpec, Error, ProduceSpec, Result, Value};

/// Long enough for a broker to answer on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn two_nodes_through_everything() -> Result<()> {
    let proxy = Proxy::open(Duration::ZERO).unwrap();
    let kafka = Cluster::builder()
        .nodes(2)
        // so that a node is let in again soon after it has gone
        .property("broker.session.timeout.ms", "3000")
        .property("broker.heartbeat.interval.ms", "300")
        .node_property(2, "broker.rack", "far")
        .listener("PROXIED", "PLAINTEXT")
        .advertised(2, "PROXIED", &proxy.address().to_string())
        .start()?;
    assert_eq!(
        kafka.bootstrap_servers(),
        format!("{},{}", kafka.address(1)?, kafka.address(2)?)
    );
    clients_go_where_they_are_told(&kafka, &proxy)?;
    leaders_move(&kafka)?;
    a_frozen_node_answers_when_it_is_thawed(&kafka)?;
    a_killed_node_keeps_its_data(&kafka)?;
    a_stopped_node_hands_over(&kafka)?;
    Ok(())
}

fn clients_go_where_they_are_told(kafka: &Cluster, proxy: &Proxy) -> Result<()> {
    let listener = |node| {
        kafka
            .listener_address(node, "PROXIED")
            .map(|address| address.expect("it was added"))
    };
    proxy.connect_to(listener(2)?);
    kafka.create_topic_on("proxied", &[&[2]], &[])?;
    let produced = kafka.produce(ProduceSpec {
        topic: "proxied".into(),
        records: 100,
        ..ProduceSpec::default()
    })?;
    assert_eq!(
        proxy.connections(),
        0,
        "the harness itself goes through the proxy"
    );
    let mut spec = ConsumeSpec::new("proxied");
    // node 1 tells where node 2 is
    spec.properties
        .insert("bootstrap.servers".into(), listener(1)?.to_string());
    assert_eq!(kafka.java_consume(spec)?.total, produced.all);
    assert_ne!(proxy.connections(), 0);
    Ok(())
}

fn leaders_move(kafka: &Cluster) -> Result<()> {
    kafka.create_topic_on("both", &[&[1, 2], &[2, 1]], &[])?;
    let leaders = |topic| -> Result<Vec<i32>> {
        let partitions = kafka.describe_topic(topic)?.partitions;
        Ok(partitions
            .values()
            .filter_map(|partition| partition.leader)
            .collect())
    };
    assert_eq!(leaders("both")?, [1, 2]);
    kafka.move_leader("both", 0, 2)?;
    assert_eq!(leaders("both")?, [2, 2]);
    assert_eq!(
        kafka.describe_topic("both")?.partitions[&0].replicas,
        [2, 1]
    );

    // with a single replica the data moves along
    kafka.create_topic_on("single", &[&[1]], &[])?;
    let produced = kafka.produce(ProduceSpec {
        topic: "single".into(),
        records: 500,
        ..ProduceSpec::default()
    })?;
    kafka.move_leader("single", 0, 2)?;
    assert_eq!(leaders("single")?, [2]);
    assert_eq!(kafka.java_consume("single")?.total, produced.all);
    let sent = "kafka.server:type=BrokerTopicMetrics,name=BytesOutPerSec,topic=single";
    assert!(
        kafka.metric_sum(2, sent, "Count")? > 0.0,
        "node 2 did not serve what it leads"
    );

    let nowhere = kafka.move_leader("single", 0, 7).unwrap_err();
    assert_eq!(
        nowhere.java_kind(),
        Some("InvalidReplicaAssignmentException"),
        "{nowhere}"
    );
    Ok(())
}

fn a_frozen_node_answers_when_it_is_thawed(kafka: &Cluster) -> Result<()> {
    assert!(kafka.ask(2)?.is_answered(PATIENCE)?);
    kafka.freeze(2)?;
    assert!(!kafka.is_running(2)?);
    let mut asked = kafka.ask(2)?;
    assert!(
        !asked.is_answered(Duration::from_secs(1))?,
        "a frozen node answered"
    );
    assert!(
        kafka.ask(1)?.is_answered(PATIENCE)?,
        "the other one does not answer"
    );
    let twice = kafka.freeze(2).unwrap_err();
    assert_eq!(twice.to_string(), "cannot freeze node 2: it is frozen");
    kafka.thaw(2)?;
    assert!(
        asked.is_answered(PATIENCE)?,
        "the request of before was lost"
    );
    Ok(())
}

fn a_killed_node_keeps_its_data(kafka: &Cluster) -> Result<()> {
    kafka.create_topic_on("kept", &[&[2]], &[])?;
    let produced = kafka.produce(ProduceSpec {
        topic: "kept".into(),
        records: 2_000,
        values: vec![Value::Random(300)],
        ..ProduceSpec::default()
    })?;
    let before = kafka.pids();
    kafka.kill(2)?;
    assert_eq!(kafka.pids().len(), before.len() - 1);
    assert!(
        kafka.ask(2).is_err(),
        "somebody listens at the port of a node that was killed"
    );
    assert!(matches!(
        kafka.kill(2).unwrap_err(),
        Error::NodeState { node: 2, .. }
    ));
    kafka.start_node(2)?;
    assert_ne!(kafka.pids(), before, "the process is the old one");
    assert_eq!(kafka.java_consume("kept")?.total, produced.all);
    Ok(())
}

fn a_stopped_node_hands_over(kafka: &Cluster) -> Result<()> {
    kafka.stop(2)?;
    let description = kafka.describe_topic("both")?;
    assert!(
        description
            .partitions
            .values()
            .all(|partition| partition.leader == Some(1)),
        "{description:?}"
    );
    kafka.start_node(2)?;
    kafka.restart(2)?;
    assert!(kafka.ask(2)?.is_answered(PATIENCE)?);
    assert_eq!(
        kafka.ask(3).unwrap_err().to_string(),
        "there is no node 3: the cluster has the nodes 1 to 2"
    );
    Ok(())
}
