//! What goes wrong when, and until when.

use std::rc::Rc;
use std::time::Duration;

use test_broker::{Clock, Compression, TestBroker};
use tokio::time::{Instant, sleep, timeout};

use super::faults::Faults;
use super::{Checker, LIMIT, NODES, PARTITIONS, TOPIC, TROUBLE};
use crate::world::Net;

/// Runs the broker and makes things go wrong; ends when everything was read or too late for it.
pub(super) async fn direct(seed: u64, net: Net, checker: Checker) -> turmoil::Result {
    let broker = TestBroker::builder()
        .nodes(NODES)
        .replication_factor(NODES as i16)
        .rack_aware_replica_selector(true)
        .rack(1, "a")
        .rack(2, "b")
        .rack(3, "c")
        .topic(TOPIC, PARTITIONS)
        .seed(seed)
        .clock(Clock::starting_at(0))
        .start_in_memory()?;
    for node in 1..=NODES {
        net.doors.open(&broker, node)?;
    }
    let producing = produce(seed, Rc::clone(&checker), broker.clone());
    let producer = tokio::task::spawn_local(producing);
    let end = Instant::now() + TROUBLE;
    let mut random = fastrand::Rng::with_seed(seed ^ 0xfa);
    let faults = Faults::new(broker.clone(), net, Rc::clone(&checker), end);
    // how often something happens is a matter of the seed too
    let rest = random.u64(100..2_000);
    loop {
        sleep(Duration::from_millis(random.u64(0..rest))).await;
        if Instant::now() >= end {
            break;
        }
        faults.one(&mut random).await?;
    }
    faults.end().await?;
    producer.await?;
    checker.borrow_mut().journal.note("no more faults");
    let all_read = async {
        while !checker.borrow().is_complete() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let in_time = timeout(LIMIT, all_read).await;
    // what would come twice had time to
    sleep(Duration::from_secs(1)).await;
    let mut checker = checker.borrow_mut();
    if in_time.is_err() {
        let missing = checker.missing();
        checker.journal.violation(format_args!(
            "not read within {LIMIT:?} after the last fault: {missing}"
        ));
    }
    checker.journal.requests(&broker);
    Ok(())
}

/// Some records of all sizes, now here, now there.
async fn produce(seed: u64, checker: Checker, broker: TestBroker) {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x70);
    let end = Instant::now() + TROUBLE;
    while Instant::now() < end {
        let (partition, count) = (random.i32(0..PARTITIONS), random.usize(1..12));
        let size = 1 << random.u32(4..12);
        let values = (0..count).map(|value| format!("{value:0size$}"));
        let codec = random.choice([
            Compression::None,
            Compression::None,
            Compression::Lz4,
            Compression::Snappy,
        ]);
        let codec = codec.unwrap_or(Compression::None);
        // before it can be read
        checker.borrow_mut().produced(partition, count);
        if let Err(error) = broker.produce_compressed(TOPIC, partition, codec, values) {
            checker.borrow_mut().journal.violation(error);
        }
        sleep(Duration::from_millis(random.u64(5..80))).await;
    }
}
