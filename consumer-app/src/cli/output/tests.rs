//! What is printed, and when.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::separator::SeparatorError;
use super::*;

type Header<'a> = (&'a [u8], Option<&'a [u8]>);

fn record<'a>(
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
    headers: &'a [Header<'a>],
) -> RecordView<'a, Vec<Header<'a>>> {
    RecordView {
        topic: "orders",
        partition: 3,
        offset: 42,
        timestamp: 1_700_000_000_000,
        key,
        value,
        headers: headers.to_vec(),
    }
}

fn of_value(value: Option<&[u8]>) -> RecordView<'_, Vec<Header<'_>>> {
    record(None, value, &[])
}

fn print<'a>(
    format: OutputFormat,
    layout: TextLayout,
    records: Vec<RecordView<'a, Vec<Header<'a>>>>,
) -> Vec<u8> {
    let mut output = Vec::new();
    let mut writer = RecordWriter::new(&mut output, format, layout);
    for record in records {
        assert_eq!(writer.write(record).unwrap(), Reader::Listening);
    }
    assert_eq!(writer.finish().unwrap(), Reader::Listening);
    output
}

fn text(records: Vec<RecordView<'_, Vec<Header<'_>>>>) -> String {
    String::from_utf8(print(OutputFormat::Text, TextLayout::default(), records)).unwrap()
}

