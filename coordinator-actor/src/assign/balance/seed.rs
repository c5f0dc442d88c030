//! A flow that is even and cheap if all subscriptions are equal and racks do not matter, and a good beginning otherwise.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Flow;

/// Lets members keep what they owned up to a fair share, and gives the rest to those that have least.
pub(super) fn seed(flow: &mut Flow<'_>) {
    keep(flow);
    fill(flow);
}

/// Where the partitions do not come out even, the larger shares go to those that owned most, so that fewer have to move.
fn keep(flow: &mut Flow<'_>) {
    let mut owned: Vec<Vec<(usize, usize)>> = vec![Vec::new(); flow.loads.len()];
    for (place, class) in flow.classes.iter().enumerate() {
        for &(index, owner) in &class.partitions {
            if let Some(rank) = owner.filter(|rank| !flow.is_far(place, *rank)) {
                owned[rank].push((index, place));
            }
        }
    }
    let partitions: usize = flow
        .classes
        .iter()
        .map(|class| class.partitions.len())
        .sum();
    let mut subscribed = vec![false; flow.loads.len()];
    for rank in flow.classes.iter().flat_map(|class| class.subscribers) {
        subscribed[*rank] = true;
    }
    let members = subscribed
        .iter()
        .filter(|subscribed| **subscribed)
        .count()
        .max(1);
    let share = partitions / members;
    let mut larger = partitions % members;

    let mut order: Vec<usize> = (0..owned.len()).collect();
    order.sort_by_key(|rank| Reverse(owned[*rank].len()));
    for rank in order {
        let owned = &mut owned[rank];
        let mut kept = share.min(owned.len());
        if larger > 0 && owned.len() > share {
            larger -= 1;
            kept += 1;
        }
        // over all topics rather than topic by topic, so that no topic is given up as a whole
        owned.sort_unstable();
        for &(_, class) in owned.iter().take(kept) {
            flow.give(class, rank);
        }
    }
}

fn fill(flow: &mut Flow<'_>) {
    let mut order: Vec<usize> = (0..flow.classes.len()).collect();
    // those that few can have first: the others find members with less all the same
    order.sort_by_key(|class| flow.classes[*class].subscribers.len());
    for class in order {
        let free = flow.classes[class].free();
        if free == 0 {
            continue;
        }
        let price = |flow: &Flow<'_>, rank: usize| {
            let moves = flow.classes[class]
                .share(rank)
                .is_none_or(|share| share.count >= share.owned);
            Reverse((flow.loads[rank], flow.is_far(class, rank), moves, rank))
        };
        let subscribers = flow.classes[class].subscribers;
        let mut cheapest: BinaryHeap<_> =
            subscribers.iter().map(|rank| price(flow, *rank)).collect();
        for _ in 0..free {
            let Some(mut first) = cheapest.peek_mut() else {
                break;
            };
            let rank = first.0.3;
            flow.give(class, rank);
            *first = price(flow, rank);
        }
    }
}
