use super::schema::{Field, Kind, Schema};
use super::{
    CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION, MAX_UNKNOWN_TAGS, METADATA,
    response, skim, skim_prefix,
};
use crate::wire::malformed::{Malformed, Problem};
use kafka_protocol::messages::ApiKey;

/// The layouts that `kafka-clients` 4.4.0 has of these messages, printed from its `SCHEMAS`: name, first version, fields with
/// their sizes. `?` is nullable, `n#` a tag.
const JAVA: &str = include_str!("schemas.txt");

fn schemas() -> Vec<&'static Schema> {
    let mut schemas: Vec<_> = (0..=i16::MAX)
        .filter_map(|key| ApiKey::try_from(key).ok())
        .filter_map(response)
        .collect();
    schemas.extend([
        &CONSUMER_PROTOCOL_SUBSCRIPTION,
        &CONSUMER_PROTOCOL_ASSIGNMENT,
    ]);
    schemas
}

fn kind(kind: &Kind, version: i16, flexible: bool) -> String {
    match kind {
        Kind::Fixed(size) => size.to_string(),
        Kind::String => "string".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Array(entry) => format!("[{}]", self::kind(entry, version, flexible)),
        Kind::Struct(fields) => structure(fields, version, flexible),
    }
}

fn structure(fields: &[Field], version: i16, flexible: bool) -> String {
    let text = |field: &Field| {
        let null = if field.is_nullable_in(version) {
            "?"
        } else {
            ""
        };
        let tag = field.tag.map_or(String::new(), |tag| format!("{tag}#"));
        let kind = kind(&field.kind, version, flexible);
        format!("{tag}{}:{null}{kind}", field.name)
    };
    let there = |field: &&Field| field.is_in(version) && (flexible || field.tag.is_none());
    let mut all: Vec<_> = fields.iter().filter(there).map(text).collect();
    if flexible {
        all.push("tags".into());
    }
    format!("{{{}}}", all.join(","))
}

#[test]
fn the_tables_are_those_of_the_java_client() {
    let schemas = schemas();
    let java: Vec<(&str, i16, &str)> = JAVA
        .lines()
        .map(|line| {
            let mut words = line.splitn(3, ' ');
            let mut word = || words.next().expect("three words");
            (word(), word().parse().expect("a version"), word())
        })
        .collect();
    for schema in &schemas {
        let of_name = || java.iter().filter(|(name, ..)| *name == schema.name);
        let (first, last) = schema.versions;
        assert_eq!(
            of_name().map(|(_, since, _)| *since).min(),
            Some(first),
            "{}",
            schema.name
        );
        for version in first..=last {
            let java = of_name().rfind(|(_, since, _)| *since <= version);
            let ours = structure(schema.fields, version, schema.is_flexible(version));
            assert_eq!(
                Some(ours.as_str()),
                java.map(|(.., layout)| *layout),
                "{} v{version}",
                schema.name
            );
        }
    }
    assert!(
        java.iter()
            .all(|(name, ..)| schemas.iter().any(|schema| schema.name == *name))
    );
}

fn fault(version: i16, body: &[u8]) -> Malformed {
    skim(&METADATA, version, body).expect_err("malformed")
}

#[test]
fn a_fault_names_message_version_position_and_claim() {
    // v9: throttle time, then 2^28 - 1 brokers
    let error = fault(9, &[0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 1, 7]);
    assert_eq!(
        error.to_string(),
        "MetadataResponse v9, byte 4, brokers: claims 268435455 entries of at least 11 bytes each, 1 bytes are left",
    );
    let error = fault(0, &[0, 0, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 1, 2, 3, 4]);
    assert_eq!(
        error.to_string(),
        "MetadataResponse v0, byte 8, host: claims 32767 bytes, 4 are left"
    );
    assert_eq!(fault(0, &[0xff; 4]).problem, Problem::Null);
    assert_eq!(
        fault(0, &[0xff, 0xff, 0xff, 0xfe]).problem,
        Problem::Negative { claimed: -2 }
    );
    assert_eq!(
        fault(0, &[0, 0]).problem,
        Problem::Ended { needed: 4, left: 2 }
    );
    assert_eq!(fault(14, &[]).problem, Problem::Version);
    assert_eq!(
        fault(9, &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x10]).problem,
        Problem::Varint
    );
    assert_eq!(
        fault(0, &[0, 0, 0, 0, 0, 0, 0, 0, 1]).problem,
        Problem::Trailing { left: 1 }
    );
}

#[test]
fn a_known_tagged_field_fills_its_size() {
    let api_versions = response(ApiKey::ApiVersions).expect("a table");
    let body = |size: u8, content: &[u8]| {
        let mut body = vec![0, 0, 1, 0, 0, 0, 0, 1, 1, size];
        body.extend_from_slice(content);
        skim(api_versions, 3, &body).map_err(|error| error.problem)
    };
    assert_eq!(body(8, &[0; 8]), Ok(()));
    assert_eq!(
        body(9, &[0; 9]),
        Err(Problem::TagSize {
            claimed: 9,
            used: 8
        })
    );
    assert_eq!(body(7, &[0; 8]), Err(Problem::Ended { needed: 8, left: 7 }));
}

#[test]
fn unknown_tagged_fields_are_counted() {
    // a response of nothing but tagged fields: tag 9 of size 0 each
    let tagged = |count: u32| {
        let mut body = vec![0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let mut rest = count;
        while rest >= 0x80 {
            body.push(rest.to_le_bytes()[0] | 0x80);
            rest >>= 7;
        }
        body.push(rest.to_le_bytes()[0]);
        body.extend([9, 0].repeat(count as usize));
        skim(&METADATA, 10, &body).map_err(|error| error.problem)
    };
    assert_eq!(tagged(1000), Ok(()));
    assert_eq!(tagged(MAX_UNKNOWN_TAGS), Ok(()));
    let limit = MAX_UNKNOWN_TAGS;
    assert_eq!(
        tagged(MAX_UNKNOWN_TAGS + 1),
        Err(Problem::UnknownTags { limit })
    );
}

#[test]
fn a_nullable_structure_is_there_or_null() {
    let heartbeat = response(ApiKey::ConsumerGroupHeartbeat).expect("a table");
    let with = |assignment: &[u8]| {
        let mut body = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1];
        body.extend_from_slice(assignment);
        body.push(0);
        skim(heartbeat, 0, &body).map_err(|error| error.problem)
    };
    assert_eq!(with(&[0xff]), Ok(()));
    assert_eq!(with(&[1, 1, 0]), Ok(()));
    assert_eq!(with(&[0]), Err(Problem::Presence { claimed: 0 }));
}

#[test]
fn a_newer_subscription_may_be_longer_than_we_know() {
    let newer = [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3];
    let schema = &CONSUMER_PROTOCOL_SUBSCRIPTION;
    assert_eq!(skim_prefix(schema, 0, &newer), Ok(8));
    assert_eq!(
        skim(schema, 0, &newer).map_err(|error| error.problem),
        Err(Problem::Trailing { left: 3 })
    );
    let huge = [0x7f, 0xff, 0xff, 0xff, 0, 0];
    assert!(matches!(
        skim_prefix(schema, 0, &huge).map_err(|error| error.problem),
        Err(Problem::Count {
            claimed: 0x7fff_ffff,
            least: 2,
            left: 2
        })
    ));
}
