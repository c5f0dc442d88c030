//! Depth-first search through all states within a scenario's bounds.

use std::cell::RefCell;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::data;
use crate::events::Event;
use crate::notes::{Notes, Seen};
use crate::report::{Report, Violation};
use crate::scenario::Scenario;
use crate::world::{Fault, World};

/// Fingerprints are mixed already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are hashed")
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// How the world is made for a search: the scenario, a fault of the world, a fault of a machine.
pub(crate) struct Search {
    pub(crate) scenario: Scenario,
    pub(crate) fault: Option<Fault>,
    pub(crate) prepare: fn(&mut World),
    /// From how many of the states that are not at rest one is drained.
    pub(crate) drain_every: u64,
}

/// What one search has seen so far.
struct Tour<'a> {
    search: &'a Search,
    notes: Rc<Notes>,
    visited: HashSet<u64, BuildHasherDefault<AsIs>>,
    report: Report,
}

impl<'a> Tour<'a> {
    fn new(search: &'a Search) -> Self {
        Self {
            search,
            notes: Rc::default(),
            visited: HashSet::default(),
            report: Report {
                name: search.scenario.name,
                ..Report::default()
            },
        }
    }

    /// Takes a step and checks where it leads. Returns whether nobody was there before.
    fn visit(&mut self, world: &mut World, event: Event) -> Result<bool, String> {
        let Self {
            visited, report, ..
        } = self;
        report.transitions += 1;
        *report.events.entry(event.kind()).or_default() += 1;
        guarded(|| {
            world.step(event);
            world.check()?;
            if !visited.insert(world.fingerprint()) {
                return Ok(false);
            }
            let at_rest = world.is_quiescent();
            if at_rest {
                report.at_rest += 1;
                world.check_at_rest()?;
            }
            if at_rest || (visited.len() as u64).is_multiple_of(self.search.drain_every) {
                report.drained += 1;
                world.check_progress()?;
            }
            Ok(true)
        })
    }

    fn is_long_enough(&mut self) -> bool {
        let limit = self.search.scenario.limit;
        let cut = limit.is_some_and(|limit| self.visited.len() >= limit);
        self.report.cut |= cut;
        cut
    }

    fn end(mut self) -> Report {
        self.report.states = self.visited.len();
        for seen in Seen::ALL {
            self.report.seen.insert(seen, self.notes.times(seen));
        }
        self.report
    }
}

/// Chooses what happens next on a walk.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) as usize % bound
    }

    /// Mostly what happens by itself, else the allowances are used up before anything has begun. `None` at the end.
    fn turn(&mut self, world: &World) -> Option<Event> {
        let mut events = Vec::new();
        world.steps(&mut events);
        if events.is_empty() || self.below(6) == 0 {
            events = world.enabled();
            // a long poll that expires leads on for ever
            let ends = events
                .iter()
                .all(|event| matches!(event, Event::Expire(_) | Event::Time | Event::Fire(_)));
            if ends && self.below(6) == 0 {
                return None;
            }
        }
        (!events.is_empty()).then(|| events[self.below(events.len())])
    }
}

struct Branch {
    world: World,
    events: std::vec::IntoIter<Event>,
}

impl Search {
    pub(crate) fn of(scenario: Scenario) -> Self {
        Self {
            scenario,
            fault: None,
            prepare: |_| (),
            drain_every: 64,
        }
    }

    fn begin(&self, notes: Rc<Notes>) -> World {
        let mut world = World::new(self.scenario, self.fault, notes);
        (self.prepare)(&mut world);
        world
    }

    /// What may happen next, in the order in which it is tried. A search that will be cut tries in an order that differs from
    /// state to state, so that it is not spent on the last few steps of one path.
    fn turns(&self, world: &World, visited: usize) -> Vec<Event> {
        let mut events = world.enabled();
        if self.scenario.limit.is_some() {
            let mut random = visited as u64;
            for left in (1..events.len()).rev() {
                random = random
                    .wrapping_add(0x9e37_79b9_7f4a_7c15)
                    .wrapping_mul(0x5851_f42d_4c95_7f2d)
                    .rotate_left(29);
                events.swap(left, (random % (left as u64 + 1)) as usize);
            }
        }
        events
    }

