//! What the explorer would find: each fault is put into a machine, or into the world, and must be found quickly, as a breach
//! of the invariant that it breaks.

use buffer_actor::Policy;
use buffer_actor::machine::Mutant;

use crate::events::{Allowance as A, Allowances};
use crate::scenario::{Scenario, named};
use crate::search::Search;
use crate::world::{Fault, World};

/// States within which every fault is found.
const QUICKLY: usize = 100_000;

/// A scenario with no more allowed than the fault needs.
fn search<const N: usize>(scenario: &str, allowances: [(A, u8); N]) -> Search {
    let scenario = Scenario {
        allowances: Allowances::of(allowances),
        warm: false,
        limit: Some(QUICKLY),
        ..named(scenario)
    };
    Search {
        drain_every: 8,
        ..Search::of(scenario)
    }
}

/// The fault is found as a breach of one of these invariants.
fn found(search: &Search, breaches: &[&str]) {
    let report = search.run();
    let Some(violation) = &report.violation else {
        panic!(
            "{} states of {:?}, and nothing is found",
            report.states, report.name
        );
    };
    let text = violation.text.trim_start_matches("panic: ");
    assert!(
        breaches.iter().any(|breach| text.starts_with(breach)),
        "not a breach of {breaches:?}: {}",
        report.verdict().unwrap_or_default()
    );
}

macro_rules! mutants {
    ($($name:ident: $mutant:ident in $scenario:literal [$($allowance:ident $times:literal),*] breaks $($breach:literal)|+;)+) => {
        $(#[test]
        fn $name() {
            let mut search = search($scenario, [$((A::$allowance, $times)),*]);
            search.prepare = |world: &mut World| world.buffer.get_mut().mutate(Mutant::$mutant);
            found(&search, &[$($breach),+]);
        })+
    };
}

mutants! {
    no_custody: NoCustody
        in "a node left and found again" [Pause 1, Resume 1] breaks "I1";
    a_partition_at_its_credit_is_left_out: LeavesOutAtCredit
        in "read-ahead" [] breaks "I5";
    no_overdraw: NoOverdraw
        in "memory" [Poll 1] breaks "progress";
    an_overdraw_waits_for_reservations: OverdrawWaitsForReservations
        in "memory" [Poll 1] breaks "progress";
    a_pause_looks_not_again: PauseLooksNotAgain
        in "read-ahead" [Pause 1, Lose 1, Snapshot 1] breaks "I8";
    a_lease_looks_not_again: LeaseLooksNotAgain
        in "read-ahead" [Poll 2] breaks "I8" | "progress";
    a_release_looks_not_again: ReleaseLooksNotAgain
        in "memory" [Poll 3] breaks "I8" | "progress";
    a_seek_looks_not_again: SeekLooksNotAgain
        in "seek and pause" [Seek 1] breaks "I8" | "progress";
    a_resume_is_no_event: ResumeIsNoEvent
        in "seek and pause" [Pause 2, Resume 2] breaks "I8";
    an_empty_answer_leaves_a_partition_to_a_long_poll: LeavesToLongPoll
        in "seek and pause" [Pause 1, Resume 1] breaks "I8";
    nobody_stands_in_for_lane_1: NobodyStandsIn
        in "no slot for a session" [Evict 1, Refuse 1, Seek 1] breaks "I8";
    a_reply_is_judged_by_its_offset: JudgesByOffset
        in "seek and pause" [Poll 1, Seek 1] breaks "I3";
    a_seek_begins_no_epoch: SeekKeepsEpoch
        in "seek and pause" [Poll 1, Seek 1] breaks "I1" | "I3" | "I6";
    a_committed_position_wins_over_a_seek: CommittedAfterSeek
        in "committed positions" [Seek 1] breaks "I1" | "I3" | "I6" | "progress";
    a_leader_move_begins_no_epoch: MoveKeepsEpoch
        in "leaders" [Move 1, Snapshot 1] breaks "I1";
    the_reader_is_told_of_one_change: TellsOfOneChange
        in "polls given up" [Poll 3, Pause 2] breaks "I6";
    what_is_given_back_is_dropped: DropsWhatIsGivenBack
        in "seek and pause" [Poll 1, Pause 1] breaks "I6" | "progress";
    paused_data_stays: PausedDataStays
        in "memory of the paused" [Pause 1] breaks "progress";
    a_discard_keeps_its_ticket: DiscardKeepsTicket
        in "memory of the paused" [Time 1, Fire 1] breaks "progress";
    a_take_waits_though_there_is_something: TakesWaitThoughReady
        in "read-ahead" [] breaks "I8";
    a_take_waits_though_memory_is_short: TakesWaitThoughMemoryIsShort
        in "memory" [Poll 2] breaks "I8";
}

#[test]
fn a_touch_is_forgotten() {
    let mut search = search("touch", [(A::Poll, 1), (A::Time, 2), (A::Fire, 2)]);
    search.prepare = World::forget_touches;
    found(&search, &["I5"]);
}

#[test]
fn the_forgotten_list_is_not_sent() {
    let mut search = search("seek and pause", [(A::Pause, 1)]);
    search.fault = Some(Fault::ForgottenNotSent);
    found(&search, &["I5"]);
}

#[test]
fn the_planner_hears_before_the_buffer() {
    let mut search = search("seek and pause", []);
    search.fault = Some(Fault::IdleBeforeDone);
    found(&search, &["I7"]);
}

#[test]
fn a_ticket_is_lost() {
    let mut search = search("leaders", [(A::Move, 1), (A::Snapshot, 1)]);
    search.fault = Some(Fault::TicketLost);
    search.drain_every = u64::MAX;
    found(&search, &["I4"]);
}

/// What KAFKA-17182 is about.
#[test]
fn buffered_partitions_are_omitted() {
    let mut search = search("pause", []);
    search.scenario.policy = Policy::OmitBuffered;
    found(&search, &["I5"]);
}
