//! Which topic a name stands for (KIP-516): a topic that was deleted and created again under its name is another one.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

/// The ids that answers gave for each name, the newest and the one before it.
#[derive(Debug, Clone, Default)]
pub(super) struct TopicIds(BTreeMap<Arc<str>, Ids>);

#[derive(Debug, Clone, Copy)]
struct Ids {
    current: Uuid,
    /// Nil: none.
    former: Uuid,
}

/// What an id in an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopicId {
    /// The one that is known, or the first of this name.
    Current,
    /// A new one: what was known of the name is of another topic.
    Recreated,
    /// The one before: the answer comes from a broker that lags behind. Ids do not come back.
    Former,
}

impl TopicIds {
    /// Brokers without topic ids give nil, which tells nothing.
    pub(super) fn judge(&mut self, name: &Arc<str>, id: Uuid) -> TopicId {
        if id.is_nil() {
            return TopicId::Current;
        }
        let first = Ids {
            current: id,
            former: Uuid::nil(),
        };
        let ids = self.0.entry(Arc::clone(name)).or_insert(first);
        if id == ids.current {
            TopicId::Current
        } else if id == ids.former {
            TopicId::Former
        } else {
            ids.former = std::mem::replace(&mut ids.current, id);
            TopicId::Recreated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f012_a_new_id_is_a_new_topic_and_an_old_one_does_not_come_back() {
        let mut ids = TopicIds::default();
        let name: Arc<str> = "t".into();
        let table = [
            (0, TopicId::Current),
            (7, TopicId::Current),
            (0, TopicId::Current),
            (7, TopicId::Current),
            (8, TopicId::Recreated),
            (7, TopicId::Former),
            (8, TopicId::Current),
            (9, TopicId::Recreated),
            (8, TopicId::Former),
        ];
        for (id, is) in table {
            assert_eq!(ids.judge(&name, Uuid::from_u128(id)), is, "{id}");
        }
        assert_eq!(
            ids.judge(&"other".into(), Uuid::from_u128(7)),
            TopicId::Current
        );
    }
}