    /// Goes through all states, or up to the scenario's limit, depth first.
    pub(crate) fn run(&self) -> Report {
        let mut tour = Tour::new(self);
        let mut path: Vec<Event> = Vec::new();
        let mut stack: Vec<Branch> = Vec::new();
        let first = self.begin(Rc::clone(&tour.notes));
        tour.visited.insert(first.fingerprint());
        stack.push(Branch {
            events: first.enabled().into_iter(),
            world: first,
        });
        while let Some(branch) = stack.last_mut() {
            let Some(event) = branch.events.next() else {
                stack.pop();
                path.pop();
                continue;
            };
            let mut world = branch.world.clone();
            path.push(event);
            match tour.visit(&mut world, event) {
                Err(text) => {
                    tour.report.violation = Some(self.explain(&path, text));
                    break;
                }
                Ok(false) => {
                    path.pop();
                }
                Ok(true) => {
                    if tour.is_long_enough() {
                        break;
                    }
                    stack.push(Branch {
                        events: self.turns(&world, tour.visited.len()).into_iter(),
                        world,
                    });
                    tour.report.deepest = tour.report.deepest.max(stack.len());
                }
            }
        }
        tour.end()
    }

    /// Goes from the beginning to where nothing more is allowed, again and again, never twice the same way, up to the
    /// scenario's limit of states. For worlds that are too large to be searched whole.
    pub(crate) fn walk(&self) -> Report {
        let mut tour = Tour::new(self);
        let first = self.begin(Rc::clone(&tour.notes));
        let mut random = Random(1);
        'walks: while !tour.is_long_enough() {
            let mut world = first.clone();
            let mut path = Vec::new();
            while let Some(event) = random.turn(&world) {
                path.push(event);
                if let Err(text) = tour.visit(&mut world, event) {
                    tour.report.violation = Some(self.explain(&path, text));
                    break 'walks;
                }
            }
            tour.report.deepest = tour.report.deepest.max(path.len());
        }
        tour.end()
    }

    /// Leaves out of the path what the violation does not need, and tells the story of the rest.
    fn explain(&self, path: &[Event], text: String) -> Violation {
        let kind = kind_of(&text);
        let mut path = path.to_vec();
        let mut chunk = path.len() / 2;
        while chunk > 0 {
            let mut at = 0;
            while at < path.len() {
                let mut shorter = path.clone();
                shorter.drain(at..(at + chunk).min(path.len()));
                match self.replay(&shorter, false) {
                    (taken, Some(text), _) if kind_of(&text) == kind => path = taken,
                    _ => at += chunk,
                }
            }
            chunk /= 2;
        }
        let (path, found, story) = self.replay(&path, true);
        Violation {
            text: found.unwrap_or(text),
            path,
            story,
        }
    }

    /// Takes the steps of a path that are possible. Returns those taken, what is violated then, and what happened.
    fn replay(&self, path: &[Event], tells: bool) -> (Vec<Event>, Option<String>, Vec<String>) {
        let mut world = self.begin(Rc::new(Notes::default()));
        let lines: Rc<RefCell<Vec<String>>> = Rc::default();
        world.trace = tells.then(|| Rc::clone(&lines));
        let mut taken = Vec::new();
        let mut found = None;
        for &event in path {
            if !world.enabled().contains(&event) {
                continue;
            }
            taken.push(event);
            let result = guarded(|| {
                world.step(event);
                world.check()?;
                if world.is_quiescent() {
                    world.check_at_rest()?;
                }
                Ok(())
            });
            if let Err(text) = result {
                found = Some(text);
                break;
            }
        }
        if found.is_none() {
            found = guarded(|| world.check_progress()).err();
        }
        (taken, found, lines.take())
    }
}

/// A panic of a machine is a violation like any other.
fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        data::record(false);
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Which invariant a text speaks of.
fn kind_of(text: &str) -> &str {
    let text = text.strip_prefix("panic: ").unwrap_or(text);
    text.split([':', ' ']).next().unwrap_or(text)
}
