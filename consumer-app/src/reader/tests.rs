//! A seek or an unassignment, from another thread, between the look at what is held and the giving of it.

use std::time::Duration;

use actix::{Actor, Addr, Context, Handler};
use buffer_actor::messages::{
    Assign, AssignmentChanged, Granted, LookUp, MetadataStale, ReadFrom, Seek, SeekTo,
};
use buffer_actor::{
    BufferActor, BufferConfig, Completed, FetchedRecords, Origin, PartitionId, Policy, ResetPolicy,
    Start, TicketId,
};
use coordinator_actor::messages::Rebalance;
use coordinator_actor::{EventId, LastingFailure, PollClock, RebalanceEvent};
use record_batch::TopicPartition;
use test_broker::BatchBuilder;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

use super::*;

/// Whoever the buffer tells something that does not matter here.
struct Deaf;

impl Actor for Deaf {
    type Context = Context<Self>;
}

macro_rules! deaf_to {
    ($($message:ty),*) => {
        $(impl Handler<$message> for Deaf {
            type Result = ();

            fn handle(&mut self, _: $message, _: &mut Context<Self>) {}
        })*
    };
}
deaf_to!(Granted, ReadFrom, AssignmentChanged, LookUp, MetadataStale);

/// What comes between.
#[derive(Debug, Clone, Copy)]
enum Between {
    Unassignment,
    Seek,
}

struct World {
    reader: Reader,
    buffer: Addr<BufferActor>,
    shared: SharedState,
}

