//! The engine itself: a comparison that overlooks something looks like one that finds nothing.

use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use bytes::Bytes;
use kafka_protocol::messages::fetch_response::{
    AbortedTransaction, FetchableTopicResponse, PartitionData,
};
use kafka_protocol::messages::{ApiKey, FetchRequest, FetchResponse, ProducerId};
use test_broker::BatchBuilder;
use uuid::Uuid;

use crate::engine::{ABSENT, Compared, Fields, Known, Names, Report};
use crate::requests::topic_name;

const ANY: RangeInclusive<i16> = 0..=20;
/// Where a batch has the CRC, the largest timestamp, and its first record.
const CRC: usize = 17;
const MAX_TIMESTAMP: usize = 35;
const RECORD: usize = 61;

const HIGH_WATERMARK: Known = Known {
    subject: "checks",
    case: "a*e",
    versions: 3..=4,
    field: "responses[*].high_watermark",
    real: "7",
    ours: "*",
    reason: "a check",
};
const MORE_PARTITIONS: Known = Known {
    subject: "checks",
    case: "*",
    versions: ANY,
    field: "responses[0].partitions[1]*",
    real: ABSENT,
    ours: "*",
    reason: "a check",
};
static ONE_KNOWN: [Known; 1] = [HIGH_WATERMARK];
static TWO_KNOWN: [Known; 2] = [HIGH_WATERMARK, MORE_PARTITIONS];

pub(crate) fn run() -> Result<()> {
    every_field_counts()?;
    names_take_the_place_of_ids()?;
    records_are_compared_byte_by_byte()?;
    known_differences_have_to_occur()
}

fn answer(records: Bytes) -> FetchResponse {
    let aborted = AbortedTransaction::default()
        .with_producer_id(ProducerId(9))
        .with_first_offset(4);
    let partition = PartitionData::default()
        .with_high_watermark(7)
        .with_aborted_transactions(Some(vec![aborted]))
        .with_records(Some(records));
    let topic = FetchableTopicResponse::default()
        // text that looks like the form in which fields are read
        .with_topic(topic_name("a{[(\n}: \"b\","))
        .with_topic_id(Uuid::from_u128(u128::MAX))
        .with_partitions(vec![partition]);
    FetchResponse::default()
        .with_session_id(5)
        .with_responses(vec![topic])
}

fn fields(answer: &FetchResponse, names: &Names) -> Fields {
    FetchRequest::fields(answer, names).map(|path, value| names.normal(path, value))
}

/// The paths in which two answers differ.
fn differing(real: &FetchResponse, ours: &FetchResponse) -> Vec<String> {
    let names = Names::default();
    let differences = fields(real, &names).differences(&fields(ours, &names));
    differences
        .into_iter()
        .map(|difference| difference.path)
        .collect()
}

/// Changes one field of an answer, and expects that it is found out.
fn expect(path: &str, change: impl FnOnce(&mut FetchResponse, &mut PartitionData)) -> Result<()> {
    let real = answer(Bytes::new());
    let mut ours = real.clone();
    let mut partition = ours.responses[0].partitions[0].clone();
    change(&mut ours, &mut partition);
    ours.responses[0].partitions[0] = partition;
    let found = differing(&real, &ours);
    ensure!(found == [path], "{path} was changed, {found:?} differ");
    Ok(())
}

fn every_field_counts() -> Result<()> {
    let same = answer(Bytes::new());
    ensure!(
        differing(&same, &same).is_empty(),
        "an answer differs from itself"
    );
    expect("error_code", |answer, _| answer.error_code = 1)?;
    expect("responses[0].topic", |answer, _| {
        answer.responses[0].topic = topic_name("a{[(\n}: \"c\",");
    })?;
    let partition = "responses[0].partitions[0]";
    expect(&format!("{partition}.high_watermark"), |_, partition| {
        partition.high_watermark = 8;
    })?;
    let aborted = format!("{partition}.aborted_transactions");
    expect(&format!("{aborted}[0].first_offset"), |_, partition| {
        partition
            .aborted_transactions
            .iter_mut()
            .flatten()
            .for_each(|a| a.first_offset += 1);
    })?;
    // no list is not an empty one, and an empty one not none at all
    let mut none = answer(Bytes::new());
    none.responses[0].partitions[0].aborted_transactions = None;
    let mut empty = none.clone();
    empty.responses[0].partitions[0].aborted_transactions = Some(Vec::new());
    ensure!(
        differing(&none, &empty) == [aborted],
        "null and empty are alike"
    );
    let mut null_records = none.clone();
    null_records.responses[0].partitions[0].records = None;
    ensure!(
        !differing(&none, &null_records).is_empty(),
        "null records are alike"
    );
    // a partition more, on either side
    let mut more = answer(Bytes::new());
    let again = more.responses[0].partitions[0].clone();
    more.responses[0].partitions.push(again);
    ensure!(
        !differing(&same, &more).is_empty(),
        "a partition more is not found"
    );
    ensure!(
        !differing(&more, &same).is_empty(),
        "a partition less is not found"
    );
    Ok(())
}

