//! Whom to ask for metadata next, and when: known brokers in turn, then the bootstrap servers (KIP-899), with growing pauses
//! between rounds in which nobody answered.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use buffer_actor::{Backoff, Jitter};
use session_actor::ClusterSnapshot;
use session_actor::wire::{Address, Peer};

/// The first try of a round is given this long, each further one twice as long: a broker that took the request and froze must
/// not hold up the others for `request.timeout.ms`.
const FIRST_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refresh {
    retry: Backoff,
    reconnect: Backoff,
    request_timeout: Duration,
    jitter: Jitter,
    wanted: bool,
    in_flight: bool,
    not_before: Option<Instant>,
    /// Asked in this round without success.
    tried: HashSet<Address>,
    /// May not answer: asked last.
    doubted: HashSet<Address>,
    /// Rounds in a row in which nobody answered.
    failed_rounds: u32,
    /// The first request since the last answer.
    unanswered_since: Option<Instant>,
    /// Successful answers since the last one that brought what was wanted.
    fruitless: u32,
    /// Where the next round begins, so that no broker is asked by everybody.
    turn: usize,
}

/// A request for metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) peer: Peer,
    pub(super) limit: Duration,
}

impl Refresh {
    pub(super) fn new(
        retry: Backoff,
        reconnect: Backoff,
        request_timeout: Duration,
        seed: u64,
    ) -> Self {
        Self {
            retry,
            reconnect,
            request_timeout,
            jitter: Jitter::new(seed),
            wanted: false,
            in_flight: false,
            not_before: None,
            tried: HashSet::new(),
            doubted: HashSet::new(),
            failed_rounds: 0,
            unanswered_since: None,
            fruitless: 0,
            turn: seed as usize,
        }
    }

    /// Whether there is something to ask.
    pub(super) const fn want(&mut self, wanted: bool) {
        self.wanted = wanted;
    }

    /// A sign that it does not answer: until somebody has, it is asked last.
    pub(super) fn doubt(&mut self, address: Address) {
        self.doubted.insert(address);
    }

    /// A round without any answer has been completed and none has succeeded since.
    pub(super) const fn failed_rounds(&self) -> u32 {
        self.failed_rounds
    }

    /// The next request, if one is due. The bootstrap servers are asked when no known broker answers, and before all others when none
    /// has for `trigger` (KIP-1102): to try many that do not even refuse takes long.
    pub(super) fn next(
        &mut self,
        now: Instant,
        snapshot: &ClusterSnapshot,
        bootstrap: &[Address],
        trigger: Duration,
    ) -> Option<Attempt> {
        if !self.wanted || self.in_flight || self.not_before.is_some_and(|at| at > now) {
            return None;
        }
        let known: Vec<Peer> = snapshot
            .brokers
            .iter()
            .map(|(node, address)| Peer {
                node: Some(node.0),
                address: address.clone(),
            })
            .collect();
        let first = bootstrap.iter().map(|address| Peer {
            node: None,
            address: address.clone(),
        });
        let waited = self.unanswered_since.map(|since| now - since);
        let overdue = waited.is_some_and(|waited| waited > trigger);
        let start = self.turn.checked_rem(known.len()).unwrap_or(0);
        let mut candidates: Vec<Peer> = known[start..]
            .iter()
            .chain(&known[..start])
            .cloned()
            .chain(first)
            .filter(|peer| !self.tried.contains(&peer.address))
            .collect();
        // the order is kept otherwise
        candidates.sort_by_key(|peer| self.doubted.contains(&peer.address));
        if overdue {
            candidates.sort_by_key(|peer| peer.node.is_some());
        }
        let peer = candidates.into_iter().next()?;
        self.unanswered_since.get_or_insert(now);
        let tries = u32::try_from(self.tried.len()).unwrap_or(u32::MAX).min(10);
        self.tried.insert(peer.address.clone());
        self.in_flight = true;
        self.wanted = false;
        Some(Attempt {
            peer,
            limit: (FIRST_LIMIT * 2u32.pow(tries)).min(self.request_timeout),
        })
    }

    /// An answer came. `fruitful`: it told what was to be known, so the next wish may be fulfilled at once.
    pub(super) fn succeeded(&mut self, now: Instant, fruitful: bool) {
        self.in_flight = false;
        self.failed_rounds = 0;
        self.unanswered_since = None;
        self.tried.clear();
        self.doubted.clear();
        self.turn = self.turn.wrapping_add(1);
        self.fruitless = if fruitful {
            0
        } else {
            self.fruitless.saturating_add(1)
        };
        let attempt = self.fruitless.saturating_sub(1);
        self.not_before = Some(now + self.retry.delay(attempt, self.jitter.next()));
    }

    /// No answer came: another is asked at once, or, when all were, after a pause.
    pub(super) fn failed(
        &mut self,
        now: Instant,
        snapshot: &ClusterSnapshot,
        bootstrap: &[Address],
    ) {
        self.in_flight = false;
        self.wanted = true;
        let exhausted = snapshot
            .brokers
            .values()
            .chain(bootstrap)
            .all(|address| self.tried.contains(address));
        if exhausted {
            self.tried.clear();
            self.turn = self.turn.wrapping_add(1);
            let delay = self.reconnect.delay(self.failed_rounds, self.jitter.next());
            self.failed_rounds = self.failed_rounds.saturating_add(1);
            self.not_before = Some(now + delay);
        }
    }

    /// The known brokers are not to be asked in this round.
    pub(super) fn distrust(&mut self, snapshot: &ClusterSnapshot) {
        self.tried.extend(snapshot.brokers.values().cloned());
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.not_before.filter(|_| self.wanted && !self.in_flight)
    }
}
