use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use kafka_protocol::messages::ApiKey;

/// The APIs that are served, with the versions of Apache Kafka 4.4 as far as the protocol crate has them.
const SERVED: [(ApiKey, RangeInclusive<i16>); 20] = [
    (ApiKey::Produce, 3..=13),
    (ApiKey::Fetch, 4..=18),
    (ApiKey::ListOffsets, 1..=10),
    (ApiKey::Metadata, 0..=13),
    (ApiKey::OffsetCommit, 2..=9),
    (ApiKey::OffsetFetch, 1..=9),
    (ApiKey::FindCoordinator, 0..=6),
    (ApiKey::JoinGroup, 0..=9),
    (ApiKey::Heartbeat, 0..=4),
    (ApiKey::LeaveGroup, 0..=5),
    (ApiKey::SyncGroup, 0..=5),
    (ApiKey::DescribeGroups, 0..=6),
    (ApiKey::ListGroups, 0..=5),
    (ApiKey::ConsumerGroupHeartbeat, 0..=1),
    (ApiKey::ConsumerGroupDescribe, 0..=1),
    (ApiKey::ApiVersions, 0..=4),
    (ApiKey::CreateTopics, 2..=7),
    (ApiKey::DeleteTopics, 1..=6),
    (ApiKey::InitProducerId, 0..=5),
    (ApiKey::OffsetForLeaderEpoch, 2..=4),
];

/// Kafka says that it serves Produce from version 0 on, which it does not: older librdkafka turns compression off
/// otherwise (KIP-896).
const PRODUCE_OFFERED_FROM: i16 = 0;

/// The versions of each API that the broker offers.
#[derive(Clone, Debug)]
pub(crate) struct Versions {
    served: BTreeMap<i16, (ApiKey, RangeInclusive<i16>)>,
}

impl Default for Versions {
    fn default() -> Self {
        let served = SERVED.map(|(api, versions)| (api as i16, (api, versions)));
        Self {
            served: BTreeMap::from(served),
        }
    }
}

impl Versions {
    /// Narrows the versions of an API down to those in `cap`; none left means that it is not offered.
    pub(crate) fn cap(&mut self, api: ApiKey, cap: RangeInclusive<i16>) {
        if let Some((_, versions)) = self.served.get_mut(&(api as i16)) {
            let first = *versions.start().max(cap.start());
            let last = *versions.end().min(cap.end());
            *versions = first..=last;
            if first > last {
                self.remove(api);
            }
        }
    }

    pub(crate) fn remove(&mut self, api: ApiKey) {
        self.served.remove(&(api as i16));
    }

    /// The API of a request, if it is offered.
    pub(crate) fn api(&self, key: i16) -> Option<ApiKey> {
        self.served.get(&key).map(|(api, _)| *api)
    }

    pub(crate) fn serves(&self, api: ApiKey, version: i16) -> bool {
        let served = self.served.get(&(api as i16));
        served.is_some_and(|(_, versions)| versions.contains(&version))
    }

    /// Key and versions of each API, as ApiVersions tells them.
    pub(super) fn offered(&self) -> impl Iterator<Item = (ApiKey, RangeInclusive<i16>)> {
        let uncapped = self.produce_is_uncapped();
        self.served.values().map(move |(api, versions)| match api {
            ApiKey::Produce if uncapped => (*api, PRODUCE_OFFERED_FROM..=*versions.end()),
            _ => (*api, versions.clone()),
        })
    }

    fn produce_is_uncapped(&self) -> bool {
        let produce = self.served.get(&(ApiKey::Produce as i16));
        produce.is_some_and(|(_, versions)| *versions.start() == 3)
    }
}
