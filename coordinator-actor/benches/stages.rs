//! What the leader of a group computes: 200 members, 1,000 partitions. A budget is what was measured, the lower quartile on an AMD EPYC that had other
//! things to do, and half as much again; each is in ns per partition.
//!
//! | assignor | new group: measured | budget | one member replaced: measured | budget |
//! |---|---|---|---|---|
//! | range | 67 | 100 | 72 | 108 |
//! | roundrobin | 46 | 70 | 51 | 77 |
//! | sticky | 120 | 180 | 220 | 330 |
//! | cooperative-sticky | 120 | 180 | 205 | 310 |

use coordinator_actor::assign::{
    Assignor, CooperativeSticky, Member, PartitionMetadata, Range, RoundRobin, Sticky,
    Subscription, TopicsMetadata,
};
use record_batch::TopicPartition;
use stage_bench::{Per, Stages};

const MEMBERS: usize = 200;
const TOPICS: usize = 10;
const PARTITIONS: usize = 1000;

fn topics() -> impl Iterator<Item = String> {
    (0..TOPICS).map(|n| format!("topic {n}"))
}

fn cluster() -> TopicsMetadata {
    let mut cluster = TopicsMetadata::default();
    for topic in topics() {
        cluster.insert(
            topic.as_str(),
            vec![PartitionMetadata::default(); PARTITIONS / TOPICS],
        );
    }
    cluster
}

/// Members of an eager group, each of which tells what it had.
fn member(n: usize, assignor: &dyn Assignor, owned: &[TopicPartition]) -> Member {
    let topics: Vec<String> = topics().collect();
    let mut subscription = Subscription::new(topics.iter().map(String::as_str));
    subscription.user_data = assignor.user_data(owned, 1, &[]);
    subscription.owned_partitions = owned.to_vec();
    subscription.generation_id = Some(1);
    Member::new(format!("member {n:03}"), subscription)
}

/// A group that has been assigned nothing yet.
fn new_group(assignor: &dyn Assignor) -> Vec<Member> {
    (0..MEMBERS).map(|n| member(n, assignor, &[])).collect()
}

/// One member of the group has left, another has come.
fn changed_group(assignor: &dyn Assignor) -> Vec<Member> {
    let assigned = assignor.assign(&cluster(), &new_group(assignor));
    let owners = assigned.iter().enumerate();
    let mut group: Vec<Member> = owners
        .map(|(n, owned)| member(n, assignor, owned))
        .collect();
    group[0] = member(MEMBERS, assignor, &[]);
    group
}

fn bench(stages: &mut Stages, assignor: &dyn Assignor) {
    let cluster = cluster();
    let name = assignor.name();
    let per = Per::partition(PARTITIONS as u64);
    stages.add(
        &format!("{name}, new group"),
        per,
        || new_group(assignor),
        |group| assignor.assign(&cluster, group),
    );
    stages.add(
        &format!("{name}, one member replaced"),
        per,
        || changed_group(assignor),
        |group| assignor.assign(&cluster, group),
    );
}

fn main() {
    stage_bench::run("coordinator-actor", |stages| {
        // budgets: 100 and 108 ns per partition
        bench(stages, &Range);
        // 70 and 77
        bench(stages, &RoundRobin);
        // 180 and 330
        bench(stages, &Sticky);
        // 180 and 310
        bench(stages, &CooperativeSticky);
    });
}
