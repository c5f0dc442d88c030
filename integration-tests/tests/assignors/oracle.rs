//! 2,000 groups, each assigned by ours and by Java's.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use coordinator_actor::assign::{
    Assignment, Assignor, CooperativeSticky, Member, Range, RoundRobin, Sticky, Subscription,
};
use integration_tests::kafka::{Assigned as JavaAssigned, JavaAssignors, Result};
use record_batch::TopicPartition;

use crate::assignors::cases::Case;
use crate::assignors::judge::{self, Assigned, Cost};

const CASES: u64 = 2_000;

static JAVA: LazyLock<JavaAssignors> =
    LazyLock::new(|| JavaAssignors::start().expect("the Java helper starts"));

/// A case with our assignment and Java's, which may be an exception.
type Compared = (Case, Assigned, Result<Assigned, String>);

fn both(assignor: &dyn Assignor) -> Result<Vec<Compared>> {
    let cases: Vec<Case> = (0..CASES).map(Case::random).collect();
    let groups: Vec<_> = cases.iter().map(|case| case.group(assignor)).collect();
    let for_java: Vec<_> = cases
        .iter()
        .zip(&groups)
        .map(|(case, group)| case.for_java(group))
        .collect();
    let of_java = JAVA.assign(assignor.name(), &for_java)?;
    assert_eq!(of_java.len(), cases.len(), "an answer for each case");

    let mut all = Vec::new();
    for (((case, group), sent), java) in cases.into_iter().zip(groups).zip(for_java).zip(of_java) {
        let ours: Assigned = group
            .iter()
            .map(|member| member.id.clone())
            .zip(assignor.assign(&case.metadata(), &group))
            .collect();
        let theirs = java.map(|java| {
            for (id, java) in &java {
                check_subscription(&case, &group, id, &sent.members[id].subscription, java);
            }
            assert_eq!(java.len(), ours.len(), "all members: {case:?}");
            decoded(java)
        });
        all.push((case, ours, theirs));
    }
    Ok(all)
}

/// Java reads what we write, and the other way round.
fn check_subscription(case: &Case, group: &[Member], id: &str, sent: &[u8], java: &JavaAssigned) {
    assert_eq!(
        java.subscription, sent,
        "Java writes the subscription of {id} otherwise: {case:?}"
    );
    let joined = group.iter().find(|member| member.id == id);
    let mut joined = joined
        .expect("Java answers for members")
        .subscription
        .clone();
    // as they are sent
    joined.topics.sort();
    joined.owned_partitions.sort();
    let read = Subscription::decode(&Bytes::copy_from_slice(sent));
    assert_eq!(read, Ok(joined), "the subscription of {id}: {case:?}");
}

fn decoded(java: BTreeMap<String, JavaAssigned>) -> Assigned {
    let decode = |(id, java): (String, JavaAssigned)| {
        let assignment = Assignment::decode(&Bytes::from(java.assignment));
        let mut partitions = assignment.expect("Java writes what can be read").partitions;
        partitions.sort();
        (id, partitions)
    };
    java.into_iter().map(decode).collect()
}

fn is_the_same(assignor: &dyn Assignor) -> Result<()> {
    for (case, ours, theirs) in both(assignor)? {
        assert_eq!(
            Ok(&ours),
            theirs.as_ref(),
            "ours and Java's differ: {case:?}"
        );
        judge::check_complete(&case, &ours);
    }
    Ok(())
}

#[test]
fn b150_range_is_that_of_java() -> Result<()> {
    is_the_same(&Range)
}

#[test]
fn b150_roundrobin_is_that_of_java() -> Result<()> {
    is_the_same(&RoundRobin)
}

/// Where ours and Java's stand, for the reader of the output.
#[derive(Debug, Default)]
struct Standing {
    equal: usize,
    more_even: usize,
    nearer: usize,
    stickier: usize,
    /// Java's ends with an exception, or assigns what does not exist or was not asked for.
    java_fails: usize,
    /// Java's still withholds partitions that move.
    java_unsettled: usize,
}

impl Standing {
    /// The comparison is worth something only if Java has an answer to most.
    fn check_enough(&self) {
        let compared = self.equal + self.more_even + self.nearer + self.stickier;
        assert!(compared > 1_700, "too few groups compared: {self:?}");
    }

