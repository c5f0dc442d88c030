//! What `--from` takes.

use super::*;

fn read(text: &str) -> Result<StartFrom, StartFromError> {
    text.parse()
}

#[test]
fn words_and_offsets() {
    assert_eq!(read("beginning"), Ok(StartFrom::Beginning));
    assert_eq!(read("latest"), Ok(StartFrom::Latest));
    assert_eq!(read("0"), Ok(StartFrom::Offset(0)));
    assert_eq!(read("9223372036854775807"), Ok(StartFrom::Offset(i64::MAX)));
    for text in [
        "-1",
        "-5",
        "9223372036854775808",
        "99999999999999999999999999",
    ] {
        assert_eq!(read(text), Err(StartFromError::NoOffset), "{text}");
    }
    for text in [
        "",
        " ",
        "earliest",
        "end",
        "Beginning",
        "1.5",
        "1e3",
        "0x10",
        "12:00",
        "yesterday",
        "@1700000000",
        "-",
        "PT1H",
        "1 ",
        "１",
    ] {
        assert_eq!(read(text), Err(StartFromError::Unknown), "{text}");
    }
}

#[test]
fn f072_times_are_milliseconds_in_utc() {
    // the milliseconds are those of date(1), GNU coreutils
    let cases = [
        ("1970-01-01T00:00:00Z", 0),
        ("2023-11-14T22:13:20Z", 1_700_000_000_000),
        ("2023-11-14T22:13:20.123Z", 1_700_000_000_123),
        ("2023-11-15T00:13:20+02:00", 1_700_000_000_000),
        ("2023-11-14T17:13:20-05:00", 1_700_000_000_000),
        ("2023-11-14 22:13:20z", 1_700_000_000_000),
        ("2024-02-29T12:00:00Z", 1_709_208_000_000),
        ("9999-12-30T00:00:00Z", 253_402_128_000_000),
    ];
    for (text, millis) in cases {
        assert_eq!(read(text), Ok(StartFrom::Time(millis)), "{text}");
    }
}

#[test]
fn f072_a_time_within_a_millisecond_is_that_of_the_next() {
    // the first record whose time is not before it, and records have whole milliseconds
    assert_eq!(
        read("2023-11-14T22:13:20.123000001Z"),
        Ok(StartFrom::Time(1_700_000_000_124))
    );
    assert_eq!(
        read("2023-11-14T22:13:20.999999999Z"),
        Ok(StartFrom::Time(1_700_000_001_000))
    );
    assert_eq!(
        read("2023-11-14T22:13:20.123000000Z"),
        Ok(StartFrom::Time(1_700_000_000_123))
    );
}

#[test]
fn f072_a_time_without_a_zone_is_refused_with_what_to_write() {
    for text in ["2023-11-14T22:13:20", "2023-11-14 22:13:20"] {
        assert_eq!(
            read(text).unwrap_err().to_string(),
            "the time has no zone: write 2023-11-14T22:13:20Z, or with an offset like +02:00"
        );
    }
    let message = read("2023-11-14").unwrap_err().to_string();
    assert!(message.contains("write 2023-11-14T00:00:00Z"), "{message}");
}

#[test]
fn f072_what_no_broker_looks_up_is_refused() {
    // -1 and -2 would be the end and the beginning
    for text in [
        "1969-12-31T23:59:59.999Z",
        "1969-12-31T23:59:59.998Z",
        "0001-01-01T00:00:00Z",
    ] {
        assert_eq!(read(text), Err(StartFromError::BeforeEpoch), "{text}");
    }
    for text in [
        "2023-02-29T00:00:00Z",
        "2023-13-01T00:00:00Z",
        "2023-11-14T25:00:00Z",
        "12023-11-14T22:13:20Z",
    ] {
        assert_eq!(read(text), Err(StartFromError::Unknown), "{text}");
    }
}

#[test]
fn f072_a_number_that_looks_like_a_time_says_how_it_was_read() {
    let seconds = StartFrom::Offset(1_700_000_000).note().unwrap();
    assert_eq!(
        seconds,
        "1700000000 is taken for an offset; if it is meant as seconds since 1970, write 2023-11-14T22:13:20Z"
    );
    let millis = StartFrom::Offset(1_700_000_000_123).note().unwrap();
    assert!(
        millis.contains("milliseconds") && millis.ends_with("write 2023-11-14T22:13:20.123Z"),
        "{millis}"
    );
    for offset in [
        0,
        999_999_999,
        4_102_444_800,
        999_999_999_999,
        4_102_444_800_000,
        i64::MAX,
    ] {
        assert_eq!(StartFrom::Offset(offset).note(), None, "{offset}");
    }
    for other in [
        StartFrom::Beginning,
        StartFrom::Latest,
        StartFrom::Time(1_700_000_000_000),
    ] {
        assert_eq!(other.note(), None);
    }
}

#[test]
fn what_is_shown_reads_back() {
    for text in ["beginning", "latest", "42", "2023-11-14T22:13:20.123Z"] {
        assert_eq!(read(text).unwrap().to_string(), text);
    }
}
