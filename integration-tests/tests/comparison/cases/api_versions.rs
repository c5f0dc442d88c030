//! ApiVersions, and versions that no broker has.

use anyhow::Result;
use bytes::BytesMut;
use kafka_protocol::messages::{
    ApiVersionsRequest, CreateTopicsRequest, DeleteTopicsRequest, FetchRequest,
    InitProducerIdRequest, ListOffsetsRequest, MetadataRequest, OffsetForLeaderEpochRequest,
    ProduceRequest,
};
use kafka_protocol::protocol::Message;

use super::versions;
use crate::engine::{Compared, Pair, Reply, Side};
use crate::requests::text;

/// Names and versions of client software (KIP-511).
const SOFTWARE: [(&str, &str, &str); 7] = [
    ("usual software", "apache-kafka-java", "4.4.0"),
    ("one letter each", "a", "1"),
    ("no name", "", "1.0"),
    ("no version", "a", ""),
    ("name that begins with a dash", "-a", "1.0"),
    ("name with a blank", "a b", "1.0"),
    ("version that ends with a dot", "a", "1."),
];

/// The first version whose requests name the software.
const NAMES_SOFTWARE: i16 = 3;
/// A version that no API has.
const FAR_ABOVE: i16 = 99;

pub(crate) async fn run(pair: &mut Pair) -> Result<()> {
    for version in versions::<ApiVersionsRequest>() {
        for (case, name, software_version) in SOFTWARE {
            if version < NAMES_SOFTWARE && case != "usual software" {
                continue;
            }
            pair.compare(case, version, |_| request(version, name, software_version))
                .await?;
        }
    }
    unknown_version::<ApiVersionsRequest>(pair, FAR_ABOVE).await?;
    unknown_version::<ApiVersionsRequest>(pair, i16::MAX).await?;
    unknown_version::<ApiVersionsRequest>(pair, -1).await?;
    outside::<ProduceRequest>(pair).await?;
    outside::<FetchRequest>(pair).await?;
    outside::<ListOffsetsRequest>(pair).await?;
    outside::<MetadataRequest>(pair).await?;
    outside::<CreateTopicsRequest>(pair).await?;
    outside::<DeleteTopicsRequest>(pair).await?;
    outside::<InitProducerIdRequest>(pair).await?;
    outside::<OffsetForLeaderEpochRequest>(pair).await
}

fn request(version: i16, name: &str, software_version: &str) -> ApiVersionsRequest {
    if version < NAMES_SOFTWARE {
        return ApiVersionsRequest::default();
    }
    ApiVersionsRequest::default()
        .with_client_software_name(text(name))
        .with_client_software_version(text(software_version))
}

/// Versions around those that there are.
async fn outside<R: Compared + Message + Default>(pair: &mut Pair) -> Result<()> {
    for version in [R::VERSIONS.min - 1, FAR_ABOVE] {
        unknown_version::<R>(pair, version).await?;
    }
    Ok(())
}

/// A request that is a proper one but for the version that it says. An answer can only be in the layout of version 0.
async fn unknown_version<R: Compared + Message + Default>(
    pair: &mut Pair,
    version: i16,
) -> Result<()> {
    let known = R::VERSIONS.max;
    let mut body = BytesMut::new();
    R::default().encode(&mut body, known)?;
    let real = ask_as::<R>(&pair.real, version, &body).await?;
    let ours = ask_as::<R>(&pair.ours, version, &body).await?;
    pair.judge::<R>("unknown version", version, None, real, ours)?;
    Ok(())
}

async fn ask_as<R: Compared + Message>(
    side: &Side,
    version: i16,
    body: &[u8],
) -> Result<Reply<R::Response>> {
    let mut connection = side.connect(1).await?;
    let header = R::header_version(R::VERSIONS.max);
    connection.send_as(R::KEY, version, header, body).await?;
    connection.receive::<R>(R::VERSIONS.min).await
}
