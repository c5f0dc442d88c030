//! One consumer of assigned partitions, while connections break, nodes come and go, leaders move and answers are errors: every
//! record comes once, in order, and all of them soon after the last fault.

mod consumer;
mod faults;
mod story;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use crate::checker::order::OrderChecker;
use crate::seeds::{self, Outcome};
use crate::world::World;

const NODES: i32 = 3;
const PARTITIONS: i32 = 6;
const TOPIC: &str = "t";

/// The host of the consumer.
const CONSUMER: &str = "consumer";

/// How long things go wrong, and records are produced.
const TROUBLE: Duration = Duration::from_secs(20);

/// Within this time after the last fault everything must have been read.
const LIMIT: Duration = Duration::from_secs(60);

/// What consumer and director share.
type Checker = Rc<RefCell<OrderChecker>>;

fn simulate(seed: u64) -> Outcome {
    let mut world = World::new(seed, NODES);
    let net = world.net();
    let checker = Checker::new(RefCell::new(OrderChecker::new(PARTITIONS as usize)));
    let (cuts, of_consumer) = (net.cuts.clone(), Rc::clone(&checker));
    world.host(CONSUMER, move || {
        consumer::run(seed, cuts.clone(), Rc::clone(&of_consumer))
    });
    let ran = world.run(story::direct(seed, net, Rc::clone(&checker)));
    let mut checker = checker.replace(OrderChecker::new(0));
    if let Err(error) = ran {
        checker.journal.violation(error);
    }
    checker.journal.into_outcome()
}

#[test]
fn failures_lose_nothing_double_nothing_and_end() {
    seeds::each("failures", 200, simulate);
}
