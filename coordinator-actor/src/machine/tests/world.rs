//! One machine, its clock, and all that it did.

use super::*;

pub(super) struct World {
    pub(super) machine: CoordinatorMachine,
    pub(super) now: Instant,
    pub(super) config: GroupConfig,
    pub(super) last_poll: LastPoll,
    pub(super) in_flight: BTreeMap<AskId, Request>,
    /// All requests ever, in order.
    pub(super) asked: Vec<(AskId, Request)>,
    pub(super) assigned: BTreeSet<TopicPartition>,
    /// What events told the application to own.
    pub(super) told: BTreeSet<TopicPartition>,
    pub(super) events: Vec<(EventId, RebalanceEvent)>,
    pub(super) unconfirmed: Vec<EventId>,
    /// What the application has processed.
    pub(super) processed: Offsets,
    pub(super) committed: BTreeMap<CallId, Result<(), GroupError>>,
    pub(super) fetched: BTreeMap<CallId, Result<Offsets, GroupError>>,
    pub(super) positions: Vec<(PartitionId, FetchEpoch, Option<CommittedOffset>)>,
    pub(super) no_positions: Vec<(TopicPartition, ErrorCode)>,
    pub(super) complaints: Vec<GroupError>,
    pub(super) failures: Vec<GroupError>,
    pub(super) watched: WatchTopics,
    pub(super) identity: Option<GroupMetadata>,
    pub(super) collects: usize,
    pub(super) disconnects: usize,
    pub(super) closed: usize,
    pub(super) calls: u64,
}

/// What matters of it when a test fails.
impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = |count: usize| self.asked.len().saturating_sub(count);
        writeln!(f, "now {:?}, last poll {:?}", self.now, self.last_poll)?;
        writeln!(f, "{:?}", self.machine.member)?;
        writeln!(f, "{:?}\n{:?}", self.machine.finder, self.machine.commits)?;
        writeln!(f, "{:?}", self.machine.committed)?;
        for (id, request) in &self.asked[newest(8)..] {
            let is_in_flight = self.in_flight.contains_key(id);
            writeln!(f, "{is_in_flight} {id:?} {request:?}")?;
        }
        writeln!(
            f,
            "{:?}",
            &self.events[self.events.len().saturating_sub(6)..]
        )?;
        writeln!(f, "told {:?} assigned {:?}", self.told, self.assigned)?;
        writeln!(
            f,
            "unconfirmed {:?} failures {:?}",
            self.unconfirmed, self.failures
        )
    }
}

impl World {
    pub(super) fn new(config: GroupConfig) -> Self {
        let now = tokio::time::Instant::now().into_std();
        Self {
            machine: CoordinatorMachine::new(config.clone(), now, MEMBER.into(), 7).unwrap(),
            now,
            config,
            last_poll: LastPoll::Now,
            in_flight: BTreeMap::new(),
            asked: Vec::new(),
            assigned: BTreeSet::new(),
            told: BTreeSet::new(),
            events: Vec::new(),
            unconfirmed: Vec::new(),
            processed: Offsets::new(),
            committed: BTreeMap::new(),
            fetched: BTreeMap::new(),
            positions: Vec::new(),
            no_positions: Vec::new(),
            complaints: Vec::new(),
            failures: Vec::new(),
            watched: WatchTopics::default(),
            identity: None,
            collects: 0,
            disconnects: 0,
            closed: 0,
            calls: 0,
        }
    }

    /// A member whose first assignment has arrived and is confirmed.
    pub(super) fn member(config: GroupConfig, names: &[&str]) -> Self {
        let mut world = Self::new(config);
        world.cluster(&["t", "u"]);
        world.subscribe(&["t", "u"]);
        world.find();
        world.join(1, names);
        world.confirm();
        if world.is_in_flight("ConsumerHeartbeat") {
            world.reply("ConsumerHeartbeat", beaten(1, None));
        }
        assert_eq!(world.assigned, parts(names).into_iter().collect());
        world
    }

