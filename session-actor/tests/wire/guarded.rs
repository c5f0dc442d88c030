//! The guard against the crate: what it lets through is what the crate reads, and is safe for the crate to read.

use crate::allocations::allocated;
use crate::random::Random;
use crate::responses::CASES;
use proptest::prelude::*;
use session_actor::wire::guard;

/// What the crate may allocate for a message of so many bytes that the guard let through. An empty structure with one unknown
/// tagged field is the worst: a map of some 400 bytes for three.
fn bearable(len: usize) -> usize {
    16 * 1024 + 250 * len
}

/// Claims that a hostile broker might make.
const CLAIMS: [&[u8]; 9] = [
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xfe],
    &[0x80, 0, 0, 0],
    &[0, 0xff, 0xff, 0xff],
    &[0x7f, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0xff, 0xff, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0x7f],
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_the_crate_encodes_is_let_through(seed: u64) {
        let mut random = Random::new(seed);
        for case in &CASES {
            prop_assert!(!case.schema.has(case.versions.min - 1) && !case.schema.has(case.versions.max + 1));
            for version in case.versions.min..=case.versions.max {
                let mut body = (case.encode)(&mut random, version);
                prop_assert_eq!(guard::skim(case.schema, version, &body), Ok(()));
                let cut = random.0.usize(0..body.len());
                prop_assert!(guard::skim(case.schema, version, &body[..cut]).is_err());
                body.push(0);
                prop_assert!(guard::skim(case.schema, version, &body).is_err());
                prop_assert_eq!(guard::skim_prefix(case.schema, version, &body), Ok(body.len() - 1));
            }
        }
    }

    #[test]
    fn f017_what_is_let_through_is_safe_to_decode(seed: u64) {
        let mut random = Random::new(seed);
        for case in &CASES {
            for version in case.versions.min..=case.versions.max {
                let whole = (case.encode)(&mut random, version);
                for _ in 0..8 {
                    let body = mutated(&whole, &mut random);
                    if guard::skim(case.schema, version, &body).is_err() {
                        continue;
                    }
                    let (left, bytes) = allocated(|| (case.decode)(&body, version));
                    prop_assert!(left.is_none_or(|left| left == 0), "the crate left {left:?} of {body:x?}");
                    prop_assert!(bytes <= bearable(body.len()), "{bytes} bytes for {body:x?}");
                }
            }
        }
    }
}

fn mutated(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut body = whole.to_vec();
    for _ in 0..random.0.usize(1..3) {
        let at = random.0.usize(..body.len());
        match random.0.u8(0..5) {
            0 => body[at] = random.0.u8(..),
            1 => body[at] = body[at].wrapping_add(1),
            2 => body[at] = body[at].wrapping_sub(1),
            3 => body.insert(at, random.0.u8(..)),
            _ => {
                let claim = random.0.choice(CLAIMS).expect("there are some");
                let end = body.len().min(at + claim.len());
                body[at..end].copy_from_slice(&claim[..end - at]);
            }
        }
    }
    body
}

#[test]
fn f017_a_few_bytes_that_claim_billions_allocate_nothing() {
    // each message cut off behind its first bytes, all of them hostile claims
    for case in &CASES {
        for version in case.versions.min..=case.versions.max {
            for fixed in 0..24 {
                for claim in CLAIMS {
                    let mut body = vec![0; fixed];
                    body.extend_from_slice(claim);
                    let (skimmed, bytes) = allocated(|| guard::skim(case.schema, version, &body));
                    assert_eq!(bytes, 0);
                    if skimmed.is_ok() {
                        let (_, bytes) = allocated(|| (case.decode)(&body, version));
                        assert!(bytes <= bearable(body.len()), "{bytes} bytes for {body:x?}");
                    }
                }
            }
        }
    }
}
