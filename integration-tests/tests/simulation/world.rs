//! A broker of some nodes and hosts for consumers on a simulated network, and the loop in which simulated time passes.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use turmoil::Sim;

use crate::network::{Cuts, Doors, host_of};

/// Messages on the network arrive at multiples of this; within a host time is finer.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// What only the loop can do, asked for by what runs within.
#[derive(Debug)]
enum Order {
    /// Everything in a host ends at once. Its connections break.
    Crash(String),
    /// A host starts anew.
    Start(String),
}

/// What everything in the simulation shares.
#[derive(Clone, Default)]
pub(crate) struct Net {
    pub(crate) doors: Doors,
    pub(crate) cuts: Cuts,
    orders: Rc<RefCell<VecDeque<Order>>>,
}

impl Net {
    /// At the end of this tick everything in a host ends.
    pub(crate) fn crash(&self, host: &str) {
        self.order(Order::Crash(host.to_owned()));
    }

    /// At the end of this tick a host starts.
    pub(crate) fn start(&self, host: &str) {
        self.order(Order::Start(host.to_owned()));
    }

    fn order(&self, order: Order) {
        self.orders.borrow_mut().push_back(order);
    }
}

/// The simulation.
pub(crate) struct World {
    sim: Sim<'static>,
    net: Net,
}

impl World {
    /// The hosts of so many nodes, all down.
    pub(crate) fn new(seed: u64, nodes: i32) -> Self {
        let mut builder = turmoil::Builder::new();
        let sim = builder
            .rng_seed(seed)
            .epoch(SystemTime::UNIX_EPOCH)
            .tick_duration(TICK)
            // whoever directs ends earlier
            .simulation_duration(Duration::from_secs(86_400))
            .min_message_latency(Duration::ZERO)
            .max_message_latency(Duration::from_millis(20))
            .enable_random_order()
            .build();
        let mut world = Self {
            sim,
            net: Net::default(),
        };
        for node in 1..=nodes {
            let doors = world.net.doors.clone();
            world
                .sim
                .host(host_of(node), move || doors.clone().serve(node));
        }
        world
    }

    pub(crate) fn net(&self) -> Net {
        self.net.clone()
    }

    /// A host that runs `software` now and whenever it is started.
    pub(crate) fn host<F>(&mut self, name: &str, software: impl Fn() -> F + 'static)
    where
        F: Future<Output = turmoil::Result> + 'static,
    {
        self.sim.host(name, software);
    }

    /// Runs until `director`, in whose host the broker lives, has ended.
    pub(crate) fn run(
        mut self,
        director: impl Future<Output = turmoil::Result> + 'static,
    ) -> Result<(), String> {
        self.sim.client("director", director);
        loop {
            let ended = self.sim.step().map_err(|error| error.to_string())?;
            let orders = std::mem::take(&mut *self.net.orders.borrow_mut());
            for order in orders {
                match order {
                    Order::Crash(host) => self.sim.crash(host),
                    Order::Start(host) => self.sim.bounce(host),
                }
            }
            if ended {
                return Ok(());
            }
        }
    }
}