fn names_take_the_place_of_ids() -> Result<()> {
    let (mut real, mut ours) = (Names::default(), Names::default());
    let ids = [1_u128 << 100, 2 << 100].map(Uuid::from_u128);
    for (names, topic, session) in [(&mut real, ids[0], 11), (&mut ours, ids[1], 22)] {
        names.set_topic("t", topic);
        names.set_session("s", session);
    }
    let side = |topic, session| {
        let mut answer = answer(Bytes::new());
        answer.responses[0].topic_id = topic;
        answer.session_id = session;
        answer
    };
    let real_fields = fields(&side(ids[0], 11), &real);
    let right = real_fields.differences(&fields(&side(ids[1], 22), &ours));
    ensure!(right.is_empty(), "the same by other ids: {right:?}");
    for (topic, session) in [(Uuid::nil(), 22), (ids[0], 22), (ids[1], 0), (ids[1], 11)] {
        let wrong = real_fields.differences(&fields(&side(topic, session), &ours));
        ensure!(
            wrong.len() == 1,
            "{topic} and {session} are wrong: {wrong:?}"
        );
    }
    Ok(())
}

fn records_are_compared_byte_by_byte() -> Result<()> {
    let changed = |batch: &Bytes, at: usize| {
        let mut bytes = batch.to_vec();
        bytes[at] ^= 1;
        Bytes::from(bytes)
    };
    let differ = |real: &Bytes, ours: &Bytes| {
        !differing(&answer(real.clone()), &answer(ours.clone())).is_empty()
    };
    let batch = BatchBuilder::new().record("value");
    let by_producer = batch.build();
    for at in [CRC, MAX_TIMESTAMP, RECORD, by_producer.len() - 1] {
        ensure!(
            differ(&by_producer, &changed(&by_producer, at)),
            "byte {at} is overlooked"
        );
    }
    let cut = by_producer.slice(..by_producer.len() - 3);
    ensure!(
        differ(&cut, &changed(&cut, RECORD)),
        "a byte of a cut batch is overlooked"
    );
    ensure!(differ(&by_producer, &cut), "a cut is overlooked");
    // the broker's clock is in these bytes, and in no others
    let by_broker = batch.log_append_time(5).build();
    for (at, counts) in [(CRC, false), (MAX_TIMESTAMP, true), (RECORD, true)] {
        let found = differ(&by_broker, &changed(&by_broker, at));
        ensure!(found == counts, "byte {at} of a batch of LogAppendTime");
    }
    Ok(())
}

fn known_differences_have_to_occur() -> Result<()> {
    let field = |path: &str, value: &str| {
        let mut fields = Fields::default();
        fields.push(path, value);
        fields
    };
    let seven = field("responses[3].high_watermark", "7");
    let eight = field("responses[3].high_watermark", "8");
    let verdict = |known: &'static [Known], case: &str, version, real: &Fields, ours: &Fields| {
        let mut report = Report::new("checks", known, false);
        report.add(ApiKey::Fetch, case, version, real, ours);
        report.verdict()
    };
    ensure!(
        verdict(&ONE_KNOWN, "a case", 3, &seven, &eight).is_ok(),
        "it is known"
    );
    ensure!(
        verdict(&[], "a case", 3, &seven, &seven).is_ok(),
        "nothing differs"
    );
    for (what, result) in [
        ("the case", verdict(&ONE_KNOWN, "b case", 3, &seven, &eight)),
        (
            "the version",
            verdict(&ONE_KNOWN, "a case", 5, &seven, &eight),
        ),
        (
            "the value",
            verdict(&ONE_KNOWN, "a case", 3, &eight, &seven),
        ),
        (
            "the field",
            verdict(&ONE_KNOWN, "a case", 3, &field("x", "7"), &field("x", "8")),
        ),
        (
            "nothing, and that is wrong",
            verdict(&ONE_KNOWN, "a case", 3, &seven, &seven),
        ),
        (
            "one of two",
            verdict(&TWO_KNOWN, "a case", 3, &seven, &eight),
        ),
        (
            "what is not known",
            verdict(&[], "a case", 3, &seven, &eight),
        ),
    ] {
        ensure!(result.is_err(), "{what} is not as known, but passes");
    }
    Ok(())
}