fn json_lines(records: Vec<RecordView<'_, Vec<Header<'_>>>>) -> Vec<Value> {
    let printed =
        String::from_utf8(print(OutputFormat::Json, TextLayout::default(), records)).unwrap();
    assert!(printed.ends_with('\n'));
    printed
        .split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// What a reader of the JSON gets back for a key, a value, or a header's name or value.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) => {
            assert_eq!(object.len(), 1);
            Some(STANDARD.decode(object["base64"].as_str().unwrap()).unwrap())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn json_is_one_object_a_line_with_the_fields_in_order() {
    let headers: [Header<'_>; 1] = [(b"h", Some(b"x"))];
    let printed = print(
        OutputFormat::Json,
        TextLayout::default(),
        vec![record(Some(b"k"), Some(b"v"), &headers)],
    );
    assert_eq!(
        String::from_utf8(printed).unwrap(),
        "{\"topic\":\"orders\",\"partition\":3,\"offset\":42,\"timestamp\":1700000000000,\"key\":\"k\",\"value\":\"v\",\
         \"headers\":[{\"key\":\"h\",\"value\":\"x\"}]}\n"
    );
}

#[test]
fn f053_headers_keep_order_repetition_null_and_empty() {
    // the record of the vector HEADERS: key null, value empty
    let headers: [Header<'_>; 3] = [(b"h", None), (b"h", Some(b"")), (b"h", Some(b"x"))];
    let lines = json_lines(vec![
        record(None, Some(b""), &headers),
        record(Some(b"k"), None, &[]),
    ]);
    assert_eq!(
        lines[0]["headers"],
        json!([{"key": "h", "value": null}, {"key": "h", "value": ""}, {"key": "h", "value": "x"}])
    );
    assert_eq!(
        (&lines[0]["key"], &lines[0]["value"]),
        (&Value::Null, &json!(""))
    );
    // and of TOMBSTONE
    assert_eq!(
        (&lines[1]["value"], &lines[1]["headers"]),
        (&Value::Null, &json!([]))
    );
}

#[test]
fn f053_header_names_and_values_that_are_no_text_survive() {
    let headers: [Header<'_>; 2] = [(b"\xff", Some(b"\x80\x81")), (b"", Some(b"\x00"))];
    let lines = json_lines(vec![record(None, None, &headers)]);
    let read: Vec<_> = lines[0]["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|header| {
            (
                bytes_of(&header["key"]).unwrap(),
                bytes_of(&header["value"]),
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            (vec![0xff], Some(vec![0x80, 0x81])),
            (vec![], Some(vec![0]))
        ]
    );
}

#[test]
fn f071_a_missing_timestamp_is_null_and_others_are_as_stored() {
    let cases = [
        (-1, Value::Null),
        (0, json!(0)),
        (-5, json!(-5)),
        (i64::MAX, json!(i64::MAX)),
        (i64::MIN, json!(i64::MIN)),
    ];
    for (timestamp, expected) in cases {
        let lines = json_lines(vec![RecordView {
            timestamp,
            ..of_value(None)
        }]);
        assert_eq!(lines[0]["timestamp"], expected);
    }
}

#[test]
fn f075_every_value_key_and_header_is_valid_json_and_reads_back() {
    let large = vec![b'x'; 1 << 20];
    let large_binary = vec![0xfe; 1 << 20];
    let all_bytes: Vec<u8> = (0..=255).collect();
    let cases: Vec<Option<&[u8]>> = vec![
        None,
        Some(b""),
        Some(b"\n"),
        Some(b"\r\n\x00\x1f\x7f\"\\/"),
        Some(b"\xff\xfe"),
        Some(b"\xed\xa0\x80"),
        Some(b"\xed\xb0\x80x"),
        Some("é中😀\u{2028}\u{85}\u{feff}".as_bytes()),
        Some(b"{\"base64\":\"AA==\"}"),
        Some(b"null"),
        Some(b"\xf0\x9f\x98"),
        Some(&all_bytes),
        Some(&large),
        Some(&large_binary),
    ];
    for bytes in cases {
        let headers: [Header<'_>; 1] = [(bytes.unwrap_or(b"name"), bytes)];
        let lines = json_lines(vec![record(bytes, bytes, &headers)]);
        assert_eq!(lines.len(), 1);
        let header = &lines[0]["headers"][0];
        for read in [&lines[0]["key"], &lines[0]["value"], &header["value"]] {
            assert_eq!(bytes_of(read).as_deref(), bytes);
        }
        assert_eq!(
            bytes_of(&header["key"]).as_deref(),
            Some(bytes.unwrap_or(b"name"))
        );
    }
}

#[test]
fn f075_text_has_separators_to_choose() {
    let layout = |key: Option<&str>, record: &str| TextLayout {
        key_separator: key.map(|separator| separator.parse().unwrap()),
        record_separator: record.parse().unwrap(),
    };
    let records = || {
        vec![
            record(Some(b"k"), Some(b"a\nb"), &[]),
            record(None, None, &[]),
            record(Some(b""), Some(b""), &[]),
        ]
    };
    assert_eq!(
        print(OutputFormat::Text, layout(Some("\\t"), "\\n"), records()),
        b"k\ta\nb\nnull\tnull\n\t\n"
    );
    assert_eq!(
        print(OutputFormat::Text, layout(None, "\\0"), records()),
        b"a\nb\0null\0\0"
    );
    assert_eq!(
        print(OutputFormat::Text, layout(Some(": "), ""), records()),
        b"k: a\nbnull: null: "
    );
}

#[test]
fn f076_text_is_the_values_and_nothing_else() {
    let printed = print(
        OutputFormat::Text,
        TextLayout::default(),
        vec![of_value(Some(b"\xff\x00")), of_value(Some(b"x"))],
    );
    assert_eq!(printed, b"\xff\x00\nx\n");
    assert_eq!(text(vec![]), "");
    assert_eq!(
        print(OutputFormat::Json, TextLayout::default(), vec![]),
        b""
    );
}

#[test]
fn f076_count_prints_one_number_at_the_end() {
    let records = || vec![of_value(Some(b"x")); 1234];
    assert_eq!(
        print(OutputFormat::Count, TextLayout::default(), records()),
        b"1234\n"
    );
    assert_eq!(
        print(OutputFormat::Count, TextLayout::default(), vec![]),
        b"0\n"
    );

    let mut output = Vec::new();
    let mut writer = RecordWriter::new(&mut output, OutputFormat::Count, TextLayout::default());
    assert_eq!(writer.write(of_value(None)).unwrap(), Reader::Listening);
    assert_eq!(writer.polled(start()).unwrap(), Reader::Listening);
    assert_eq!(writer.records(), 1);
    drop(writer);
    assert_eq!(output, b"");
}

#[test]
fn separators_are_read_with_their_escapes() {
    let read = |text: &str| {
        text.parse::<Separator>()
            .map(|separator| separator.as_bytes().to_vec())
    };
    assert_eq!(
        read("\\n\\r\\t\\0\\\\\\x7C,é").unwrap(),
        "\n\r\t\0\\|,é".as_bytes()
    );
    assert_eq!(read("").unwrap(), b"");
    for refused in ["\\", "\\q", "\\x", "\\x1", "\\xg0", "a\\", "\\x+1", "\\é"] {
        assert_eq!(read(refused), Err(SeparatorError), "{refused}");
    }
}

/// An output that remembers what was written and when it was flushed, and can be closed at its other end or fail.
#[derive(Default)]
struct Probe {
    written: Vec<u8>,
    writes: usize,
    flushed: usize,
    fails_with: Option<io::ErrorKind>,
    fails_flush_only: bool,
}

impl Write for &mut Probe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(kind) = self.fails_with.filter(|_| !self.fails_flush_only) {
            return Err(kind.into());
        }
        self.writes += 1;
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(kind) = self.fails_with {
            return Err(kind.into());
        }
        self.flushed = self.written.len();
        Ok(())
    }
}

/// Runs a writer of text over a probe.
fn with_probe(probe: &mut Probe, run: impl FnOnce(&mut RecordWriter<&mut Probe>)) {
    let mut writer = RecordWriter::new(probe, OutputFormat::Text, TextLayout::default());
    run(&mut writer);
}

/// Some time; what counts is what passes after it.
fn start() -> Instant {
    tokio::time::Instant::now().into_std()
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn f074_an_idle_poll_writes_out_what_waits() {
    let mut probe = Probe::default();
    let start = start();
    with_probe(&mut probe, |writer| {
        assert_eq!(writer.poll_timeout(start, ms(500)), ms(500));
        let _ = writer.write(of_value(Some(b"one"))).unwrap();
        let _ = writer.polled(start).unwrap();
        assert_eq!(writer.poll_timeout(start, ms(500)), LONGEST_WAIT);
        assert_eq!(writer.poll_timeout(start + ms(70), ms(500)), ms(30));
        assert_eq!(
            writer.poll_timeout(start + ms(170), ms(500)),
            Duration::ZERO
        );
        assert_eq!(writer.poll_timeout(start, ms(5)), ms(5));
    });
    assert_eq!(
        (probe.writes, probe.flushed),
        (0, 0),
        "more may come at once"
    );
    with_probe(&mut probe, |writer| {
        let _ = writer.write(of_value(Some(b"one"))).unwrap();
        let _ = writer.polled(start).unwrap();
        let _ = writer.polled(start + ms(1)).unwrap();
        assert_eq!(writer.poll_timeout(start, ms(500)), ms(500));
    });
    assert_eq!(
        (probe.written.as_slice(), probe.flushed),
        (b"one\n".as_slice(), 4)
    );
}

#[test]
fn f074_a_steady_trickle_is_written_out_after_the_longest_wait() {
    let mut probe = Probe::default();
    let start = start();
    with_probe(&mut probe, |writer| {
        for step in 0..=20 {
            let _ = writer.write(of_value(Some(b"x"))).unwrap();
            let _ = writer.polled(start + ms(10) * step).unwrap();
        }
    });
    // those up to 100 ms after the first; the next 100 ms begin with the one after these
    assert_eq!((probe.writes, probe.flushed), (1, 22));
}

#[test]
fn f074_what_was_written_in_a_piece_does_not_stay_in_the_output() {
    let mut probe = Probe::default();
    let large = vec![b'x'; 100_000];
    with_probe(&mut probe, |writer| {
        let _ = writer.write(of_value(Some(&large))).unwrap();
        let _ = writer.polled(start()).unwrap();
        let _ = writer.polled(start()).unwrap();
    });
    assert_eq!((probe.writes, probe.flushed), (1, 100_001));
}

#[test]
fn f074_the_end_writes_out_everything() {
    let mut probe = Probe::default();
    let mut writer = RecordWriter::new(&mut probe, OutputFormat::Text, TextLayout::default());
    let _ = writer.write(of_value(Some(b"last"))).unwrap();
    assert_eq!(writer.finish().unwrap(), Reader::Listening);
    assert_eq!(
        (probe.written.as_slice(), probe.flushed),
        (b"last\n".as_slice(), 5)
    );
}

#[test]
fn f074_many_records_are_written_in_large_pieces() {
    let mut probe = Probe::default();
    with_probe(&mut probe, |writer| {
        for _ in 0..100_000 {
            let _ = writer.write(of_value(Some(b"123456789"))).unwrap();
        }
        let _ = writer.polled(start()).unwrap();
        let _ = writer.polled(start()).unwrap();
    });
    assert_eq!((probe.written.len(), probe.flushed), (1_000_000, 1_000_000));
    assert_eq!(probe.writes, 1_000_000 / (64 * 1024) + 1);
    assert!(probe.written.chunks(10).all(|line| line == b"123456789\n"));
}

#[test]
fn f074_a_closed_pipe_ends_quietly() {
    for fails_flush_only in [false, true] {
        let mut probe = Probe {
            fails_with: Some(io::ErrorKind::BrokenPipe),
            fails_flush_only,
            ..Probe::default()
        };
        let mut writer = RecordWriter::new(&mut probe, OutputFormat::Text, TextLayout::default());
        assert_eq!(
            writer.write(of_value(Some(b"x"))).unwrap(),
            Reader::Listening,
            "not known yet"
        );
        let now = start();
        let _ = writer.polled(now).unwrap();
        assert_eq!(writer.polled(now).unwrap(), Reader::Gone);
        assert_eq!(writer.write(of_value(Some(b"x"))).unwrap(), Reader::Gone);
        assert_eq!(writer.polled(now).unwrap(), Reader::Gone);
        assert_eq!(writer.poll_timeout(now, ms(500)), ms(500));
        assert_eq!(writer.finish().unwrap(), Reader::Gone);
    }
    let mut probe = Probe {
        fails_with: Some(io::ErrorKind::BrokenPipe),
        ..Probe::default()
    };
    with_probe(&mut probe, |writer| {
        let large = vec![b'x'; 100_000];
        assert_eq!(writer.write(of_value(Some(&large))).unwrap(), Reader::Gone);
    });
    assert_eq!(probe.written, b"");
}

#[test]
fn f074_a_pipe_of_the_system_that_nobody_reads_ends_quietly() {
    let (reader, pipe) = io::pipe().unwrap();
    let mut writer = RecordWriter::new(pipe, OutputFormat::Json, TextLayout::default());
    let _ = writer.write(of_value(Some(b"x"))).unwrap();
    drop(reader);
    assert_eq!(writer.finish().unwrap(), Reader::Gone);
}

#[test]
fn another_failure_of_the_output_is_an_error() {
    let mut probe = Probe {
        fails_with: Some(io::ErrorKind::StorageFull),
        ..Probe::default()
    };
    let mut writer = RecordWriter::new(&mut probe, OutputFormat::Json, TextLayout::default());
    let _ = writer.write(of_value(Some(b"x"))).unwrap();
    assert_eq!(
        writer.finish().unwrap_err().kind(),
        io::ErrorKind::StorageFull
    );
}

#[test]
fn memory_is_reused_from_record_to_record() {
    let mut sink = Sink::new(io::sink());
    let capacity = sink.buffer().capacity();
    for _ in 0..10_000 {
        json::append(of_value(Some(b"some value \xff")), sink.buffer()).unwrap();
        assert_eq!(sink.appended().unwrap(), Reader::Listening);
    }
    assert_eq!(sink.buffer().capacity(), capacity);
}

proptest! {
    #[test]
    fn f075_whatever_is_in_a_record_reads_back(
        topic in "[a-z\\PC]{1,20}", partition: i32, offset: i64, timestamp: i64,
        key: Option<Vec<u8>>, value: Option<Vec<u8>>, headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    ) {
        let headers_view: Vec<Header<'_>> = headers.iter().map(|(name, value)| (name.as_slice(), value.as_deref())).collect();
        let view = RecordView {
            topic: &topic, partition, offset, timestamp, key: key.as_deref(), value: value.as_deref(), headers: headers_view,
        };
        let lines = json_lines(vec![view]);
        prop_assert_eq!(lines.len(), 1);
        let line = &lines[0];
        prop_assert_eq!(line["topic"].as_str(), Some(topic.as_str()));
        prop_assert_eq!(line["partition"].as_i64(), Some(i64::from(partition)));
        prop_assert_eq!(line["offset"].as_i64(), Some(offset));
        prop_assert_eq!(line["timestamp"].as_i64(), Some(timestamp).filter(|timestamp| *timestamp != -1));
        prop_assert_eq!(bytes_of(&line["key"]), key);
        prop_assert_eq!(bytes_of(&line["value"]), value);
        let read: Vec<_> = line["headers"].as_array().unwrap().iter()
            .map(|header| (bytes_of(&header["key"]).unwrap(), bytes_of(&header["value"]))).collect();
        prop_assert_eq!(read, headers);
    }
}