    fn count(&mut self, case: &Case, ours: &Assigned, theirs: &Result<Assigned, String>) {
        let Some(theirs) = theirs
            .as_ref()
            .ok()
            .filter(|theirs| judge::is_possible(case, theirs))
        else {
            assert!(
                case.is_odd(),
                "Java fails where nothing is odd: {theirs:?} {case:?}"
            );
            self.java_fails += 1;
            return;
        };
        let number = |assigned: &Assigned| assigned.values().map(Vec::len).sum::<usize>();
        if number(theirs) < number(ours) {
            self.java_unsettled += 1;
            return;
        }
        let (ours, theirs) = (Cost::of(case, ours), Cost::of(case, theirs));
        assert!(
            ours <= theirs,
            "ours {ours:?} is worse than Java's {theirs:?}: {case:?}"
        );
        if ours.unbalanced < theirs.unbalanced {
            self.more_even += 1;
        } else if ours.far < theirs.far {
            self.nearer += 1;
        } else if ours.moved < theirs.moved {
            self.stickier += 1;
        } else {
            self.equal += 1;
        }
    }
}

#[test]
fn f022_b148_sticky_is_as_even_as_near_and_as_sticky_as_that_of_java() -> Result<()> {
    let mut standing = Standing::default();
    for (case, ours, theirs) in both(&Sticky)? {
        judge::check_complete(&case, &ours);
        judge::check_balanced(&case, &ours);
        standing.count(&case, &ours, &theirs);
    }
    standing.check_enough();
    assert_eq!(standing.java_unsettled, 0, "an eager one withholds nothing");
    println!("sticky against Java's, of {CASES} groups: {standing:?}");
    Ok(())
}

#[test]
fn f022_b148_cooperative_sticky_gives_nobody_what_another_owns() -> Result<()> {
    let mut withheld = 0;
    for (case, ours, _) in both(&CooperativeSticky)? {
        let owners = judge::owners(&case);
        let whole: Assigned = {
            // the same claims, as the eager assignor is told them
            let group = case.group(&Sticky);
            let assigned = Sticky.assign(&case.metadata(), &group);
            group
                .iter()
                .map(|member| member.id.clone())
                .zip(assigned)
                .collect()
        };
        for (member, partitions) in whole {
            let may_have = |partition: &TopicPartition| match owners.get(partition) {
                Some(owner) => *owner == Some(member.as_str()),
                None => true,
            };
            let (now, later): (Vec<_>, Vec<_>) = partitions.into_iter().partition(may_have);
            withheld += later.len();
            assert_eq!(
                ours[&member], now,
                "what {member} may have at once: {case:?}"
            );
        }
    }
    assert!(withheld > 0, "no case in which a partition moves");
    println!("cooperative-sticky, of {CASES} groups: {withheld} partitions withheld");
    Ok(())
}

/// What Java's gives at once and after the rebalance that follows is its whole assignment; so is ours.
#[test]
fn f022_b148_cooperative_sticky_ends_as_good_as_that_of_java() -> Result<()> {
    let first = both(&CooperativeSticky)?;
    let settle = |case: &Case, assigned: &Assigned| {
        let mut next = case.clone();
        for member in &mut next.members {
            member.owned.clone_from(&assigned[&member.id]);
            member.generation = 1_000;
        }
        next
    };
    let mut standing = Standing::default();
    let ours: Vec<Case> = first
        .iter()
        .map(|(case, ours, _)| settle(case, ours))
        .collect();
    let theirs: Vec<Case> = first
        .iter()
        .map(|(case, _, theirs)| match theirs {
            Ok(theirs) => settle(case, theirs),
            // fails again
            Err(_) => case.clone(),
        })
        .collect();
    let groups = |cases: &[Case]| -> Vec<_> {
        let group = |case: &Case| case.for_java(&case.group(&CooperativeSticky));
        cases.iter().map(group).collect()
    };
    let java = JAVA.assign(CooperativeSticky.name(), &groups(&theirs))?;
    for (((case, _, _), ours), java) in first.iter().zip(&ours).zip(java) {
        let group = ours.group(&CooperativeSticky);
        let assigned = CooperativeSticky.assign(&ours.metadata(), &group);
        let assigned: Assigned = group
            .iter()
            .map(|member| member.id.clone())
            .zip(assigned)
            .collect();
        judge::check_complete(case, &assigned);
        judge::check_balanced(case, &assigned);
        for member in &ours.members {
            let given_up = member
                .owned
                .iter()
                .find(|one| !assigned[&member.id].contains(one));
            assert_eq!(
                given_up, None,
                "a third rebalance for {}: {case:?}",
                member.id
            );
        }
        let theirs = java.map(decoded);
        standing.count(case, &assigned, &theirs);
    }
    standing.check_enough();
    println!(
        "cooperative-sticky against Java's after two rebalances, of {CASES} groups: {standing:?}"
    );
    Ok(())
}
