//! Topics that come into being by being asked for (`auto.create.topics.enable`).

use std::time::Duration;

use anyhow::Result;
use kafka_protocol::messages::MetadataRequest;
use tokio::time::sleep;

use super::metadata::complete;
use super::versions;
use crate::engine::Pair;
use crate::requests::metadata_of;

/// How long a topic takes to be made, at the longest.
const MADE_WITHIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    let name = |version: i16| format!("made-{version}");
    let request = |version: i16| complete(metadata_of(&[&name(version)]), version);
    for version in versions::<MetadataRequest>() {
        let request = request(version);
        pair.compare("says that there is none", version, |_| request.clone())
            .await?;
    }
    sleep(MADE_WITHIN).await;
    for version in versions::<MetadataRequest>() {
        let request = request(version);
        pair.compare("is there a moment later", version, |_| request.clone())
            .await?;
    }
    Ok(())
}