fn tp(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

impl World {
    /// Partitions 0 and 1 of a topic, assigned at offset 0, the reader holding two records of each.
    async fn new() -> Self {
        let shared = SharedState::default();
        let memory = Memory::new(1 << 20);
        let retry = Backoff {
            base: Duration::from_millis(100),
            max: Duration::from_secs(1),
        };
        let deaf = Deaf.start();
        let config = BufferConfig {
            buffer_memory: 1 << 20,
            fetch_min_bytes: 1,
            fetch_max_bytes: 1 << 20,
            max_partition_fetch_bytes: 1 << 20,
            retry,
            request_timeout: Duration::from_secs(30),
            metadata_max_age: Duration::from_secs(300),
            unasked_limit: Duration::from_secs(31),
            reset: ResetPolicy::Earliest,
            policy: Policy::ReadAhead,
        };
        let neighbours = buffer_actor::Neighbours {
            granted: deaf.clone().recipient(),
            read_from: deaf.clone().recipient(),
            assignment: Vec::new(),
            look_up: deaf.clone().recipient(),
            look_up_committed: None,
            metadata_stale: deaf.recipient(),
        };
        let buffer = BufferActor::new(config, 0, memory.clone(), shared.clone(), neighbours);
        let buffer = buffer.start();
        let options = ReaderOptions {
            max_poll_records: 3,
            isolation_level: IsolationLevel::ReadUncommitted,
            decode: DecodeOptions {
                check_crcs: true,
                max_decompressed_bytes: 1 << 20,
            },
            retry,
        };
        let port = BufferPort {
            take: buffer.clone().recipient(),
            block: buffer.clone().recipient(),
            gone: buffer.clone().recipient(),
        };
        let status = Status::default();
        let mut world = Self {
            reader: Reader::new(
                options,
                port,
                shared.clone(),
                status,
                memory,
                ApplicationStats::default(),
            ),
            buffer,
            shared,
        };
        world.assign(&[0, 1]).await;
        let held = [0, 1].map(|partition| world.held(partition));
        world.reader.hold(held.into());
        world
    }

    async fn assign(&self, partitions: &[i32]) {
        let wanted = partitions
            .iter()
            .map(|&index| (tp(index), Start::Offset(0)));
        self.buffer.send(Assign(wanted.collect())).await.unwrap();
    }

    fn held(&self, partition: i32) -> LeasedItem {
        let state = self.shared.get(&tp(partition)).unwrap();
        let bytes = BatchBuilder::new()
            .leader_epoch(7)
            .record("one")
            .record("two")
            .build();
        let completed = Completed {
            partition: PartitionId::new(partition.unsigned_abs(), 1),
            epoch: state.offsets().data_epoch,
            from: 0,
            from_epoch: None,
            next: 2,
            bytes: u32::try_from(bytes.len()).unwrap(),
            origin: Origin {
                ticket: TicketId(1),
                bytes: bytes.len() as u64,
                parts: 1,
            },
            data: FetchedRecords {
                bytes,
                aborted: Vec::new(),
                claim: None,
            },
        };
        LeasedItem::Data { state, completed }
    }

    /// Of partition 0.
    async fn happens(&self, between: Between) {
        match between {
            Between::Unassignment => self.assign(&[1]).await,
            Between::Seek => {
                let seek = Seek {
                    partition: tp(0),
                    to: SeekTo::Offset(40),
                };
                self.buffer.send(seek).await.unwrap().unwrap();
            }
        }
    }
}

#[tokio::test]
async fn b151_records_that_do_not_count_as_given_are_not_given() {
    for between in [Between::Unassignment, Between::Seek] {
        LocalSet::new()
            .run_until(async {
                let mut world = World::new().await;
                let state = world.shared.get(&tp(0)).unwrap();
                let before = state.offsets();
                world.happens(between).await;
                let records = world.reader.gather(clock()).unwrap().unwrap();
                let given: Vec<_> = records
                    .iter()
                    .map(|record| (record.partition(), record.offset()))
                    .collect();
                // what is left out makes room for the others
                assert_eq!(given, [(1, 0), (1, 1)], "{between:?}");
                assert_eq!(records.len(), 2);
                let position = records.next_offsets().remove(&tp(0));
                let given = match between {
                    Between::Unassignment => {
                        assert_eq!(position, None);
                        before.given
                    }
                    Between::Seek => {
                        assert_eq!(position, Some(40));
                        position
                    }
                };
                assert_eq!(state.offsets().given, given, "{between:?}");
                // and the reader does not keep them for the next poll
                assert!(world.reader.gather(clock()).is_none());
            })
            .await;
    }
}

#[tokio::test]
async fn b151_batches_that_do_not_count_as_given_are_not_given() {
    for between in [Between::Unassignment, Between::Seek] {
        LocalSet::new()
            .run_until(async {
                let mut world = World::new().await;
                world.happens(between).await;
                let batches = world.reader.gather_batches(clock()).unwrap().unwrap();
                let given: Vec<_> = batches
                    .into_partitions()
                    .map(|batches| batches.topic_partition().partition())
                    .collect();
                assert_eq!(given, [1], "{between:?}");
                assert!(world.reader.gather_batches(clock()).is_none());
            })
            .await;
    }
}

/// The coordinator has told the buffer, which has not acted upon it, and the reader, whose change word has not moved: its thread
/// is that quick.
#[tokio::test]
async fn b151_a_revocation_that_is_confirmed_has_reached_the_buffer() {
    LocalSet::new()
        .run_until(async {
            let mut world = World::new().await;
            let mut consumer = crate::Consumer::builder()
                .bootstrap_servers("localhost:1")
                .spawn_local()
                .unwrap();
            let (coordinator, events) = mpsc::unbounded_channel();
            world.reader.join(Rebalances::new(
                events,
                PollClock::new(clock()),
                LastingFailure::default(),
                None,
                consumer.handle(),
            ));
            world.reader.seen = world.shared.changes();
            world
                .buffer
                .do_send(Assign(vec![(tp(1), Start::Offset(0))]));
            let revoked = Rebalance {
                id: EventId(1),
                event: RebalanceEvent::Checkpoint,
                going: Vec::new(),
            };
            coordinator.send(revoked).unwrap();
            let records = world.reader.poll(Duration::from_secs(1)).await.unwrap();
            let given: Vec<_> = records.iter().map(|record| record.partition()).collect();
            assert_eq!(given, [1, 1]);
            consumer.close(Duration::from_secs(1)).await.unwrap();
        })
        .await;
}
