//! What goes wrong: drawn from the seed, carried out in a thread each, until all is well again.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use fastrand::Rng;
use integration_tests::kafka::Error;

use super::member::{CLASSIC, CONSUMER};
use super::setup::{
    NODES, Network, OFFSETS, OFFSETS_PARTITIONS, PARTITIONS, Seed, TOPIC, World,
    offsets_partition_of,
};

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// SIGKILL, and started again.
    Kill,
    /// SIGTERM, and started again.
    Restart,
    /// SIGSTOP and SIGCONT.
    Freeze,
    /// The line passes nothing, and then what has waited.
    Delay,
    /// The line passes nothing, and when it does again its connections are none any more.
    Cut,
    /// The line's connections are reset, and so are new ones.
    Refuse,
    /// The line's connections are reset.
    Reset,
    /// The cable to the namespace is pulled.
    Unplug,
    /// Another replica becomes the leader.
    MoveLeader,
}

/// Which node is meant.
#[derive(Clone, Copy, Debug)]
enum Whose {
    Node(i32),
    CoordinatorOf(&'static str),
}

#[derive(Clone, Copy, Debug)]
struct Drawn {
    fault: Fault,
    whose: Whose,
    length: Duration,
    /// How many brokers may be away with this one. With two of three away nothing can be written, and much cannot be read.
    away_at_most: usize,
    /// Of a leader that moves: the topic and its partition.
    partition: (&'static str, i32),
}

impl Drawn {
    fn draw(random: &mut Rng, network: &Network) -> Self {
        use Fault::{Cut, Delay, Freeze, Kill, MoveLeader, Refuse, Reset, Restart, Unplug};
        let mut faults = vec![
            Kill, Kill, Kill, Restart, Freeze, Freeze, Freeze, Delay, Cut, Cut, Refuse, Reset,
            Reset, MoveLeader, MoveLeader, MoveLeader,
        ];
        if !matches!(network, Network::Lines) {
            faults.extend([Unplug; 6]);
        }
        let fault = random.choice(faults).unwrap_or(Kill);
        // node 1 is the controller, too
        let node = random.choice([1, 2, 2, 3, 3]).unwrap_or(NODES);
        let whose = match random.u8(..10) {
            0 => Whose::CoordinatorOf(CLASSIC),
            1 => Whose::CoordinatorOf(CONSUMER),
            _ => Whose::Node(node),
        };
        let length = match fault {
            Kill | Restart => 0..4_000,
            // beyond the 3 s of a broker's session, and the 6 s of a member's, or not
            Freeze | Cut | Unplug => 500..9_000,
            // shorter than `request.timeout.ms`: an old commit must not come after a newer one on another connection
            Delay => 100..1_500,
            Refuse => 300..5_000,
            Reset | MoveLeader => 0..1,
        };
        let partition = if random.u8(..4) == 0 {
            (OFFSETS, random.i32(0..OFFSETS_PARTITIONS))
        } else {
            (TOPIC, random.i32(0..PARTITIONS))
        };
        Self {
            fault,
            whose,
            length: Duration::from_millis(random.u64(length)),
            away_at_most: if random.u8(..4) == 0 { 2 } else { 1 },
            partition,
        }
    }
}

/// Has things go wrong for as long as the seed's length, while `check` finds nothing. Returns when all is well again; how many did is said.
pub(crate) fn trouble(
    world: &Arc<World>,
    seed: Seed,
    check: impl Fn() -> Result<()>,
) -> Result<usize> {
    let mut random = seed.rng(0);
    let begin = Instant::now();
    let mut troubles: Vec<JoinHandle<Result<()>>> = Vec::new();
    let checked = loop {
        thread::sleep(Duration::from_millis(random.u64(100..2_000)));
        if let Err(wrong) = check() {
            break Err(wrong);
        }
        if begin.elapsed() >= seed.length {
            break Ok(());
        }
        let drawn = Drawn::draw(&mut random, &world.network);
        let world = Arc::clone(world);
        troubles.push(thread::spawn(move || {
            world.carry_out(drawn).with_context(|| format!("{drawn:?}"))
        }));
    };
    let count = troubles.len();
    for trouble in troubles {
        let ended = trouble.join();
        ended.map_err(|_| anyhow!("the thread of a fault panicked"))??;
    }
    checked.map(|()| count)
}

impl World {
    fn carry_out(&self, drawn: Drawn) -> Result<()> {
        if let Fault::MoveLeader = drawn.fault {
            return self.move_leader(drawn);
        }
        let node = match drawn.whose {
            Whose::Node(node) => node,
            Whose::CoordinatorOf(group) => match self.coordinator_of(group) {
                Ok(Some(node)) => node,
                unknown => {
                    self.tell(&format!("no coordinator of {group}: {unknown:?}"));
                    return Ok(());
                }
            },
        };
        match drawn.fault {
            Fault::Kill | Fault::Restart | Fault::Freeze => self.broker(node, drawn),
            _ => self.line_or_cable(node, drawn),
        }
    }

