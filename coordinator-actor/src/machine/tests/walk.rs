//! Walks at random through all that application, coordinator, network and time may do, and then lets all go well: whatever
//! happened before, the member is in the group then and every call has been answered.

use super::*;

#[derive(Debug)]
struct Walk {
    world: World,
    random: u64,
    generation: i32,
    /// Rises with everything that is committed.
    offset: i64,
    /// What commits were answered for.
    stored: BTreeMap<TopicPartition, i64>,
    seen: usize,
    calls: Vec<CallId>,
    fetches: Vec<CallId>,
    is_subscribed: bool,
}

const CODES: [ErrorCode; 24] = [
    ErrorCode::UNKNOWN_SERVER_ERROR,
    ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode::REQUEST_TIMED_OUT,
    ErrorCode::COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode::COORDINATOR_NOT_AVAILABLE,
    ErrorCode::NOT_COORDINATOR,
    ErrorCode::ILLEGAL_GENERATION,
    ErrorCode::INCONSISTENT_GROUP_PROTOCOL,
    ErrorCode::UNKNOWN_MEMBER_ID,
    ErrorCode::REBALANCE_IN_PROGRESS,
    ErrorCode::REBALANCE_IN_PROGRESS,
    ErrorCode::TOPIC_AUTHORIZATION_FAILED,
    ErrorCode::GROUP_AUTHORIZATION_FAILED,
    ErrorCode::MEMBER_ID_REQUIRED,
    ErrorCode::MEMBER_ID_REQUIRED,
    ErrorCode::GROUP_MAX_SIZE_REACHED,
    ErrorCode::FENCED_INSTANCE_ID,
    ErrorCode::UNSTABLE_OFFSET_COMMIT,
    ErrorCode::FENCED_MEMBER_EPOCH,
    ErrorCode::UNRELEASED_INSTANCE_ID,
    ErrorCode::STALE_MEMBER_EPOCH,
    ErrorCode::UNSUPPORTED_ASSIGNOR,
    ErrorCode::INVALID_REGULAR_EXPRESSION,
    ErrorCode(999),
];

impl Walk {
    fn new(config: GroupConfig, seed: u64) -> Self {
        let mut world = World::new(config);
        world.cluster(&["t", "u"]);
        Self {
            world,
            random: seed,
            generation: 0,
            offset: 0,
            stored: BTreeMap::new(),
            seen: 0,
            calls: Vec::new(),
            fetches: Vec::new(),
            is_subscribed: false,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.random = self
            .random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.random >> 33).unwrap() % limit
    }

    fn some_parts(&mut self) -> Vec<String> {
        let bits = self.below(64);
        let all = ["t-0", "t-1", "t-2", "u-0", "u-1", "u-2"];
        let some = all.iter().enumerate();
        let some = some.filter(|(bit, _)| bits >> bit & 1 == 1);
        some.map(|(_, name)| (*name).to_owned()).collect()
    }

    fn step(&mut self) {
        match self.below(24) {
            0..=8 => self.answer(false),
            9 => self.lose(),
            10 => {
                let millis = [1, 20, 300, 5000][self.below(4)];
                self.world.pass(Duration::from_millis(millis));
            }
            11 if self.below(12) == 0 => self.world.pass(MAX_POLL),
            12..=14 => self.world.confirm(),
            15 => {
                let at = LastPoll::At(self.world.now);
                self.world.last_poll = [LastPoll::Now, at][self.below(2)];
            }
            16 if self.below(2) == 0 => {
                let wanted: &[&str] = [&["t"][..], &["u"], &["t", "u"], &["t", "v"]][self.below(4)];
                self.world.subscribe(wanted);
                self.is_subscribed = true;
            }
            17 if self.below(3) == 0 => {
                self.world.unsubscribe();
                self.is_subscribed = false;
            }
            18 => {
                let names = self.some_parts();
                let offset = self.next_offset();
                let pairs: Vec<_> = names.iter().map(|name| (&**name, offset)).collect();
                let call = self.world.commit(&pairs);
                self.calls.push(call);
            }
            19 => {
                let name = self.some_parts();
                let names: Vec<&str> = name.iter().map(String::as_str).collect();
                let call = self.world.fetch(&names);
                self.fetches.push(call);
            }
            20 => {
                let names = self.some_parts();
                if let Some(name) = names.first() {
                    let epoch = u64::try_from(self.next_offset()).unwrap();
                    self.world.look_up(name, epoch);
                }
            }
            21 => {
                let names: &[&str] = [&["t"][..], &["t", "u"], &["t", "u", "v"]][self.below(3)];
                self.world.cluster(names);
            }
            22 if self.below(4) == 0 => {
                let why = "the application wants it";
                self.world
                    .run(|machine, now, effects| machine.enforce_rebalance(now, why, effects));
            }
            _ => self.stale(),
        }
        self.check();
    }

    fn next_offset(&mut self) -> i64 {
        self.offset += 1;
        for name in parts(&["t-0", "t-1", "t-2", "u-0", "u-1", "u-2"]) {
            self.world.processed.insert(name, self.offset.into());
        }
        self.offset
    }

    fn some_request(&mut self) -> Option<(AskId, Request)> {
        let ids: Vec<AskId> = self.world.in_flight.keys().copied().collect();
        // on one connection, answers come in order
        let id = *ids.first()?;
        let request = self.world.in_flight.remove(&id)?;
        Some((id, request))
    }

    fn lose(&mut self) {
        if let Some((id, _)) = self.some_request() {
            self.world.answer(id, Err(lost()));
        }
    }

