//! Members of one group that come and go, crash and are cut off, while records are produced: no record is lost, and none comes
//! twice that was committed. See [`GroupChecker`].

mod churn;
mod member;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::member::Members;
use crate::checker::group::GroupChecker;
use crate::network::Cuts;
use crate::seeds::{self, Outcome};
use crate::world::World;

const NODES: i32 = 2;
const PARTITIONS: i32 = 8;
const GROUP: &str = "g";
const TOPIC: &str = "t";

/// The most members at a time.
const MEMBERS: usize = 6;

/// A member that was not heard of for so long is out: the shortest that brokers allow by default.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);

/// How long members come and go, and records are produced.
const CHURN: Duration = Duration::from_secs(20);

/// Within this time after the last fault everything must have been read.
const LIMIT: Duration = Duration::from_secs(90);

/// How a group divides its partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Range,
    CooperativeSticky,
    /// KIP-848.
    Consumer,
}

/// What is simulated; the seed says it.
#[derive(Clone, Copy, Debug)]
struct Setup {
    seed: u64,
    protocol: Protocol,
    /// Members close, and commit what they give back; nobody crashes and nobody is cut off.
    in_order: bool,
}

impl Setup {
    fn of(seed: u64) -> Self {
        let protocols = [
            Protocol::Range,
            Protocol::CooperativeSticky,
            Protocol::Consumer,
        ];
        let protocol = usize::try_from(seed % 3).map_or(Protocol::Range, |index| protocols[index]);
        Self {
            seed,
            protocol,
            // every third of each protocol
            in_order: seed % 9 >= 6,
        }
    }
}

/// What members and director share.
#[derive(Clone)]
struct Group {
    setup: Setup,
    cuts: Cuts,
    members: Rc<RefCell<Members>>,
    checker: Arc<Mutex<GroupChecker>>,
}

impl Group {
    fn checker(&self) -> MutexGuard<'_, GroupChecker> {
        self.checker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn simulate(seed: u64) -> Outcome {
    let setup = Setup::of(seed);
    let mut world = World::new(seed, NODES);
    let net = world.net();
    let checker = GroupChecker::new(PARTITIONS as usize, setup.in_order);
    let group = Group {
        setup,
        cuts: net.cuts.clone(),
        members: Rc::default(),
        checker: Arc::new(Mutex::new(checker)),
    };
    for slot in 0..MEMBERS {
        let group = group.clone();
        world.host(&member::host_of(slot), move || {
            member::run(group.clone(), slot)
        });
    }
    let ran = world.run(churn::direct(group.clone(), net));
    let mut checker = group.checker();
    if let Err(error) = ran {
        checker
            .journal
            .violation(format_args!("{setup:?}: {error}"));
    }
    let mut checker = std::mem::replace(&mut *checker, GroupChecker::new(0, false));
    checker.conclude();
    checker.journal.into_outcome()
}

#[test]
fn b144_groups_lose_nothing_whoever_comes_goes_crashes_or_is_cut_off() {
    seeds::each("groups", 120, simulate);
}