    fn broker(&self, node: i32, drawn: Drawn) -> Result<()> {
        let Some(_taken) = self.troubled_brokers.take(node, drawn.away_at_most) else {
            return Ok(());
        };
        let (fault, length) = (drawn.fault, drawn.length);
        self.tell(&format!(
            "{fault:?}: node {node} ({:?}) for {length:?}",
            drawn.whose
        ));
        match fault {
            Fault::Freeze => self.kafka.freeze(node)?,
            Fault::Kill => self.kafka.kill(node)?,
            // the controller is asked for leave, so without it a broker does not end in order
            _ if self.troubled_brokers.is_alone() => self.kafka.stop(node)?,
            _ => self.kafka.kill(node)?,
        }
        thread::sleep(length);
        match fault {
            Fault::Freeze => self.kafka.thaw(node)?,
            _ => self.kafka.start_node(node)?,
        }
        self.tell(&format!("{fault:?}: node {node} is back"));
        Ok(())
    }

    fn line_or_cable(&self, node: i32, drawn: Drawn) -> Result<()> {
        let Some(_taken) = self.troubled_lines.take(node, usize::MAX) else {
            return Ok(());
        };
        let (fault, length) = (drawn.fault, drawn.length);
        self.tell(&format!(
            "{fault:?}: the line to node {node} ({:?}) for {length:?}",
            drawn.whose
        ));
        let line = self.line(node)?;
        match fault {
            Fault::Delay | Fault::Cut => line.silence(),
            Fault::Refuse => line.refuse(),
            Fault::Reset => line.reset(),
            _ => self.network.set_plugged(node, false)?,
        }
        thread::sleep(length);
        match fault {
            // what was sent meanwhile must not arrive
            Fault::Cut => line.reset(),
            Fault::Unplug => self.network.set_plugged(node, true)?,
            _ => {}
        }
        line.mend();
        self.tell(&format!("{fault:?}: the line to node {node} is whole"));
        Ok(())
    }

    fn move_leader(&self, drawn: Drawn) -> Result<()> {
        let (topic, partition) = drawn.partition;
        let Whose::Node(to) = drawn.whose else {
            return Ok(());
        };
        // two that want to move the same one would wait for each other
        let taken = self.troubled_partitions.take(drawn.partition, usize::MAX);
        let Some(_taken) = taken else { return Ok(()) };
        match self.kafka.move_leader(topic, partition, to) {
            Ok(()) => self.tell(&format!("MoveLeader: node {to} leads {topic}-{partition}")),
            // the node is away, or does not catch up in time
            Err(Error::Command { kind, .. }) => self.tell(&format!(
                "MoveLeader: node {to} does not lead {topic}-{partition}: {kind}"
            )),
            Err(error) => bail!(error),
        }
        Ok(())
    }

    fn coordinator_of(&self, group: &str) -> Result<Option<i32>, Error> {
        let offsets = self.kafka.describe_topic(OFFSETS)?;
        let partition = offsets.partitions.get(&offsets_partition_of(group));
        Ok(partition.and_then(|partition| partition.leader))
    }
}
