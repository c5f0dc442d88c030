//! The buffer beside a planner that asks once and never again, on a paused clock.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix::{Actor, Addr, Context, Handler};
use record_batch::TopicPartition;
use tokio::task::LocalSet;
use tracing_subscriber::fmt::MakeWriter;

use crate::messages::{
    Assign, AssignmentChanged, BufferStatus, FetchDone, GetStatus, Granted, LookUp, MetadataStale,
    ReadFrom, Reserve,
};
use crate::{
    Backoff, BufferActor, BufferConfig, Candidate, Lane, Memory, Neighbours, NodeId, Outcome,
    Policy, ResetPolicy, SharedState, Start, Ticket,
};

const LIMIT: Duration = Duration::from_secs(31);

/// Keeps what it is granted, as a lane that is in a long poll does.
#[derive(Default)]
struct Planner {
    tickets: Vec<Ticket>,
    candidates: Vec<Candidate>,
}

impl Actor for Planner {
    type Context = Context<Self>;
}

impl Handler<Granted> for Planner {
    type Result = ();

    fn handle(&mut self, granted: Granted, _: &mut Context<Self>) {
        self.tickets.push(granted.ticket);
    }
}

impl Handler<AssignmentChanged> for Planner {
    type Result = ();

    fn handle(&mut self, changed: AssignmentChanged, _: &mut Context<Self>) {
        let added = changed.added.into_iter();
        self.candidates
            .extend(added.map(|(partition, _)| Candidate {
                partition,
                leader_epoch: 0,
            }));
    }
}

impl Handler<ReadFrom> for Planner {
    type Result = ();

    fn handle(&mut self, _: ReadFrom, _: &mut Context<Self>) {}
}

impl Handler<LookUp> for Planner {
    type Result = ();

    fn handle(&mut self, _: LookUp, _: &mut Context<Self>) {}
}

impl Handler<MetadataStale> for Planner {
    type Result = ();

    fn handle(&mut self, _: MetadataStale, _: &mut Context<Self>) {}
}

#[derive(actix::Message)]
#[rtype(result = "Vec<Ticket>")]
struct Tickets;

impl Handler<Tickets> for Planner {
    type Result = actix::MessageResult<Tickets>;

    fn handle(&mut self, _: Tickets, _: &mut Context<Self>) -> Self::Result {
        actix::MessageResult(std::mem::take(&mut self.tickets))
    }
}

#[derive(actix::Message)]
#[rtype(result = "Vec<Candidate>")]
struct Known;

impl Handler<Known> for Planner {
    type Result = actix::MessageResult<Known>;

    fn handle(&mut self, _: Known, _: &mut Context<Self>) -> Self::Result {
        actix::MessageResult(self.candidates.clone())
    }
}

struct World {
    planner: Addr<Planner>,
    buffer: Addr<BufferActor>,
}

impl World {
    /// So many partitions at offset 7.
    async fn new(partitions: i32) -> Self {
        let planner = Planner::default().start();
        let neighbours = Neighbours {
            granted: planner.clone().recipient(),
            read_from: planner.clone().recipient(),
            assignment: vec![planner.clone().recipient()],
            look_up: planner.clone().recipient(),
            look_up_committed: None,
            metadata_stale: planner.clone().recipient(),
        };
        let config = BufferConfig {
            buffer_memory: 64 << 20,
            fetch_min_bytes: 1,
            fetch_max_bytes: 50 << 20,
            max_partition_fetch_bytes: 1 << 20,
            retry: Backoff {
                base: Duration::from_millis(100),
                max: Duration::from_secs(1),
            },
            request_timeout: Duration::from_secs(30),
            metadata_max_age: Duration::from_secs(300),
            unasked_limit: LIMIT,
            reset: ResetPolicy::Earliest,
            policy: Policy::ReadAhead,
        };
        let (memory, shared) = (Memory::new(64 << 20), SharedState::default());
        let buffer = BufferActor::new(config, 1, memory, shared, neighbours).start();
        let wanted =
            (0..partitions).map(|index| (TopicPartition::new("t", index), Start::Offset(7)));
        buffer.send(Assign(wanted.collect())).await.unwrap();
        Self { planner, buffer }
    }

    /// The planner offers lane 1; the request that is granted.
    async fn ask(&self) -> Ticket {
        let candidates = self.planner.send(Known).await.unwrap();
        let offer = Reserve {
            node: NodeId(3),
            lane: Lane::Session,
            plan: 1,
            candidates: candidates.into(),
            refused: false,
        };
        self.buffer.send(offer).await.unwrap();
        let mut tickets = self.planner.send(Tickets).await.unwrap();
        assert_eq!(tickets.len(), 1);
        tickets.remove(0)
    }

    async fn done(&self, ticket: Ticket) {
        let done = FetchDone {
            ticket,
            outcome: Outcome::Reply(Vec::new()),
            received: 0,
        };
        self.buffer.send(done).await.unwrap();
    }

    async fn status(&self) -> BufferStatus {
        self.buffer.send(GetStatus).await.unwrap()
    }
}

#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Runs it, and returns the lines of its log.
fn logged(test: impl Future<Output = ()>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(log.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::with_default(subscriber, || LocalSet::new().block_on(&runtime, test));
    let bytes = log.0.lock().unwrap().clone();
    let text = String::from_utf8(bytes).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn i8_a_partition_that_nobody_asks_for_is_counted_and_named_once() {
    let lines = logged(async {
        let world = World::new(1).await;
        let ticket = world.ask().await;
        // in flight, for as long as it takes
        tokio::time::sleep(10 * LIMIT).await;
        world.done(ticket).await;
        tokio::time::sleep(LIMIT).await;
        assert_eq!(world.status().await.unasked, 0);
        tokio::time::sleep(LIMIT / 2).await;
        assert_eq!(world.status().await.unasked, 1);
        tokio::time::sleep(10 * LIMIT).await;
        assert_eq!(world.status().await.unasked, 1);
        let _ticket = world.ask().await;
        tokio::time::sleep(LIMIT).await;
        assert_eq!(world.status().await.unasked, 0);
    });
    let [line] = &lines[..] else {
        panic!("{lines:#?}");
    };
    for part in [
        "WARN",
        "broker=3",
        "topic=\"t\"",
        "partition=0",
        "offset=7",
        "without_request=31s",
        "pause and resume it",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn of_many_at_once_some_are_named_and_the_others_counted() {
    let lines = logged(async {
        let world = World::new(100).await;
        let ticket = world.ask().await;
        world.done(ticket).await;
        tokio::time::sleep(2 * LIMIT).await;
        assert_eq!(world.status().await.unasked, 100);
    });
    assert_eq!(lines.len(), 11, "{lines:#?}");
    assert!(lines[10].contains("more=90"), "{}", lines[10]);
}

/// Each pause is shorter than the limit; together they are much longer.
#[test]
fn a_node_that_is_asked_now_and_then_is_nothing_to_warn_of() {
    let lines = logged(async {
        let world = World::new(2).await;
        for _ in 0..20 {
            let ticket = world.ask().await;
            tokio::time::sleep(LIMIT / 3).await;
            world.done(ticket).await;
            tokio::time::sleep(LIMIT / 3 * 2).await;
            assert_eq!(world.status().await.unasked, 0);
        }
    });
    assert_eq!(lines, [""; 0]);
}
