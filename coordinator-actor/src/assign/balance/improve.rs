//! From a flow to the cheapest one, by cancelling negative cycles: there is a cheaper flow exactly if partitions can be passed around a ring of
//! members, or along a chain from one that has more to one that has less, at a negative cost.

use std::collections::BTreeSet;

use super::Flow;

/// Lowers the cost until nothing does.
pub(super) fn improve(flow: &mut Flow<'_>) {
    let mut passes = Passes::new(flow);
    while let Some(ring) = passes.negative_ring(&flow.loads) {
        let mut changed = BTreeSet::new();
        for (from, to) in ring {
            let class = passes.at(from, to).class;
            flow.take(class, from);
            flow.give(class, to);
            changed.extend([from, to]);
            // what they give and take has another price now
            let shares = flow.classes[class].shares.iter();
            changed.extend(
                shares
                    .filter(|share| share.count > 0)
                    .map(|share| share.rank),
            );
        }
        for rank in changed {
            passes.update(flow, rank);
        }
    }
}

/// The cheapest way to pass one partition from a member to another.
#[derive(Debug, Clone, Copy)]
struct Pass {
    cost: i32,
    class: usize,
}

const NO_PASS: Pass = Pass {
    cost: i32::MAX,
    class: 0,
};

/// The passes between all pairs of members.
#[derive(Debug)]
struct Passes {
    members: usize,
    /// By giver, then by taker.
    passes: Vec<Pass>,
    /// What one partition farther costs, where one partition moved costs 1: more than a whole ring can move.
    far: i32,
    /// What a unit of load costs: more than a whole ring can save otherwise.
    load: i64,
}

impl Passes {
    fn new(flow: &Flow<'_>) -> Self {
        let members = flow.loads.len();
        let far = i32::try_from(members + 1).unwrap_or(i32::MAX / 4);
        let mut passes = Self {
            members,
            passes: vec![NO_PASS; members * members],
            far,
            load: i64::from(far) * (i64::from(far) + 1),
        };
        for rank in 0..members {
            passes.update(flow, rank);
        }
        passes
    }

    fn at(&self, from: usize, to: usize) -> Pass {
        self.passes[from * self.members + to]
    }

    /// Looks again at what a member can give.
    fn update(&mut self, flow: &Flow<'_>, from: usize) {
        let far = |class, rank| {
            if flow.is_far(class, rank) {
                self.far
            } else {
                0
            }
        };
        let row = &mut self.passes[from * self.members..][..self.members];
        row.fill(NO_PASS);
        for &place in &flow.held[from] {
            let class = &flow.classes[place];
            let moved = class
                .share(from)
                .is_some_and(|share| share.count > share.owned);
            let saved = far(place, from) + i32::from(moved);
            let mut shares = class.shares.iter().peekable();
            for &to in class.subscribers {
                while shares.next_if(|share| share.rank < to).is_some() {}
                let back = shares
                    .peek()
                    .is_some_and(|share| share.rank == to && share.count < share.owned);
                let cost = far(place, to) + i32::from(!back) - saved;
                if to != from && cost < row[to].cost {
                    row[to] = Pass { cost, class: place };
                }
            }
        }
    }

    /// Passes that together cost less than nothing, by Bellman and Ford's search. One more node stands for the loads: a way from it to a member
    /// and back from another one takes load from the first and puts it on the second.
    fn negative_ring(&self, loads: &[usize]) -> Option<Vec<(usize, usize)>> {
        let hub = self.members;
        let mut costs = vec![0; self.members + 1];
        let mut before: Vec<Option<usize>> = vec![None; self.members + 1];
        loop {
            let mut changed = false;
            let mut relax = |costs: &mut [i64], from: usize, to: usize, cost: i64| {
                let cost = costs[from] + cost;
                if cost < costs[to] {
                    costs[to] = cost;
                    before[to] = Some(from);
                    changed = true;
                }
            };
            for (rank, &load) in loads.iter().enumerate() {
                if load > 0 {
                    relax(&mut costs, hub, rank, self.load * (1 - 2 * as_cost(load)));
                }
            }
            for from in 0..self.members {
                let row = &self.passes[from * self.members..][..self.members];
                for (to, pass) in row.iter().enumerate() {
                    if pass.cost != NO_PASS.cost {
                        relax(&mut costs, from, to, pass.cost.into());
                    }
                }
            }
            for (rank, &load) in loads.iter().enumerate() {
                relax(&mut costs, rank, hub, self.load * (1 + 2 * as_cost(load)));
            }
            if !changed {
                return None;
            }
            if let Some(ring) = ring(&before) {
                let passes = ring
                    .into_iter()
                    .filter(|(from, to)| *from != hub && *to != hub);
                return Some(passes.collect());
            }
        }
    }
}

fn as_cost(load: usize) -> i64 {
    i64::try_from(load).unwrap_or(i64::MAX)
}

/// A ring in the nodes' predecessors, as pairs of neighbours: it is there once costs would fall for ever.
fn ring(before: &[Option<usize>]) -> Option<Vec<(usize, usize)>> {
    // the walk that first came by; 0 for none
    let mut seen = vec![0; before.len()];
    for start in 0..before.len() {
        let mut node = start;
        while seen[node] == 0 {
            seen[node] = start + 1;
            match before[node] {
                Some(next) => node = next,
                None => break,
            }
        }
        if seen[node] == start + 1 && before[node].is_some() {
            let mut pairs = Vec::new();
            let last = node;
            while let Some(from) = before[node] {
                pairs.push((from, node));
                node = from;
                if node == last {
                    return Some(pairs);
                }
            }
        }
    }
    None
}