    pub(super) fn run<R>(
        &mut self,
        event: impl FnOnce(&mut CoordinatorMachine, Instant, &mut Vec<Effect>) -> R,
    ) -> R {
        self.machine.polled(self.last_poll);
        let mut effects = Vec::new();
        let result = event(&mut self.machine, self.now, &mut effects);
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                self.perform(effect, &mut effects);
            }
        }
        // an alarm that is over already would ring at once, and again
        let due = self.machine.poll_timeout(self.now);
        assert!(
            due.is_none_or(|due| due > self.now),
            "an alarm in the past: {self:#?}"
        );
        result
    }

    pub(super) fn perform(&mut self, effect: Effect, more: &mut Vec<Effect>) {
        match effect {
            Effect::Ask { id, request, .. } => {
                self.check(&request);
                self.asked.push((id, request.clone()));
                self.in_flight.insert(id, request);
            }
            Effect::Disconnect => {
                self.disconnects += 1;
                let gone = self.in_flight.extract_if(.., |_, request| {
                    !matches!(request, Request::FindCoordinator)
                });
                let gone: Vec<AskId> = gone.map(|(id, _)| id).collect();
                for id in gone {
                    let error = WireError::ShutDown {
                        peer: coordinator(),
                    };
                    self.machine.answered(self.now, id, Err(error), more);
                }
            }
            Effect::Assign(names) => {
                let assigned: BTreeSet<_> = names.into_iter().collect();
                self.machine.assigned(|name| assigned.contains(name));
                self.assigned = assigned;
            }
            Effect::Event(id, event) => self.event(id, event),
            Effect::Watch(watched) => self.watched = watched,
            Effect::Collect(names) => {
                self.collects += 1;
                let mut offsets = self.processed.clone();
                if let Some(names) = &names {
                    offsets.retain(|name, _| names.contains(name));
                } else {
                    offsets.retain(|name, _| {
                        self.assigned.contains(name) || !self.machine.member.is_subscribed()
                    });
                }
                self.machine
                    .collected(self.now, names.as_deref(), offsets, more);
            }
            Effect::Committed(call, result) => {
                let before = self.committed.insert(call, result);
                assert!(before.is_none(), "{call:?} was answered twice");
            }
            Effect::Fetched(call, result) => {
                let result = result.map(|found| {
                    let found = found.into_iter();
                    found.filter_map(|(name, at)| Some((name, at?))).collect()
                });
                let before = self.fetched.insert(call, result);
                assert!(before.is_none(), "{call:?} was answered twice");
            }
            Effect::Positions(found) => self.positions.extend(found),
            Effect::NoPosition(name, error) => self.no_positions.push((name, error)),
            Effect::Complain(error) => self.complaints.push(error),
            Effect::Fail(error) => self.failures.push(error),
            Effect::Recovered => {
                assert!(!self.failures.is_empty(), "nothing had failed");
                self.failures.clear();
            }
            Effect::Identity(identity) => self.identity = Some(identity),
            Effect::Closed => self.closed += 1,
            Effect::Log(_) => {}
        }
    }

    /// What no request may ever say.
    pub(super) fn check(&self, request: &Request) {
        match request {
            Request::JoinGroup(join) => {
                let told = Told::decode(&join.protocols[0].1).unwrap();
                let owned: BTreeSet<_> = told.owned_partitions.into_iter().collect();
                let is_eager = self.protocol() == "range";
                assert!(
                    owned.is_empty() || !is_eager,
                    "owned by one who joins: {self:?}"
                );
                assert!(
                    owned.is_subset(&self.assigned),
                    "not owned any more: {self:?}"
                );
                assert!(!self.machine.is_handing_over(), "not let go yet: {self:?}");
            }
            Request::ConsumerHeartbeat(heartbeat) if heartbeat.epoch > 0 => {
                let owned = heartbeat.owned.iter().flatten();
                let owned: BTreeSet<_> = owned
                    .flat_map(|(id, indexes)| indexes.iter().map(move |index| (*id, *index)))
                    .collect();
                let says = heartbeat.owned.is_some();
                let held = self.machine.member.seat().held();
                let is_told =
                    |name: &TopicPartition| owned.contains(&(id(name.topic()), name.partition()));
                assert!(
                    !says || held.iter().all(is_told),
                    "held and not told: {self:?}"
                );
            }
            _ => {}
        }
    }

    pub(super) fn event(&mut self, id: EventId, event: RebalanceEvent) {
        match &event {
            RebalanceEvent::Checkpoint => {}
            RebalanceEvent::Assigned(names) => {
                for name in names {
                    assert!(self.told.insert(name.clone()), "{name} is given twice");
                }
            }
            RebalanceEvent::Revoked(names) | RebalanceEvent::Lost(names) => {
                assert!(!names.is_empty(), "only assigned may be empty");
                for name in names {
                    assert!(self.told.remove(name), "{name} is taken and was not given");
                    assert!(!self.assigned.contains(name), "{name} is taken and is read");
                }
            }
        }
        self.unconfirmed.push(id);
        self.events.push((id, event));
    }

    pub(super) fn cluster(&mut self, names: &[&str]) {
        let cluster = cluster(names);
        self.run(|machine, now, effects| machine.cluster_changed(now, cluster, effects));
    }

    pub(super) fn subscribe(&mut self, names: &[&str]) {
        let wanted = topics(names);
        self.run(|machine, now, effects| machine.subscribe(now, wanted, effects))
            .unwrap();
    }

    pub(super) fn unsubscribe(&mut self) {
        self.run(|machine, now, effects| {
            machine.unsubscribe(now, LeaveOption::Default, effects);
        });
    }

    pub(super) fn close(&mut self, option: LeaveOption, timeout: Duration) {
        self.run(|machine, now, effects| machine.close(now, option, now + timeout, effects));
    }

    pub(super) fn commit(&mut self, pairs: &[(&str, i64)]) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        let offsets = offsets(pairs);
        self.run(|machine, now, effects| machine.commit(now, call, offsets, effects));
        call
    }

    pub(super) fn fetch(&mut self, names: &[&str]) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        let names = parts(names);
        self.run(|machine, now, effects| machine.fetch_committed(now, call, Some(names), effects));
        call
    }

    pub(super) fn look_up(&mut self, name: &str, epoch: u64) {
        let slot = u32::try_from(part(name).partition()).unwrap();
        let wanted = (PartitionId::new(slot, 0), FetchEpoch(epoch), part(name));
        self.run(|machine, now, effects| machine.look_up(now, vec![wanted], effects));
    }

    /// The application confirms all that it was told, and what follows from that.
    pub(super) fn confirm(&mut self) {
        while let Some(last) = self.unconfirmed.last().copied() {
            self.unconfirmed.clear();
            self.run(|machine, now, effects| machine.confirmed(now, last, effects));
        }
    }

    /// Time passes, with all that becomes due meanwhile.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(due) = self.machine.poll_timeout(self.now)
            && due <= end
        {
            self.now = due;
            self.run(CoordinatorMachine::timeout);
        }
        self.now = end;
    }

    pub(super) fn is_in_flight(&self, name: &str) -> bool {
        self.in_flight.values().any(|request| kind(request) == name)
    }

    /// How often it was asked for this.
    pub(super) fn count(&self, name: &str) -> usize {
        let asked = self.asked.iter();
        asked.filter(|(_, request)| kind(request) == name).count()
    }

    pub(super) fn last(&self, name: &str) -> &Request {
        let mut asked = self.asked.iter().rev();
        let found = asked.find(|(_, request)| kind(request) == name);
        &found.unwrap_or_else(|| panic!("no {name}: {self:#?}")).1
    }

    pub(super) fn take(&mut self, name: &str) -> (AskId, Request) {
        let mut asked = self.in_flight.iter().rev();
        let found = asked.find(|(_, request)| kind(request) == name);
        let Some((id, request)) = found.map(|(id, request)| (*id, request.clone())) else {
            panic!("no {name} is in flight: {self:#?}");
        };
        self.in_flight.remove(&id);
        (id, request)
    }

    pub(super) fn answer(&mut self, id: AskId, answer: Result<Answer, WireError>) {
        self.run(|machine, now, effects| machine.answered(now, id, answer, effects));
    }

    /// Answers the latest request of a kind.
    pub(super) fn reply(&mut self, name: &str, answer: Answer) -> Request {
        let (id, request) = self.take(name);
        self.answer(id, Ok(answer));
        request
    }

    /// The same with an error.
    pub(super) fn refuse(&mut self, name: &str, code: ErrorCode) -> Request {
        let (id, request) = self.take(name);
        let answer = error(&request, code);
        self.answer(id, Ok(answer));
        request
    }

    /// No answer comes to the latest request of a kind.
    pub(super) fn lose(&mut self, name: &str) {
        let (id, _) = self.take(name);
        self.answer(id, Err(lost()));
    }

    pub(super) fn find(&mut self) {
        self.reply("FindCoordinator", Answer::Coordinator(Ok(coordinator())));
    }

    pub(super) fn protocol(&self) -> &'static str {
        match &self.config.protocol {
            GroupProtocol::Classic { assignors, .. } if assignors[0].name() == "range" => "range",
            GroupProtocol::Classic { .. } => "cooperative-sticky",
            GroupProtocol::Consumer { .. } => "consumer",
        }
    }

    /// The coordinator lets the member in, and gives it these.
    pub(super) fn join(&mut self, generation: i32, names: &[&str]) {
        if self.protocol() == "consumer" {
            self.reply("ConsumerHeartbeat", beaten(generation, Some(names)));
            return;
        }
        let protocol = self.protocol();
        let Answer::JoinGroup(Ok(mut answer)) = joined(generation) else {
            unreachable!("it is one");
        };
        answer.protocol = protocol.into();
        self.reply("JoinGroup", Answer::JoinGroup(Ok(answer)));
        self.reply("SyncGroup", synced(names));
    }

    /// Classic: the group is rebalanced and the member hears of it.
    pub(super) fn rebalance(&mut self) {
        self.pass(HEARTBEAT);
        self.refuse("Heartbeat", ErrorCode::REBALANCE_IN_PROGRESS);
    }

    pub(super) fn commit_ok(&mut self) -> Offsets {
        let (id, request) = self.take("OffsetCommit");
        let answer = error(&request, ErrorCode::NONE);
        self.answer(id, Ok(answer));
        let Request::OffsetCommit { offsets, .. } = request else {
            unreachable!("it was taken as one");
        };
        offsets
    }

    pub(super) fn told_last(&self) -> Option<&RebalanceEvent> {
        self.events.last().map(|(_, event)| event)
    }

    pub(super) fn join_request(&self) -> &JoinGroup {
        match self.last("JoinGroup") {
            Request::JoinGroup(join) => join,
            other => panic!("{other:?}"),
        }
    }

    /// Nothing is in flight, nothing is due, and the application knows of nothing that it could do: that is a hang.
    pub(super) fn assert_alive(&mut self, what: &str) {
        let is_alive = !self.in_flight.is_empty()
            || self.machine.poll_timeout(self.now).is_some()
            || !self.unconfirmed.is_empty()
            || !self.failures.is_empty()
            || self.closed > 0
            || !self.machine.member.is_subscribed();
        assert!(is_alive, "{what}: it hangs: {self:#?}");
    }
}
