//! CreateTopics and DeleteTopics: what is made, and what is refused.

use anyhow::Result;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{BrokerId, CreateTopicsRequest, DeleteTopicsRequest, TopicName};
use kafka_protocol::protocol::Message;
use uuid::Uuid;

use super::versions;
use crate::engine::Pair;
use crate::requests::{creatable_topic, text, topic_name};

const THERE: &str = "topics-there";
const DOTTED: &str = "topics.dotted";
const UNKNOWN: &str = "topics-unknown";
/// The version of DeleteTopics from which on topics may go by id.
const DELETE_BY_ID: i16 = 6;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(THERE, &[&[1]]).await?;
    pair.create(DOTTED, &[&[1]]).await?;
    for version in versions::<CreateTopicsRequest>() {
        for (case, topics) in rows() {
            let request = CreateTopicsRequest::default()
                .with_validate_only(true)
                .with_timeout_ms(10_000)
                .with_topics(topics);
            pair.compare(case, version, |_| request.clone()).await?;
        }
        create_and_delete(pair, version).await?;
    }
    for version in versions::<DeleteTopicsRequest>() {
        delete_unknown(pair, version).await?;
    }
    Ok(())
}

/// What is asked to be created, if it were not only to be checked.
fn rows() -> Vec<(&'static str, Vec<CreatableTopic>)> {
    let counted = |name: &str, partitions, replicas| {
        CreatableTopic::default()
            .with_name(topic_name(name))
            .with_num_partitions(partitions)
            .with_replication_factor(replicas)
    };
    let new = |partitions, replicas| counted(UNKNOWN, partitions, replicas);
    let config = |name: &str, value: Option<&str>| {
        let config = CreatableTopicConfig::default().with_name(text(name));
        new(1, 1).with_configs(vec![config.with_value(value.map(text))])
    };
    let assigned = |replicas: &[&[i32]]| creatable_topic(UNKNOWN, replicas);
    let from_partition = |first: i32| {
        let assignment = CreatableReplicaAssignment::default().with_partition_index(first);
        let assignment = assignment.with_broker_ids(vec![BrokerId(1)]);
        new(-1, -1).with_assignments(vec![assignment])
    };
    vec![
        ("new", vec![new(3, 1)]),
        ("on both nodes", vec![new(1, 2)]),
        ("two topics", vec![new(1, 1), counted("topics-other", 2, 1)]),
        ("none", vec![]),
        ("as many as the broker likes", vec![new(-1, -1)]),
        ("there already", vec![counted(THERE, 1, 1)]),
        ("one there, one new", vec![counted(THERE, 1, 1), new(1, 1)]),
        ("twice", vec![new(1, 1), new(1, 1)]),
        ("no partitions", vec![new(0, 1)]),
        ("-2 partitions", vec![new(-2, 1)]),
        ("no replicas", vec![new(1, 0)]),
        ("-2 replicas", vec![new(1, -2)]),
        ("more replicas than nodes", vec![new(1, 3)]),
        ("no name", vec![counted("", 1, 1)]),
        ("name .", vec![counted(".", 1, 1)]),
        ("name ..", vec![counted("..", 1, 1)]),
        ("name with a blank", vec![counted("a b", 1, 1)]),
        ("name of 249 letters", vec![counted(&"x".repeat(249), 1, 1)]),
        ("name of 250 letters", vec![counted(&"x".repeat(250), 1, 1)]),
        (
            "name whose metrics collide with another's",
            vec![counted("topics_dotted", 1, 1)],
        ),
        (
            "names whose metrics collide",
            vec![counted("topics_there", 1, 1), counted("topics.there", 1, 1)],
        ),
        ("unknown config", vec![config("nonsense", Some("1"))]),
        (
            "wrong value of a config",
            vec![config("max.message.bytes", Some("many"))],
        ),
        (
            "negative size",
            vec![config("max.message.bytes", Some("-1"))],
        ),
        (
            "wrong timestamp type",
            vec![config("message.timestamp.type", Some("Noon"))],
        ),
        (
            "config",
            vec![config("message.timestamp.type", Some("LogAppendTime"))],
        ),
        (
            "config of null",
            vec![config("message.timestamp.type", None)],
        ),
        ("assigned", vec![assigned(&[&[1], &[2]])]),
        ("assigned to both", vec![assigned(&[&[1, 2], &[2, 1]])]),
        (
            "assigned and counted",
            vec![assigned(&[&[1]]).with_num_partitions(1)],
        ),
        (
            "assigned and replicas counted",
            vec![assigned(&[&[1]]).with_replication_factor(1)],
        ),
        ("assigned to nobody", vec![assigned(&[&[]])]),
        ("assigned to an unknown node", vec![assigned(&[&[9]])]),
        ("assigned to a node twice", vec![assigned(&[&[1, 1]])]),
        ("assigned unevenly", vec![assigned(&[&[1, 2], &[1]])]),
        ("assigned from partition 1 on", vec![from_partition(1)]),
        ("assigned to a negative partition", vec![from_partition(-1)]),
    ]
}

async fn create_and_delete(pair: &mut Pair, version: i16) -> Result<()> {
    let name = format!("topics-made-{version}");
    let request = CreateTopicsRequest::default()
        .with_timeout_ms(10_000)
        .with_topics(vec![creatable_topic(&name, &[&[1], &[2]])]);
    pair.compare("create", version, |_| request.clone()).await?;
    pair.compare("create again", version, |_| request.clone())
        .await?;
    let version = version.min(DeleteTopicsRequest::VERSIONS.max);
    let names = vec![topic_name(&name), topic_name(UNKNOWN)];
    let request = by_name(version, names);
    for case in ["delete one and an unknown one", "delete again"] {
        pair.compare(case, version, |_| request.clone()).await?;
    }
    Ok(())
}

fn by_name(version: i16, names: Vec<TopicName>) -> DeleteTopicsRequest {
    let request = DeleteTopicsRequest::default().with_timeout_ms(10_000);
    if version < DELETE_BY_ID {
        return request.with_topic_names(names);
    }
    let states = names
        .into_iter()
        .map(|name| DeleteTopicState::default().with_name(Some(name)));
    request.with_topics(states.collect())
}

async fn delete_unknown(pair: &mut Pair, version: i16) -> Result<()> {
    for (case, names) in [
        ("delete nothing", vec![]),
        ("delete an unknown topic", vec![topic_name(UNKNOWN)]),
        (
            "delete an unknown topic twice",
            vec![topic_name(UNKNOWN), topic_name(UNKNOWN)],
        ),
        ("delete what cannot be", vec![topic_name("a b")]),
    ] {
        pair.compare(case, version, |_| by_name(version, names.clone()))
            .await?;
    }
    if version < DELETE_BY_ID {
        return Ok(());
    }
    let state = |name: Option<&str>, id| {
        DeleteTopicState::default()
            .with_name(name.map(topic_name))
            .with_topic_id(Uuid::from_u128(id))
    };
    for (case, states) in [
        ("delete an unknown id", vec![state(None, 9)]),
        (
            "delete an unknown id twice",
            vec![state(None, 9), state(None, 9)],
        ),
        ("delete by id and name", vec![state(Some(UNKNOWN), 9)]),
        ("delete by neither", vec![state(None, 0)]),
        (
            "delete unknown ones by name and by id",
            vec![state(Some(UNKNOWN), 0), state(None, 9)],
        ),
    ] {
        let request = DeleteTopicsRequest::default()
            .with_timeout_ms(10_000)
            .with_topics(states);
        pair.compare(case, version, |_| request.clone()).await?;
    }
    Ok(())
}
