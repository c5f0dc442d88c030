//! Several runs of the same.

use crate::broker::Logged;
use crate::lane::Measured;

/// Of each mode the medians of what was seen of it, each figure by itself.
pub(crate) fn medians(runs: &[Vec<Measured>]) -> Vec<Measured> {
    let modes = runs.first().map_or(0, Vec::len);
    (0..modes)
        .map(|mode| {
            let of_mode: Vec<Measured> = runs.iter().map(|run| run[mode]).collect();
            medians_of(&of_mode)
        })
        .collect()
}

fn medians_of(all: &[Measured]) -> Measured {
    let real = |of: fn(&Measured) -> f64| {
        let mut sorted: Vec<f64> = all.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let whole = |of: fn(&Measured) -> u64| {
        let mut sorted: Vec<u64> = all.iter().map(of).collect();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let known = |of: fn(&Measured) -> Option<u64>| {
        let mut sorted: Vec<Option<u64>> = all.iter().map(of).collect();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    Measured {
        mode: all[0].mode,
        seconds: real(|one| one.seconds),
        evictions: real(|one| one.evictions),
        id_not_found: real(|one| one.id_not_found),
        requests: real(|one| one.requests),
        request_bytes: real(|one| one.request_bytes),
        response_bytes: real(|one| one.response_bytes),
        logged: Logged {
            created: whole(|one| one.logged.created),
            refused: whole(|one| one.logged.refused),
            evicted_by_age: whole(|one| one.logged.evicted_by_age),
            evicted_by_size: whole(|one| one.logged.evicted_by_size),
            forgotten: whole(|one| one.logged.forgotten),
        },
        sessions: real(|one| one.sessions),
        size: real(|one| one.size),
        lowest_size: real(|one| one.lowest_size),
        records: whole(|one| one.records),
        touches: known(|one| one.touches),
        let_go: known(|one| one.let_go),
    }
}
