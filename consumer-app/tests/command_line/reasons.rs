//! Why nothing is printed, or the program failed.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use nix::sys::signal::Signal;
use test_broker::{ApiKey, Fault, ResponseError, TestBroker};

use crate::broker::Broker;
use crate::process::{Program, run};

/// A server that is no broker: answers the first bytes of each connection with these, or not at all.
fn server(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    thread::spawn(move || {
        // kept open: whoever calls waits
        let mut silent: Vec<TcpStream> = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let mut request = [0; 1024];
            if !answer.is_empty() && stream.read(&mut request).is_ok() {
                let _ = stream.write_all(answer);
            } else {
                silent.push(stream);
            }
        }
    });
    address
}

const HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
/// A fatal alert: what was read is no handshake.
const TLS_ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 22];

fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").to_string()
}

#[test]
fn f077_each_reason_for_silence_has_its_own_line_while_it_still_tries() {
    let broker = Broker::start(
        TestBroker::builder()
            .nodes(2)
            .topic("empty", 1)
            .topic("leaderless", 1)
            .topic("t", 2),
    );
    broker.remove_leader("leaderless", 0).unwrap();
    // node 2 leads partition 1 and answers nothing any more
    let led = broker.leader("t", 1).unwrap().0.unwrap();
    let other = 3 - led;
    let sound = broker
        .address
        .split(',')
        .nth(usize::try_from(other - 1).unwrap())
        .unwrap()
        .to_owned();
    broker.freeze_node(led).unwrap();
    let closed = closed_port();
    let mute = server(b"");
    let cases = [
        (closed.as_str(), "t", "Connection refused"),
        (&mute, "t", "did not complete"),
        ("no-such-host.invalid:9092", "t", "does not resolve"),
        (
            &sound,
            "empty",
            "waiting at the end: nothing newer in empty-0 at offset 0",
        ),
        (&sound, "leaderless", "LEADER_NOT_AVAILABLE"),
        (
            &sound,
            "t",
            "waiting: no leader has told the position of t-1",
        ),
    ];
    let programs: Vec<_> = cases
        .iter()
        .map(|&(server, topic, part)| {
            let words = ["consume", "-b", server, "-t", topic];
            (Program::start(&words), part)
        })
        .collect();
    let mut lines = BTreeSet::new();
    for (program, part) in programs {
        lines.insert(program.wait_for_word(part));
        // and it goes on: no end was asked for
        program.signal(Signal::SIGINT);
        let ended = program.ended();
        assert!(ended.stdout.is_empty());
        // a line or two, not one for each attempt
        assert!(ended.stderr.lines().count() <= 4, "{}", ended.stderr);
    }
    assert_eq!(lines.len(), cases.len(), "{lines:#?}");
}

#[test]
fn f077_what_waiting_does_not_help_ends_it_with_the_reason() {
    let broker = Broker::start(
        TestBroker::builder()
            .topic("secret", 1)
            .topic("t", 1)
            .auto_create_topics(true),
    );
    broker.inject(
        Fault::error(ResponseError::TopicAuthorizationFailed)
            .on(ApiKey::Fetch)
            .topic("secret"),
    );
    let http = server(HTTP);
    let tls = server(TLS_ALERT);
    let cases = [
        (http.as_str(), "t", "is an HTTP server, not a Kafka broker"),
        (&tls, "t", "speaks TLS on this port"),
        (
            &broker.address,
            "nowhere",
            "topic nowhere: UNKNOWN_TOPIC_OR_PARTITION",
        ),
        (
            &broker.address,
            "secret",
            "secret-0: not authorized to read the topic",
        ),
    ];
    let programs: Vec<_> = cases
        .iter()
        .map(|&(server, topic, part)| {
            let words = ["consume", "-b", server, "-t", topic];
            (Program::start(&words), part)
        })
        .collect();
    for (program, part) in programs {
        let ended = program.ended();
        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        let last = ended.stderr.lines().last().expect("a reason");
        assert!(
            last.starts_with("consumer-app: ") && last.contains(part),
            "{}",
            ended.stderr
        );
        assert!(ended.stdout.is_empty());
    }
    // the broker creates topics, and a mistyped name is none
    assert!(broker.offsets("nowhere", 0).is_err());
}

#[test]
fn f076_no_connection_is_a_failure_when_the_limit_has_passed() {
    let ended = run(&[
        "consume",
        "-b",
        &closed_port(),
        "-t",
        "t",
        "-X",
        "default.api.timeout.ms=300",
    ]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stdout.is_empty());
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("no broker can be used") && last.contains("Connection refused"),
        "{last}"
    );
}

#[test]
fn f077_many_servers_that_are_not_there_are_told_once_each() {
    let servers = [closed_port(), closed_port(), closed_port()].join(",");
    let words = [
        "consume",
        "-b",
        &servers,
        "-t",
        "t",
        "-X",
        "default.api.timeout.ms=2500",
    ];
    let ended = run(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        (2..=5).contains(&ended.stderr.lines().count()),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_partition_that_is_not_there_is_told_with_those_that_are() {
    let broker = Broker::with_topic("t", 3);
    let ended = run(&["consume", "-b", &broker.address, "-t", "t", "-p", "3"]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        ended.stderr,
        "consumer-app: topic t has no partition 3; it has 0 to 2\n"
    );
}

#[test]
fn an_offset_that_is_not_in_the_log_is_told_and_the_nearest_taken() {
    let broker = Broker::with_topic("t", 2);
    broker.fill("t", 0, 10);
    broker.fill("t", 1, 10);
    broker.delete_records("t", 0, 7).unwrap();
    let words = ["consume", "-b", &broker.address, "-t", "t"];
    let program = Program::start(&[words.as_slice(), &["--from", "5"]].concat());
    assert_eq!(
        program.wait_for_word("offset 5"),
        "consumer-app: t-0: offset 5 is not there any more; reading from its beginning, 7"
    );
    let mut lines = program.wait_for_lines(8);
    lines.sort_unstable();
    assert_eq!(lines, ["5", "6", "7", "7", "8", "8", "9", "9"]);

    let program = Program::start(&[words.as_slice(), &["-p", "1", "--from", "1000"]].concat());
    assert_eq!(
        program.wait_for_word("offset 1000"),
        "consumer-app: t-1: offset 1000 is not there yet; reading from its end, 10"
    );
    broker.produce("t", 1, ["new"]).unwrap();
    assert_eq!(program.wait_for_lines(1), ["new"]);
}

#[test]
fn a_batch_that_cannot_be_read_is_told_after_the_records_before_it() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 3);
    broker.fill("t", 0, 3);
    // a byte of the records of the second batch, which is fetched alone
    broker.inject(Fault::flip_records(70, 0xff));
    let words = ["consume", "-b", &broker.address, "-t", "t", "--from", "3"];
    let ended = run(&words);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("t-0: cannot read on at offset 3"),
        "{}",
        ended.stderr
    );
}
