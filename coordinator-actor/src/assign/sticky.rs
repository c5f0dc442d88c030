//! `sticky` (KIP-54).

use std::sync::Arc;

use bytes::Bytes;
use record_batch::TopicPartition;

use super::balance::balance;
use super::owners::{Claims, Owners};
use super::protocol::StickyUserData;
use super::subscribers::Subscribers;
use super::{Assignor, Member, TopicsMetadata};

/// `sticky`: as even as the subscriptions allow; then, where members have a `client.rack`, with as many partitions as possible at members in the
/// rack of one of their replicas (KIP-881); then with as many as possible where they were (KIP-54).
///
/// All three are the best there is, also where subscriptions differ; Java's assignor looks for it by trial there and may end before. It takes
/// 16 bytes for each pair of members.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sticky;

impl Assignor for Sticky {
    fn name(&self) -> &str {
        "sticky"
    }

    /// The previous assignment and its generation, since an eager member owns nothing when it joins.
    fn user_data(
        &self,
        owned: &[TopicPartition],
        generation: i32,
        _topics: &[Arc<str>],
    ) -> Option<Bytes> {
        if owned.is_empty() && generation < 0 {
            return None;
        }
        StickyUserData::encode(owned, generation)
    }

    fn assign(&self, cluster: &TopicsMetadata, group: &[Member]) -> Vec<Vec<TopicPartition>> {
        let group = Subscribers::new(cluster, group);
        let claims: Vec<Claims> = group.members.iter().map(|member| claims(member)).collect();
        let assigned = balance(&group, &Owners::new(&claims));
        group.in_place(assigned)
    }
}

/// What a member claims in its user data. One that cannot be read claims nothing: it may be of another client's assignor of this name.
fn claims(member: &Member) -> Claims {
    let user_data = member.subscription.user_data.as_ref();
    let previous = user_data.and_then(|bytes| StickyUserData::decode(bytes).ok());
    previous.map_or_else(Claims::default, |previous| Claims {
        partitions: previous.partitions,
        generation: previous.generation.unwrap_or(-1),
    })
}
