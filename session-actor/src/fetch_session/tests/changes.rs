//! A session that is told what changed says what one says that looks at everything.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const PARTITIONS: i32 = 4;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// The buffer sees to it that the next request asks for the partition at this offset, ...
    Ask(i32, i64),
    /// ... under a new epoch, ...
    Renew(i32),
    /// ... only parks it, ...
    Park(i32),
    /// ... or does without it.
    Leave(i32),
    /// Its topic is created anew.
    Recreate(i32),
    /// A request is built, and an answer tells of records up to here.
    Fetch(i32, i64),
    /// A grant does not come to the session.
    Abandon,
    /// The session is kept alive between two grants.
    Touch,
    /// The answer does not come.
    Lose,
}

fn step() -> impl Strategy<Value = Step> {
    let partition = || 0..PARTITIONS;
    prop_oneof![
        4 => (partition(), 0..20_i64).prop_map(|(partition, offset)| Step::Ask(partition, offset)),
        1 => partition().prop_map(Step::Renew),
        2 => partition().prop_map(Step::Park),
        1 => partition().prop_map(Step::Leave),
        1 => partition().prop_map(Step::Recreate),
        6 => (partition(), 0..20_i64).prop_map(|(partition, high)| Step::Fetch(partition, high)),
        1 => Just(Step::Abandon),
        1 => Just(Step::Touch),
        1 => Just(Step::Lose),
    ]
}

/// The buffer's end: what is to be asked for, and what may have changed of it.
struct Buffer {
    asks: BTreeMap<i32, Ask>,
    visited: BTreeSet<i32>,
    since: Option<TicketId>,
    epoch: u64,
}

impl Buffer {
    fn ask(&mut self, partition: i32) -> &mut Ask {
        self.visited.insert(partition);
        let ask = self.asks.entry(partition);
        ask.or_insert_with(|| super::ask(partition, 0))
    }

    fn grant(&mut self, world: &mut World) -> Grant {
        let visited = std::mem::take(&mut self.visited);
        let asks: Vec<Ask> = self.asks.values().copied().collect();
        let (named, gone): (Vec<i32>, Vec<i32>) = visited
            .into_iter()
            .partition(|partition| self.asks.contains_key(partition));
        let changes = self.since.map(|since| Changes {
            since,
            asks: named.iter().map(|partition| self.asks[partition]).collect(),
            gone: gone.into_iter().map(id).collect(),
        });
        let grant = world.grant(&asks, changes);
        self.since = Some(grant.ticket);
        grant
    }
}

/// What a plan says, whatever the order.
fn said(plan: &Plan) -> impl PartialEq + std::fmt::Debug + use<> {
    let named = plan.named.iter();
    let named: BTreeMap<_, _> = named
        .map(|named| ((named.topic.id, named.index), named.sent))
        .collect();
    let forgotten: BTreeSet<_> = plan
        .forgotten
        .iter()
        .map(|gone| (gone.topic.id, gone.index))
        .collect();
    (session(plan), plan.topic_ids, named, forgotten)
}

proptest! {
    #[test]
    fn who_is_told_what_changed_says_what_one_says_who_looks_at_everything(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        let mut told = World::new(FetchSession::incremental());
        for partition in 0..PARTITIONS {
            told.locate(id(partition), T[0], partition);
        }
        let mut looks = FetchSession::incremental();
        let mut buffer = Buffer {
            asks: (0..PARTITIONS).map(|partition| (partition, ask(partition, 0))).collect(),
            visited: BTreeSet::new(),
            since: None,
            epoch: 1,
        };
        for step in steps {
            match step {
                Step::Ask(partition, offset) => {
                    let ask = buffer.ask(partition);
                    (ask.offset, ask.parked) = (offset, false);
                }
                Step::Renew(partition) => {
                    buffer.epoch += 1;
                    buffer.ask(partition).epoch = FetchEpoch(buffer.epoch);
                }
                Step::Park(partition) => buffer.ask(partition).parked = true,
                Step::Leave(partition) => {
                    buffer.visited.insert(partition);
                    buffer.asks.remove(&partition);
                }
                Step::Recreate(partition) => {
                    told.locate(id(partition), T[0] + buffer.epoch as u8, partition);
                }
                Step::Fetch(partition, high) => {
                    let grant = buffer.grant(&mut told);
                    let plan = told.session.build(told.now, &grant, &told.table, true);
                    let whole = Grant { changes: Derived(None), ..grant };
                    let expected = looks.build(told.now, &whole, &told.table, true);
                    prop_assert_eq!(said(&plan), said(&expected));
                    let all: Vec<_> = plan.named.iter().map(|named| Some(id(named.index))).collect();
                    for session in [&mut told.session, &mut looks] {
                        session.receive(told.now, head(123), all.clone());
                        session.observe(id(partition), super::told(high));
                    }
                    prop_assert_eq!(told.session.untold(), looks.untold());
                    prop_assert_eq!(told.session.len(), looks.len());
                }
                Step::Abandon => {
                    buffer.grant(&mut told);
                }
                Step::Touch => {
                    let plans = [told.session.touch(), looks.touch()];
                    prop_assert_eq!(&plans[0], &plans[1]);
                    if plans[0].is_some() {
                        for session in [&mut told.session, &mut looks] {
                            session.receive(told.now, head(123), []);
                        }
                    }
                }
                Step::Lose => {
                    told.session.lost();
                    looks.lost();
                }
            }
        }
    }
}
