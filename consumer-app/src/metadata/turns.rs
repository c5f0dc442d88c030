//! What is asked for next: requests for metadata are of three kinds, which do not go together in one (a broker looks at no name
//! beside an id), and take turns.

use std::collections::VecDeque;
use std::sync::Arc;

use uuid::Uuid;

/// Which topics a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those that are known by their names.
    Names,
    /// Those that are known by nothing but their ids (KIP-516).
    Ids,
    /// All that there are.
    All,
}

/// The topics of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Topics {
    /// These; none of them means brokers only.
    Names(Vec<Arc<str>>),
    /// These.
    Ids(Vec<Uuid>),
    /// All.
    All,
}

/// The kinds that are due, and the one on its way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Turns {
    due: VecDeque<Kind>,
    asking: Option<Kind>,
}

impl Turns {
    /// One more request of the kind, also if one is on its way: its answer may be of before.
    pub(super) fn want(&mut self, kind: Kind) {
        if !self.due.contains(&kind) {
            self.due.push_back(kind);
        }
    }

    /// There is no need any more.
    pub(super) fn drop(&mut self, kind: Kind) {
        self.due.retain(|due| *due != kind);
    }

    /// Whether nothing is due.
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// A request is sent: of which kind.
    pub(super) fn begin(&mut self) -> Kind {
        let kind = self.due.pop_front().unwrap_or(Kind::Names);
        self.asking = Some(kind);
        kind
    }

    /// The request on its way was answered. Returns its kind.
    pub(super) fn succeeded(&mut self) -> Kind {
        self.asking.take().unwrap_or(Kind::Names)
    }

    /// It was not: the next one is of its kind again.
    pub(super) fn failed(&mut self) {
        if let Some(kind) = self.asking.take() {
            self.drop(kind);
            self.due.push_front(kind);
        }
    }
}
