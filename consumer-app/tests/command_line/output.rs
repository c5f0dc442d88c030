//! What is printed of records, to whom, and when.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use test_broker::{ApiKey, BatchBuilder, ProducerRecord, TestBroker};

use crate::broker::Broker;
use crate::process::{Program, run};

/// The words of `consume` for topic `t` from its beginning.
fn consume<'a>(broker: &'a Broker, more: &[&'a str]) -> Vec<&'a str> {
    let words = [
        "consume",
        "-b",
        &broker.address,
        "-t",
        "t",
        "--from",
        "beginning",
    ];
    [words.as_slice(), more].concat()
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone().into_bytes()),
        Value::Object(object) => {
            let base64 = object["base64"].as_str().expect("a string");
            Some(STANDARD.decode(base64).expect("base64"))
        }
        other => panic!("{other}"),
    }
}

#[test]
fn f074_each_record_is_printed_before_the_next_one_is_there() {
    let broker = Broker::with_topic("t", 1);
    let program = Program::start(&consume(&broker, &[]));
    for record in 0..5 {
        broker
            .produce("t", 0, [format!("record {record}")])
            .unwrap();
        let lines = program.wait_for_lines(record + 1);
        assert_eq!(lines.last().unwrap(), &format!("record {record}"));
    }
}

#[test]
fn f074_ends_quietly_when_its_reader_has_enough() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 1);
    // first with nothing more to print ever, then with a lot
    for more in [0, 200_000] {
        if more > 0 {
            broker.fill("t", 0, more);
        }
        for output in ["text", "json"] {
            let words = consume(&broker, &["--output", output]);
            let (program, stdout) = Program::start_unread(&words, &[]);
            let mut first = String::new();
            BufReader::with_capacity(16, stdout)
                .read_line(&mut first)
                .unwrap();
            assert!(first.ends_with('\n'));
            let ended = program.ended();
            assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
            broker.wait_for_no_connection();
        }
    }
}

#[test]
fn f074_a_pipe_of_a_shell_ends_with_its_last_program() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 3);
    let program = env!("CARGO_BIN_EXE_consumer-app");
    let words = consume(&broker, &[]).join(" ");
    let line = format!("{{ timeout 60 '{program}' {words}; echo ended $? >&2; }} | head -1");
    let output = Command::new("sh").args(["-c", &line]).output().unwrap();
    assert_eq!(output.stdout, b"0\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "ended 0\n");
}

#[test]
fn f074_an_interrupt_loses_nothing_that_was_taken() {
    let broker = Broker::with_topic("t", 1);
    let program = Program::start(&consume(&broker, &[]));
    for batch in 0..20 {
        broker.fill("t", 0, 1000);
        // it has asked for what follows: the records are there
        let next = (batch + 1) * 1000;
        broker.wait_for_request(|request| {
            let fetch = request.fetch().filter(|_| request.api_key == ApiKey::Fetch);
            fetch.is_some_and(|fetch| fetch.partitions.iter().any(|p| p.fetch_offset == next))
        });
    }
    program.wait_for_lines(1000);
    program.signal(Signal::SIGINT);
    let ended = program.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for (index, line) in ended.lines().iter().enumerate() {
        assert_eq!(*line, (index % 1000).to_string(), "line {index}");
    }
}

#[test]
fn f075_whatever_is_in_a_record_is_a_line_of_json_that_reads_back() {
    let broker = Broker::start(TestBroker::builder());
    let large = vec![b'x'; 1 << 20];
    broker
        .create_topic_with("t", 1, [("max.message.bytes", "10000000")])
        .unwrap();
    let cases: Vec<Option<&[u8]>> = vec![
        None,
        Some(b""),
        Some(b"\n"),
        Some(b"\r\n\x00\"\\"),
        Some(b"\xff\xfe"),
        Some(b"\xed\xa0\x80"),
        Some("é中😀\u{2028}".as_bytes()),
        Some(b"null"),
        Some(&large),
    ];
    for case in &cases {
        let mut record = match case {
            Some(bytes) => ProducerRecord::new(*bytes).key(*bytes),
            None => ProducerRecord::default(),
        };
        record = match case {
            Some(bytes) => record.header(*bytes, *bytes),
            None => record.null_header("h"),
        };
        broker.produce("t", 0, [record]).unwrap();
    }
    let ended = run(&consume(&broker, &["-e", "--output", "json"]));
    let lines = ended.json();
    assert_eq!(lines.len(), cases.len());
    for (case, line) in cases.iter().zip(&lines) {
        let header = &line["headers"][0];
        for read in [&line["key"], &line["value"], &header["value"]] {
            assert_eq!(bytes_of(read).as_deref(), *case);
        }
        assert_eq!(
            bytes_of(&header["key"]).as_deref(),
            Some(case.unwrap_or(b"h"))
        );
    }
    ended.quiet();
}

