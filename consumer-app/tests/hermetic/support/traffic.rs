//! What the broker was asked, as tests look at it.

use std::collections::{BTreeMap, BTreeSet};

use consumer_app::TopicPartition;
use test_broker::{ApiKey, FetchPartitionSummary, FetchSummary, RequestRecord, TestBroker};

/// The Fetch requests so far, with the node that took each in.
pub(crate) fn fetches(broker: &TestBroker) -> Vec<(i32, FetchSummary)> {
    let requests = broker.requests_of(ApiKey::Fetch);
    requests
        .iter()
        .filter_map(|request| Some((request.node, request.fetch()?.clone())))
        .collect()
}

/// The Fetch requests of the lane that keeps a session: full ones that ask for it, increments, and those that end it.
pub(crate) fn session_fetches(broker: &TestBroker) -> Vec<(i32, FetchSummary)> {
    let mut all = fetches(broker);
    all.retain(|(_, fetch)| fetch.session_epoch >= 0 || fetch.session_id != 0);
    all
}

/// At which offset a request names a partition.
pub(crate) fn asks(fetch: &FetchSummary, partition: &TopicPartition) -> Option<i64> {
    let mut named = fetch.partitions.iter();
    let found = named.find(|named| named.partition == *partition);
    found.map(|named| named.fetch_offset)
}

/// The offsets at which a partition was asked for, in order.
pub(crate) fn asked_offsets(broker: &TestBroker, partition: &TopicPartition) -> Vec<i64> {
    let all = fetches(broker);
    all.iter()
        .filter_map(|(_, fetch)| asks(fetch, partition))
        .collect()
}

/// Waits until a partition was asked for at an offset.
pub(crate) async fn asked_at(broker: &TestBroker, partition: &TopicPartition, offset: i64) {
    let wanted = |request: &RequestRecord| {
        let fetch = request.fetch();
        fetch.is_some_and(|fetch| asks(fetch, partition) == Some(offset))
    };
    broker
        .wait_for_requests(|requests| requests.iter().any(wanted))
        .await;
}

/// How many requests of an API a node took in.
pub(crate) fn count(broker: &TestBroker, node: i32, api: ApiKey) -> usize {
    let requests = broker.requests_of(api);
    requests.iter().filter(|r| r.node == node).count()
}

/// What the requests of one node's session say of it: the ids that it had, and what was forgotten in it.
#[derive(Debug, Default)]
pub(crate) struct SessionStory {
    pub(crate) ids: BTreeSet<i32>,
    pub(crate) forgotten: Vec<TopicPartition>,
    /// Partitions that a request names although the session has them at the same offset, or has them new again.
    pub(crate) full_requests: usize,
    pub(crate) increments: usize,
}

/// The story of each node's session.
pub(crate) fn sessions(broker: &TestBroker) -> BTreeMap<i32, SessionStory> {
    let mut stories: BTreeMap<i32, SessionStory> = BTreeMap::new();
    for (node, fetch) in session_fetches(broker) {
        let story = stories.entry(node).or_default();
        if fetch.session_epoch > 0 {
            story.ids.insert(fetch.session_id);
            story.increments += 1;
        } else if fetch.session_epoch == 0 {
            story.full_requests += 1;
        }
        story.forgotten.extend(fetch.forgotten);
    }
    stories
}

/// How often an increment named a partition at the offset, leader epoch and limit that its session had already: it had been
/// left out and came back, or was named for nothing.
pub(crate) fn session_names_again(broker: &TestBroker) -> usize {
    let mut known: BTreeMap<(i32, TopicPartition), FetchPartitionSummary> = BTreeMap::new();
    let mut again = 0;
    for (node, fetch) in session_fetches(broker) {
        for named in fetch.partitions {
            let key = (node, named.partition.clone());
            let before = known.insert(key, named.clone());
            again += usize::from(fetch.session_epoch > 0 && before.as_ref() == Some(&named));
        }
    }
    again
}
