use kafka_protocol::ResponseError;

/// `offsets.topic.num.partitions`: groups are spread over so many partitions of `__consumer_offsets`, and the leader of a
/// partition coordinates its groups.
const PARTITIONS: usize = 50;

/// Which node coordinates which groups.
#[derive(Debug)]
pub(crate) struct Coordinators {
    partitions: Vec<Placement>,
}

#[derive(Clone, Debug)]
struct Placement {
    node: Option<i32>,
    /// It reads the groups and does not answer for them yet.
    loading: bool,
}

impl Coordinators {
    pub(super) fn new(nodes: &[i32]) -> Self {
        let nodes = nodes.iter().copied().map(Some);
        let nodes = nodes.cycle().chain([None]).take(PARTITIONS);
        let placed = nodes.map(|node| Placement {
            node,
            loading: false,
        });
        Self {
            partitions: placed.collect(),
        }
    }

    fn place(&self, group: &str) -> Option<&Placement> {
        self.partitions.get(partition_of(group))
    }

    /// The coordinator of a group; none if no node is up.
    pub(crate) fn of(&self, group: &str) -> Option<i32> {
        self.place(group)?.node
    }

    /// Whether a node answers for a group.
    pub(crate) fn check(&self, group: &str, node: i32) -> Result<(), ResponseError> {
        match self.place(group) {
            Some(place) if place.node == Some(node) && place.loading => {
                Err(ResponseError::CoordinatorLoadInProgress)
            }
            Some(place) if place.node == Some(node) => Ok(()),
            _ => Err(ResponseError::NotCoordinator),
        }
    }

    /// Moves a group, and with it all groups of its partition.
    pub(super) fn set_node(&mut self, partition: usize, node: i32) {
        if let Some(place) = self.partitions.get_mut(partition) {
            place.node = Some(node);
        }
    }

    pub(super) fn set_loading(&mut self, partition: usize, loading: bool) {
        if let Some(place) = self.partitions.get_mut(partition) {
            place.loading = loading;
        }
    }

    /// Gives what a dead node coordinated to the live ones, which are told in order. The partitions that moved.
    pub(super) fn node_died(&mut self, node: i32, live: &[i32]) -> Vec<usize> {
        let mut moved = Vec::new();
        for (index, place) in self.partitions.iter_mut().enumerate() {
            if place.node == Some(node) {
                let next = live.iter().find(|live| **live > node);
                place.node = next.or(live.first()).copied();
                place.loading = false;
                moved.push(index);
            }
        }
        moved
    }

    /// Gives a node what no other could take over. The partitions that it got.
    pub(super) fn node_returned(&mut self, node: i32) -> Vec<usize> {
        let mut moved = Vec::new();
        for (index, place) in self.partitions.iter_mut().enumerate() {
            if place.node.is_none() {
                place.node = Some(node);
                moved.push(index);
            }
        }
        moved
    }
}

/// The partition of `__consumer_offsets` that has a group.
pub(super) fn partition_of(group: &str) -> usize {
    (java_hash(group) & 0x7fff_ffff) as usize % PARTITIONS
}

/// `String.hashCode` of Java, by which Kafka spreads groups over partitions and orders its hash tables.
pub(super) fn java_hash(text: &str) -> u32 {
    text.encode_utf16().fold(0, |hash: u32, unit| {
        hash.wrapping_mul(31).wrapping_add(u32::from(unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_spread_as_kafka_spreads_them() {
        // jshell> "orders".hashCode(); "".hashCode(); "größe".hashCode()
        assert_eq!(java_hash("orders") as i32, -1_008_770_331);
        assert_eq!(java_hash(""), 0);
        assert_eq!(java_hash("gr\u{f6}\u{df}e") as i32, 98_762_257);
    }

    #[test]
    fn a_dead_node_s_groups_go_to_the_next_one_and_stay_there() {
        let mut coordinators = Coordinators::new(&[1, 2, 3]);
        let of_node = |coordinators: &Coordinators, node| {
            let of = coordinators.partitions.iter();
            of.filter(|place| place.node == Some(node)).count()
        };
        assert_eq!(of_node(&coordinators, 2), 17);
        assert_eq!(coordinators.node_died(2, &[1, 3]).len(), 17);
        assert_eq!(of_node(&coordinators, 3), 16 + 17);
        assert_eq!(coordinators.node_returned(2), []);
        coordinators.node_died(3, &[]);
        assert_eq!(of_node(&coordinators, 3), 0);
        assert_eq!(coordinators.node_returned(3).len(), 33);
    }
}
