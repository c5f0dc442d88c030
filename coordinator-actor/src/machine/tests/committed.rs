use super::*;

fn found(pairs: &[(&str, i64)]) -> Answer {
    let found = offsets(pairs).into_iter();
    Answer::OffsetFetch(Ok(found.map(|(name, at)| (name, Ok(Some(at)))).collect()))
}

#[test]
fn b107_b133_what_is_asked_for_at_once_is_one_request() {
    let mut world = World::new(eager());
    let first = world.fetch(&["t-0"]);
    let second = world.fetch(&["t-0", "t-1"]);
    world.look_up("t-1", 5);
    world.find();
    assert_eq!(world.count("OffsetFetch"), 1);
    world.reply("OffsetFetch", found(&[("t-0", 3), ("t-1", 4)]));
    assert_eq!(
        world.fetched[&first].as_ref().unwrap(),
        &offsets(&[("t-0", 3)])
    );
    assert_eq!(world.fetched[&second].as_ref().unwrap().len(), 2);
    assert_eq!(world.positions.len(), 1);
    assert_eq!(world.positions[0].1, FetchEpoch(5));
}

#[test]
fn b107_an_answer_is_no_answer_to_who_asked_after_the_request() {
    let mut world = World::new(eager());
    world.look_up("t-0", 1);
    world.find();
    // it went to another owner and came back
    world.look_up("t-0", 2);
    let call = world.fetch(&["t-0"]);
    world.reply("OffsetFetch", found(&[("t-0", 3)]));
    assert!(world.positions.is_empty() && world.fetched.is_empty());
    world.reply("OffsetFetch", found(&[("t-0", 9)]));
    assert_eq!(world.positions[0].2.unwrap().offset, 9);
    assert_eq!(
        world.fetched[&call].as_ref().unwrap(),
        &offsets(&[("t-0", 9)])
    );
}

#[test]
fn what_an_answer_leaves_out_is_asked_for_after_a_backoff() {
    let mut world = World::new(eager());
    world.look_up("t-0", 1);
    let call = world.fetch(&["t-1"]);
    world.find();
    world.reply("OffsetFetch", found(&[]));
    assert!(!world.is_in_flight("OffsetFetch"));
    world.pass(Duration::from_millis(120));
    world.reply("OffsetFetch", found(&[("t-0", 1), ("t-1", 2)]));
    assert!(world.fetched[&call].is_ok());
    assert_eq!(world.positions.len(), 1);
}

#[test]
fn an_offset_that_a_transaction_may_take_back_is_waited_for() {
    let mut world = World::new(eager());
    let call = world.fetch(&["t-0"]);
    world.find();
    let unstable = (part("t-0"), Err(ErrorCode::UNSTABLE_OFFSET_COMMIT));
    world.reply("OffsetFetch", Answer::OffsetFetch(Ok([unstable].into())));
    world.pass(Duration::from_millis(120));
    world.reply("OffsetFetch", found(&[("t-0", 1)]));
    assert!(world.fetched[&call].is_ok());
}

#[test]
fn every_error_of_an_offset_fetch_ends_or_is_tried_again() {
    for code in -1..=120 {
        let code = ErrorCode(code);
        if code.is_ok() {
            continue;
        }
        for config in [eager(), consumer()] {
            let mut world = World::member(config, &["t-0"]);
            let call = world.fetch(&["t-0"]);
            world.look_up("t-0", 1);
            world.refuse("OffsetFetch", code);
            world.assert_alive(&code.to_string());
            world.confirm();
            world.pass(Duration::from_secs(61));
            assert!(world.fetched.contains_key(&call), "{code}");
        }
    }
}

#[test]
fn a_lookup_of_what_is_not_assigned_any_more_is_dropped() {
    let mut world = World::member(cooperative(), &["t-0"]);
    world.look_up("t-0", 1);
    world.lose("OffsetFetch");
    world.unsubscribe();
    world.confirm();
    world.find();
    world.refuse("LeaveGroup", ErrorCode::NONE);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.count("OffsetFetch"), 1);
}
