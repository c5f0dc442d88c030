//! Settings from the command line and from files.

use crate::broker::Broker;
use crate::process::run;

#[test]
fn f078_servers_are_read_as_people_write_them() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 1);
    let (_, port) = broker.address.rsplit_once(':').unwrap();
    for servers in [
        broker.address.clone(),
        format!("{0}, {0}", broker.address),
        format!("PLAINTEXT://{}", broker.address),
        format!(" {} ,", broker.address),
        format!("localhost:{port}"),
    ] {
        let ended = run(&["consume", "--bootstrap-server", &servers, "-t", "t", "-e"]);
        assert_eq!(ended.quiet(), b"0\n", "{servers}");
    }
    // one that is bad is a warning
    for (servers, part) in [
        (
            format!("{}, broker:port", broker.address),
            "broker:port: the port is no number",
        ),
        (format!("[::1]:1,{}", broker.address), "[::1]:1"),
    ] {
        let ended = run(&["consume", "--bootstrap-server", &servers, "-t", "t", "-e"]);
        assert_eq!(
            (ended.code, ended.stdout.as_slice()),
            (Some(0), b"0\n".as_slice())
        );
        let quiet = ended.stderr.is_empty() && servers.starts_with("[::1]");
        assert!(
            quiet || ended.stderr.contains(part),
            "{servers}: {}",
            ended.stderr
        );
        assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
    }
    for servers in ["", ",", "broker:port", "broker", "broker:0"] {
        let ended = run(&["consume", "--bootstrap-server", servers, "-t", "t"]);
        assert_eq!(ended.code, Some(2), "{servers}");
        assert!(
            ended.stderr.contains("bootstrap.servers"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn settings_come_from_a_file_too() {
    let broker = Broker::with_topic("t", 1);
    broker.fill("t", 0, 10);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.properties");
    let text = format!("bootstrap.servers={}\nmax.poll.records=1\n", broker.address);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(
        run(&[
            "consume", "--config", path, "-t", "t", "-e", "--output", "count"
        ])
        .quiet(),
        b"10\n"
    );
    // the command line is stronger
    let ended = run(&[
        "consume",
        "--config",
        path,
        "-t",
        "t",
        "-b",
        "127.0.0.1:1",
        "-X",
        "default.api.timeout.ms=100",
    ]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("127.0.0.1:1"), "{}", ended.stderr);
}

#[test]
fn f076_wrong_usage_is_told_before_anything_is_done() {
    for (words, part) in [
        (vec!["consume", "-t", "t"], "bootstrap.servers: missing"),
        (vec!["consume", "-b", "a:1"], "--topic"),
        (
            vec![
                "consume",
                "-b",
                "a:1",
                "-t",
                "t",
                "-X",
                "fetch.min.bytes=-1",
            ],
            "fetch.min.bytes=\"-1\"",
        ),
        (
            vec!["consume", "-b", "a:1", "-t", "t", "-F", "/no/such.toml"],
            "/no/such.toml",
        ),
        (
            vec![
                "consume",
                "-b",
                "a:1",
                "-t",
                "t",
                "--from",
                "2026-01-31T12:00:00Z",
            ],
            "a time is not supported yet",
        ),
        (
            vec!["consume", "-b", "a:1", "-t", "t", "--from", "tomorrow"],
            "beginning, latest",
        ),
        (vec!["perf", "-b", "a:1", "-t", "t"], "--records"),
        (vec!["broker", "--topic", "a b:1"], "a b"),
        (vec!["quickstart", "--records", "none"], "--records"),
    ] {
        let ended = run(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
        assert!(ended.stderr.contains(part), "{words:?}: {}", ended.stderr);
    }
}
