//! Metadata: topics by name and by id (KIP-516).

use anyhow::Result;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use uuid::Uuid;

use super::versions;
use crate::engine::{Names, Pair};
use crate::requests::{metadata, metadata_of, topic_name};

const A: &str = "metadata-a";
const B: &str = "metadata-b";
const MISSING: &str = "metadata-missing";
/// Until then a request always allows that topics are created.
const MAY_FORBID_CREATION: i16 = 4;
const OPERATIONS: i16 = 8;
const NO_CLUSTER_OPERATIONS: i16 = 11;
const TOPIC_IDS: i16 = 10;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    pair.create(A, &[&[1], &[2]]).await?;
    pair.create(B, &[&[1, 2]]).await?;
    for version in versions::<MetadataRequest>() {
        by_name(pair, version).await?;
        if version >= TOPIC_IDS {
            by_id(pair, version).await?;
        }
    }
    Ok(())
}

/// A request of a version that says all that it can.
pub(super) fn complete(request: MetadataRequest, version: i16) -> MetadataRequest {
    let mut request = request.with_allow_auto_topic_creation(true);
    request.include_topic_authorized_operations = version >= OPERATIONS;
    request.include_cluster_authorized_operations =
        (OPERATIONS..NO_CLUSTER_OPERATIONS).contains(&version);
    request
}

async fn by_name(pair: &mut Pair, version: i16) -> Result<()> {
    let names = [vec![A], vec![A, B], vec![B, A], vec![A, A]];
    for names in names {
        for node in [1, 2] {
            let request = complete(metadata_of(&names), version);
            pair.compare_at(node, format!("{names:?} of node {node}"), version, |_| {
                request.clone()
            })
            .await?;
        }
    }
    if version > 0 {
        // what null is to later ones is an empty list to version 0, and there are topics of other subjects
        pair.compare("no topics", version, |_| metadata_of(&[]))
            .await?;
    }
    for name in [
        "",
        ".",
        "..",
        "a b",
        "a/b",
        &"x".repeat(249),
        &"x".repeat(250),
    ] {
        let request = metadata_of(&[name]);
        if version >= MAY_FORBID_CREATION {
            let forbidden = request.clone().with_allow_auto_topic_creation(false);
            pair.compare(format!("name {name:?}, not to be created"), version, |_| {
                forbidden.clone()
            })
            .await?;
        }
        let is_legal = name.len() == 249;
        if !is_legal {
            let request = complete(request, version);
            pair.compare(format!("name {name:?}"), version, |_| request.clone())
                .await?;
        }
    }
    if version >= MAY_FORBID_CREATION {
        let request = metadata_of(&[MISSING, A]).with_allow_auto_topic_creation(false);
        pair.compare("missing and not to be created", version, |_| {
            request.clone()
        })
        .await?;
    }
    Ok(())
}

async fn by_id(pair: &mut Pair, version: i16) -> Result<()> {
    type Asked = fn(&Names) -> Vec<MetadataRequestTopic>;
    let rows: [(&str, Asked); 6] = [
        ("by id", |names| vec![asked(None, names.topic(A))]),
        ("two by id", |names| {
            vec![asked(None, names.topic(A)), asked(None, names.topic(B))]
        }),
        ("unknown id", |_| vec![asked(None, Uuid::from_u128(5))]),
        ("unknown id and a known one", |names| {
            vec![asked(None, Uuid::from_u128(5)), asked(None, names.topic(A))]
        }),
        ("id and name", |names| vec![asked(Some(A), names.topic(A))]),
        ("neither id nor name", |_| vec![asked(None, Uuid::nil())]),
    ];
    for (case, topics) in rows {
        pair.compare::<MetadataRequest>(case, version, |names| {
            let request = metadata(topics(names)).with_allow_auto_topic_creation(true);
            request.with_include_topic_authorized_operations(true)
        })
        .await?;
    }
    let mixed = |names: &Names| {
        metadata(vec![
            asked(Some(A), Uuid::nil()),
            asked(None, names.topic(B)),
        ])
    };
    pair.compare::<MetadataRequest>("one by name, one by id", version, mixed)
        .await?;
    Ok(())
}

fn asked(name: Option<&str>, id: Uuid) -> MetadataRequestTopic {
    MetadataRequestTopic::default()
        .with_name(name.map(topic_name))
        .with_topic_id(id)
}