    /// An answer to a request of which nobody waits any more.
    fn stale(&mut self) {
        if self.world.asked.is_empty() {
            return;
        }
        let at = self.below(self.world.asked.len());
        let (id, request) = self.world.asked[at].clone();
        if !self.world.in_flight.contains_key(&id) {
            let code = CODES[self.below(CODES.len())];
            self.world.answer(id, Ok(error(&request, code)));
        }
    }

    fn answer(&mut self, well: bool) {
        let Some((id, request)) = self.some_request() else {
            return;
        };
        let is_awaited = self.world.machine.member.awaits(id);
        if !well && self.below(4) == 0 {
            let code = CODES[self.below(CODES.len())];
            self.world.answer(id, Ok(error(&request, code)));
            return;
        }
        let answer = match &request {
            Request::FindCoordinator => Answer::Coordinator(Ok(coordinator())),
            Request::JoinGroup(_) => {
                self.generation += i32::from(is_awaited);
                let Answer::JoinGroup(Ok(mut answer)) = joined(self.generation) else {
                    unreachable!("it is one");
                };
                answer.protocol = self.world.protocol().into();
                Answer::JoinGroup(Ok(answer))
            }
            Request::SyncGroup(_) => {
                let names = self.some_parts();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let names: Vec<&str> = if well {
                    let topics = self.world.watched.names.clone();
                    let is_read = |name: &&&str| topics.contains(part(name).topic());
                    names.iter().filter(is_read).copied().collect()
                } else {
                    names
                };
                synced(&names)
            }
            Request::ConsumerHeartbeat(heartbeat) => {
                let names = self.some_parts();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let is_first = heartbeat.epoch == 0;
                if is_awaited && heartbeat.epoch >= 0 && (is_first || (!well && self.below(4) == 0))
                {
                    self.generation += 1;
                    beaten(self.generation, Some(&names))
                } else {
                    beaten(heartbeat.epoch, None)
                }
            }
            Request::OffsetCommit { offsets, .. } => {
                for (name, offset) in offsets {
                    self.stored.insert(name.clone(), offset.offset);
                }
                error(&request, ErrorCode::NONE)
            }
            Request::OffsetFetch { partitions, .. } => {
                let found = partitions.iter().flatten();
                Answer::OffsetFetch(Ok(found.map(|name| (name.clone(), Ok(None))).collect()))
            }
            Request::Heartbeat(_) | Request::LeaveGroup { .. } => error(&request, ErrorCode::NONE),
        };
        self.world.answer(id, Ok(answer));
    }

    fn check(&mut self) {
        for at in self.seen..self.world.asked.len() {
            let (_, request) = &self.world.asked[at];
            let Request::OffsetCommit { identity, offsets } = request else {
                continue;
            };
            for (name, offset) in offsets {
                let stored = self.stored.get(name).copied().unwrap_or(-1);
                assert!(
                    offset.offset >= stored,
                    "{name} goes back: {:?}",
                    self.world
                );
            }
            if let Some(identity) = identity {
                assert_eq!(identity.epoch, self.generation, "{:?}", self.world);
            }
        }
        self.seen = self.world.asked.len();
        let members = self.world.in_flight.iter().filter(|(id, request)| {
            let is_beat = matches!(request, Request::Heartbeat(_));
            !is_beat && self.world.machine.member.awaits(**id)
        });
        assert!(members.count() <= 1, "two at once: {:#?}", self.world);
        self.world.assert_alive("a step");
    }

    /// From now on all goes well.
    fn end(&mut self) {
        self.world.last_poll = LastPoll::Now;
        self.world.cluster(&["t", "u", "v"]);
        if !self.is_subscribed || !self.world.failures.is_empty() {
            self.world.subscribe(&["t", "u"]);
        }
        for _ in 0..60 {
            while !self.world.in_flight.is_empty() {
                self.answer(true);
                self.check();
            }
            self.world.confirm();
            self.world.pass(Duration::from_secs(2));
            self.check();
        }
        while !self.world.in_flight.is_empty() {
            self.answer(true);
        }
        self.world.confirm();
        let world = &self.world;
        assert!(world.failures.is_empty(), "{world:#?}");
        let identity = world.identity.as_ref().unwrap();
        assert_eq!(identity.generation_id, self.generation, "{world:#?}");
        for call in &self.calls {
            assert!(world.committed.contains_key(call), "{call:?} {world:#?}");
        }
        for call in &self.fetches {
            assert!(world.fetched.contains_key(call), "{call:?} {world:#?}");
        }
        if world.config.has_listener {
            assert_eq!(world.told, world.assigned, "{world:#?}");
        }
        assert!(!world.machine.is_handing_over(), "{world:#?}");
    }
}

fn walk(config: &GroupConfig) {
    for seed in 0..200 {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut walk = Walk::new(config.clone(), seed);
            for _ in 0..400 {
                walk.step();
            }
            walk.end();
        }));
        if let Err(panic) = result {
            eprintln!("the seed is {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn eager_members_survive_whatever_happens() {
    walk(&eager());
    walk(&silent(auto_commit(eager())));
}

#[test]
fn cooperative_members_survive_whatever_happens() {
    walk(&cooperative());
    walk(&auto_commit(cooperative()));
    walk(&silent(cooperative()));
}

#[test]
fn members_of_kip_848_survive_whatever_happens() {
    walk(&consumer());
    walk(&auto_commit(consumer()));
    walk(&silent(auto_commit(consumer())));
}

#[test]
fn static_members_survive_whatever_happens() {
    walk(&fixed(auto_commit(cooperative())));
    walk(&fixed(consumer()));
}