#[test]
fn f053_headers_are_printed_in_order_with_their_repetitions_nulls_and_empties() {
    let broker = Broker::with_topic("t", 1);
    let record = ProducerRecord::new("")
        .null_header("h")
        .header("h", "")
        .header("h", "x")
        .timestamp(1_700_000_000_000);
    broker.produce("t", 0, [record]).unwrap();
    let line = run(&consume(&broker, &["-e", "--output", "json"])).quiet();
    assert_eq!(
        String::from_utf8(line).unwrap(),
        "{\"topic\":\"t\",\"partition\":0,\"offset\":0,\"timestamp\":1700000000000,\"key\":null,\"value\":\"\",\"headers\":[\
         {\"key\":\"h\",\"value\":null},{\"key\":\"h\",\"value\":\"\"},{\"key\":\"h\",\"value\":\"x\"}]}\n"
    );
}

#[test]
fn f071_a_record_without_a_time_has_none_in_the_output() {
    let broker = Broker::with_topic("t", 1);
    for (offset, time) in [(0, -1), (1, 0), (2, i64::MAX)] {
        let batch = BatchBuilder::new()
            .base_offset(offset)
            .timestamp(time)
            .record("v");
        broker.append_raw("t", 0, &batch.build()).unwrap();
    }
    let ended = run(&consume(&broker, &["-e", "--output", "json"]));
    let times: Vec<_> = ended
        .json()
        .iter()
        .map(|line| line["timestamp"].clone())
        .collect();
    assert_eq!(times, [Value::Null, json!(0), json!(i64::MAX)]);
}

#[test]
fn f075_text_has_separators_to_choose() {
    let broker = Broker::with_topic("t", 1);
    broker.produce("t", 0, [("k", "a\nb")]).unwrap();
    broker
        .produce("t", 0, [ProducerRecord::tombstone("dead")])
        .unwrap();
    broker.produce("t", 0, ["no key"]).unwrap();
    let printed = run(&consume(&broker, &["-e", "-K", "\\t", "-D", "\\0"])).quiet();
    assert_eq!(printed, b"k\ta\nb\0dead\tnull\0null\tno key\0");
}

#[test]
fn f076_stdout_is_the_records_and_nothing_else_however_much_is_logged() {
    let broker = Broker::with_topic("t", 1);
    let values: [&[u8]; 4] = [b"one", b"\xff\x00", b"", b"two\nlines"];
    for value in values {
        broker.produce("t", 0, [value]).unwrap();
    }
    for format in ["text", "json"] {
        let words = consume(&broker, &["-e", "--log-format", format]);
        let ended = Program::start_with(&words, &[("RUST_LOG", "debug")]).ended();
        assert_eq!(ended.code, Some(0));
        assert_eq!(ended.stdout, b"one\n\xff\x00\n\ntwo\nlines\n");
        assert!(ended.stderr.lines().count() > 3, "{}", ended.stderr);
        for line in ended.stderr.lines().filter(|_| format == "json") {
            let object: Value = serde_json::from_str(line).expect("JSON");
            assert!(object["level"].is_string(), "{line}");
        }
        let silent = Program::start_with(&words, &[("RUST_LOG", "off")]).ended();
        assert_eq!(silent.quiet(), ended.stdout);
    }
}

#[test]
fn f076_count_prints_a_number_and_max_records_is_exact() {
    let broker = Broker::with_topic("t", 3);
    for partition in 0..3 {
        broker.fill("t", partition, 1000);
    }
    let count = |more: &[&str]| {
        let words = [["--output", "count"].as_slice(), more].concat();
        String::from_utf8(run(&consume(&broker, &words)).quiet()).unwrap()
    };
    assert_eq!(count(&["-e"]), "3000\n");
    assert_eq!(count(&["-e", "-p", "1", "-p", "2", "-p", "1"]), "2000\n");
    assert_eq!(count(&["--max-records", "1234"]), "1234\n");
    assert_eq!(count(&["--max-records", "0"]), "0\n");
    assert_eq!(count(&["-e", "--max-records", "5000"]), "3000\n");
    assert_eq!(run(&consume(&broker, &["-c", "7"])).lines().len(), 7);
}

#[test]
fn f076_an_output_that_cannot_be_written_is_a_failure() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 10);
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("Linux has one");
    let mut child = Command::new(env!("CARGO_BIN_EXE_consumer-app"))
        .args(consume(&broker, &["-e"]))
        .env_remove("RUST_LOG")
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(said.contains("No space left"), "{said}");
}
