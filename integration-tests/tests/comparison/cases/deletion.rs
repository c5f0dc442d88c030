//! Topics that are deleted, and created again under the same name: another id (KIP-516), another log.

use anyhow::Result;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    DeleteTopicsRequest, FetchRequest, MetadataRequest, ProduceRequest,
};
use uuid::Uuid;

use super::versions;
use crate::engine::{Names, Pair};
use crate::requests::{
    Fetch, ListOffsets, Produce, metadata, metadata_of, offset_for_leader_epoch, topic_name,
};

const STAYS: &str = "deletion-stays";
const GOES: &str = "deletion-goes";
/// The name by which the cases call the topic that was deleted, when there is another one of its name.
const FORMER: &str = "deletion-former";
const WAIT_MS: i32 = 80;
const WITH_TOPIC_IDS: i16 = 13;
/// Versions of Fetch: by name without and with epochs, by id.
const SESSIONS: [i16; 5] = [7, 11, 12, 13, 18];
/// The version of DeleteTopics from which on topics may go by id.
const DELETE_BY_ID: i16 = 6;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(STAYS, &[&[1]]).await?;
    pair.create(GOES, &[&[1], &[1]]).await?;
    let two = pair.batch(&["a", "b"]).build();
    pair.append(STAYS, 0, &two).await?;
    pair.append(GOES, 0, &two).await?;
    for version in SESSIONS {
        let both = Fetch::of([(GOES, 0, 2), (STAYS, 0, 2)]);
        pair.open_session(&session(version), version, &both.wait(WAIT_MS))
            .await?;
    }

    delete(pair).await?;
    gone(pair).await?;

    for side in [&mut pair.real, &mut pair.ours] {
        side.names.rename_topic(GOES, FORMER);
    }
    pair.create(GOES, &[&[1]]).await?;
    again(pair).await?;
    delete_by_id(pair).await
}

fn session(version: i16) -> String {
    format!("deletion-{version}")
}

async fn delete(pair: &mut Pair) -> Result<()> {
    let request = DeleteTopicsRequest::default()
        .with_timeout_ms(10_000)
        .with_topic_names(vec![topic_name(GOES)]);
    pair.compare("delete", 4, |_| request.clone()).await?;
    pair.wait_until_gone(GOES).await
}

/// While there is no topic of the name.
async fn gone(pair: &mut Pair) -> Result<()> {
    for version in SESSIONS {
        for epoch in 1..=2 {
            let next = Fetch::next(&session(version), epoch).wait(WAIT_MS);
            pair.fetch(
                format!("deleted in a session, time {epoch}"),
                version,
                &next,
            )
            .await?;
        }
    }
    for version in versions::<FetchRequest>() {
        let alone = Fetch::of([(GOES, 0, 2)]);
        pair.fetch("deleted", version, &alone).await?;
        let with_another = Fetch::of([(GOES, 0, 2), (STAYS, 0, 2)]).wait(WAIT_MS);
        pair.fetch("deleted, and an idle one", version, &with_another)
            .await?;
    }
    let batch = pair.batch(&["a"]).build();
    for version in versions::<ProduceRequest>() {
        let produce = Produce::to(GOES, 0, &batch);
        pair.produce("to a deleted topic", version, &produce)
            .await?;
    }
    let list = ListOffsets::of(GOES, 0, -1);
    pair.compare("of a deleted topic", 7, |_| list.request(7))
        .await?;
    pair.compare("of a deleted topic", 4, |_| {
        offset_for_leader_epoch(GOES, 0, (-1, 0), 4)
    })
    .await?;
    pair.compare("of a deleted topic", 12, |_| {
        metadata_of(&[GOES]).with_allow_auto_topic_creation(false)
    })
    .await?;
    by_id(pair, "a deleted topic by id", GOES).await
}

async fn by_id(pair: &mut Pair, case: &str, topic: &str) -> Result<()> {
    for version in 12..=13 {
        pair.compare::<MetadataRequest>(case, version, |names| {
            let asked = MetadataRequestTopic::default().with_name(None);
            metadata(vec![asked.with_topic_id(names.topic(topic))])
        })
        .await?;
    }
    Ok(())
}

/// When there is another topic of the name.
async fn again(pair: &mut Pair) -> Result<()> {
    for version in SESSIONS {
        for epoch in 3..=4 {
            let next = Fetch::next(&session(version), epoch);
            pair.fetch(
                format!("another in a session, time {epoch}"),
                version,
                &next,
            )
            .await?;
        }
    }
    let batch = pair.batch(&["a"]).build();
    pair.append(GOES, 0, &batch).await?;
    for version in SESSIONS {
        let session = session(version);
        let rows = [
            ("another has data", Fetch::next(&session, 5)),
            (
                "another from its beginning",
                Fetch::of([(GOES, 0, 0)]).in_session(&session, 6),
            ),
            (
                "the former one again",
                Fetch::of([(FORMER, 0, 0)]).in_session(&session, 7),
            ),
            (
                "both forgotten",
                Fetch::next(&session, 8)
                    .forget(GOES, 0)
                    .forget(FORMER, 0)
                    .wait(WAIT_MS),
            ),
            (
                "only the one that stays",
                Fetch::next(&session, 9).wait(WAIT_MS),
            ),
        ];
        for (case, fetch) in rows {
            pair.fetch(case, version, &fetch).await?;
        }
    }
    for version in WITH_TOPIC_IDS..=18 {
        pair.fetch("the former one", version, &Fetch::of([(FORMER, 0, 0)]))
            .await?;
        let both = Fetch::of([(FORMER, 0, 0), (GOES, 0, 0)]);
        pair.fetch("the former one and another", version, &both)
            .await?;
    }
    let produce = Produce::to(FORMER, 0, &batch);
    pair.produce("to the former one", WITH_TOPIC_IDS, &produce)
        .await?;
    by_id(pair, "the former one by id", FORMER).await?;
    by_id(pair, "another by id", GOES).await
}

async fn delete_by_id(pair: &mut Pair) -> Result<()> {
    type Asked = fn(&Names) -> Vec<DeleteTopicState>;
    let rows: [(&str, Asked); 5] = [
        ("delete one that is there twice", |_| {
            vec![by(Some(GOES), Uuid::nil()), by(Some(GOES), Uuid::nil())]
        }),
        ("delete the former one", |names| {
            vec![by(None, names.topic(FORMER))]
        }),
        ("delete the same one by name and by id", |names| {
            vec![by(Some(GOES), Uuid::nil()), by(None, names.topic(GOES))]
        }),
        ("delete one by its name and its id", |names| {
            vec![by(Some(GOES), names.topic(GOES))]
        }),
        ("delete by id", |names| vec![by(None, names.topic(GOES))]),
    ];
    for (case, topics) in rows {
        pair.compare::<DeleteTopicsRequest>(case, DELETE_BY_ID, |names| {
            DeleteTopicsRequest::default()
                .with_timeout_ms(10_000)
                .with_topics(topics(names))
        })
        .await?;
    }
    pair.wait_until_gone(GOES).await
}

fn by(name: Option<&str>, id: Uuid) -> DeleteTopicState {
    DeleteTopicState::default()
        .with_name(name.map(topic_name))
        .with_topic_id(id)
}
