//! No process outlives its test, whatever ends the test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use integration_tests::kafka::{Cluster, Result};

/// Prints its processes when it has started its cluster and holds it until its stdin ends.
const REAL_KAFKA: &str = env!("CARGO_BIN_EXE_real-kafka");

/// Whether a process exists and is no zombie.
fn lives(pid: &str) -> bool {
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", pid])
        .output()
        .expect("ps is there");
    let state = String::from_utf8_lossy(&state.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

fn start() -> (Child, Vec<String>) {
    let mut child = Command::new(REAL_KAFKA)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pids = line
        .trim_end()
        .split_once("pids=")
        .unwrap_or_else(|| panic!("{line:?}"))
        .1;
    (child, pids.split(',').map(str::to_owned).collect())
}

fn all_end(pids: &[String]) {
    let end = Instant::now() + Duration::from_secs(60);
    while let Some(pid) = pids.iter().find(|pid| lives(pid)) {
        assert!(Instant::now() < end, "process {pid} is left over");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_test_process_that_is_killed_leaves_no_process_behind() {
    let (mut child, pids) = start();
    assert_eq!(pids.len(), 2, "a broker and the helper");
    assert!(pids.iter().all(|pid| lives(pid)));
    // the hard case: a stopped process does not notice anything
    assert!(
        Command::new("kill")
            .args(["-STOP", &pids[0]])
            .status()
            .unwrap()
            .success()
    );
    child.kill().unwrap();
    child.wait().unwrap();
    all_end(&pids);
}

#[test]
fn the_end_of_its_input_ends_the_cluster_in_order() {
    let (mut child, pids) = start();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(!pids.iter().any(|pid| lives(pid)));
}

#[test]
fn a_test_that_panics_leaves_no_process_and_no_data_behind() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    let pids: Vec<String> = kafka.pids().iter().map(u32::to_string).collect();
    let data = kafka.data(1)?.to_owned();
    assert!(data.exists());
    assert!(pids.iter().all(|pid| lives(pid)));
    let panicked = thread::spawn(move || {
        let _kafka = kafka;
        panic!("this panic is part of the test");
    });
    assert!(panicked.join().is_err());
    assert!(!pids.iter().any(|pid| lives(pid)));
    assert!(!data.exists());
    Ok(())
}

#[test]
fn a_node_that_cannot_start_shows_its_log() {
    let refused = Cluster::builder()
        .property("num.io.threads", "none")
        .start()
        .unwrap_err()
        .to_string();
    assert!(refused.contains("num.io.threads"), "{refused}");
    let refused = Cluster::builder()
        .jvm_option("-XX:NoSuchOption")
        .start()
        .unwrap_err()
        .to_string();
    assert!(
        refused.starts_with("node 1 ended by itself") && refused.contains("NoSuchOption"),
        "{refused}"
    );
}

fn without_tools(program: &Path) -> String {
    let output = Command::new(program)
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_missing_java_or_maven_is_a_failure_that_says_what_to_install() -> Result<()> {
    drop(Cluster::builder().start()?); // the jars are there now, what is missing is java
    let message = without_tools(Path::new(REAL_KAFKA));
    assert!(
        message.contains("`java` was not found: install a JDK of version 17"),
        "{message}"
    );

    // a program in a target folder without jars needs maven first
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("empty-{}", std::process::id()));
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("CACHEDIR.TAG"), "").unwrap();
    let program = target.join("program");
    fs::copy(REAL_KAFKA, &program).unwrap();
    let message = without_tools(&program);
    assert!(
        message.contains("`mvn` was not found: install Apache Maven"),
        "{message}"
    );
    fs::remove_dir_all(&target).unwrap();
    Ok(())
}
