use kafka_protocol::ResponseError;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse};

use super::{RequestContext, Versions};
use crate::cluster::Cluster;

pub(super) fn handle(
    cluster: &Cluster,
    context: &RequestContext,
    request: &ApiVersionsRequest,
) -> ApiVersionsResponse {
    let response = ApiVersionsResponse::default().with_throttle_time_ms(context.throttle_ms);
    if let Some(forced) = context.forced_at_top() {
        return response.with_error_code(forced.error.code());
    }
    let software = [
        &request.client_software_name,
        &request.client_software_version,
    ];
    if context.version >= 3 && !software.into_iter().all(|text| is_software_text(text)) {
        return response.with_error_code(ResponseError::InvalidRequest.code());
    }
    let offered = cluster.settings.versions.offered();
    response.with_api_keys(
        offered
            .map(|(api, v)| entry(api, *v.start(), *v.end()))
            .collect(),
    )
}

/// Only the entry of ApiVersions itself, so that the client knows what to ask.
pub(super) fn unsupported(versions: &Versions) -> ApiVersionsResponse {
    let own = versions
        .offered()
        .filter(|(api, _)| *api == ApiKey::ApiVersions);
    ApiVersionsResponse::default()
        .with_error_code(ResponseError::UnsupportedVersion.code())
        .with_api_keys(
            own.map(|(api, v)| entry(api, *v.start(), *v.end()))
                .collect(),
        )
}

fn entry(api: ApiKey, min: i16, max: i16) -> ApiVersion {
    ApiVersion::default()
        .with_api_key(api as i16)
        .with_min_version(min)
        .with_max_version(max)
}

/// Letters, digits, dots and hyphens, the latter two not at the ends (KIP-511).
fn is_software_text(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}
