//! What is wrong with the address, the topic or the offset: a clear error in time, whatever it is.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use consumer_app::{Consumer, Error, PartitionError, TopicPartition, WireError};
use integration_tests::kafka::{Cluster, ProduceSpec};
use tokio::task::JoinSet;

/// `default.api.timeout.ms`
const API_TIMEOUT: Duration = Duration::from_secs(6);
/// For a machine that is busy.
const GRACE: Duration = Duration::from_secs(3);

/// One thing that is wrong.
struct Case {
    what: &'static str,
    servers: String,
    reset: &'static str,
    partition: TopicPartition,
    /// Where to begin; `None`: where the reset policy says.
    offset: Option<i64>,
    expected: fn(&Error) -> bool,
    /// What the error's text must name.
    names: String,
}

#[tokio::test]
async fn b193_f077_f078_an_address_where_no_broker_listens() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("key-of-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let tls = broker_with_tls(&folder)?;
    let tls_port = tls.listener_address(1, "SECURE")?.context("it was added")?;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.local_addr()?.to_string()
    };
    let silent = TcpListener::bind("127.0.0.1:0")?;
    let http = serve(|mut stream| {
        stream.read_exact(&mut [0; 8])?;
        stream.write_all(
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        )
    })?;
    // an alert "unexpected message" (RFC 8446, 6), as OpenSSL sends it
    let alert = serve(|mut stream| {
        stream.read_exact(&mut [0; 8])?;
        stream.write_all(&[21, 3, 3, 0, 2, 2, 10])
    })?;
    let case = |what, servers: &dyn ToString, expected, names: &str| Case {
        what,
        servers: servers.to_string(),
        reset: "earliest",
        partition: TopicPartition::new("any", 0),
        offset: None,
        expected,
        names: names.to_owned(),
    };
    let cases = [
        case(
            "nobody listens",
            &closed,
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::Connect { .. }
                    }
                )
            },
            &closed,
        ),
        case(
            "a name that does not resolve",
            &"no-such-host.invalid:9092",
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::Connect { .. }
                    }
                )
            },
            "no-such-host.invalid",
        ),
        case(
            "somebody who does not answer",
            &silent.local_addr()?,
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::Timeout { .. }
                    }
                )
            },
            &silent.local_addr()?.to_string(),
        ),
        case(
            "an HTTP server",
            &http,
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::HttpServer { .. }
                    }
                )
            },
            "HTTP",
        ),
        case(
            "a TLS server",
            &alert,
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::TlsServer { .. }
                    }
                )
            },
            "TLS",
        ),
        case(
            "a broker's TLS port",
            &tls_port,
            |error| matches!(error, Error::Unreachable { .. }),
            "security.protocol",
        ),
        case(
            "a controller",
            &tls.controller_address(),
            |error| {
                matches!(
                    error,
                    Error::Unreachable {
                        source: WireError::UnsupportedVersion { .. }
                    }
                )
            },
            "controller",
        ),
    ];
    let all = all_complain(cases).await;
    std::fs::remove_dir_all(&folder)?;
    all
}

#[tokio::test]
async fn b104_b108_b112_b120_a_topic_or_offset_that_is_not_there() -> Result<()> {
    let kafka = Cluster::builder().start()?;
    kafka.create_topic("there", 2, 1, &[])?;
    kafka.produce(ProduceSpec {
        topic: "there".into(),
        records: 10,
        ..ProduceSpec::default()
    })?;
    let case = |what, reset, topic: &str, partition, offset, expected| Case {
        what,
        servers: kafka.bootstrap_servers().to_owned(),
        reset,
        partition: TopicPartition::new(topic, partition),
        offset,
        expected,
        names: topic.to_owned(),
    };
    let cases = [
        case(
            "a topic that is not there",
            "earliest",
            "not-there",
            0,
            None,
            |error| {
                matches!(
                    error,
                    Error::Partition(PartitionError::UnknownPartition { .. })
                )
            },
        ),
        case(
            "a topic that is not there, at an offset",
            "none",
            "nor-this",
            0,
            Some(7),
            |error| {
                matches!(
                    error,
                    Error::Partition(PartitionError::UnknownPartition { .. })
                )
            },
        ),
        case(
            "a partition that is not there",
            "earliest",
            "there",
            9,
            None,
            |error| {
                matches!(
                    error,
                    Error::Partition(PartitionError::UnknownPartition { .. })
                )
            },
        ),
        case(
            "a name that can be no topic's",
            "earliest",
            "no topic/at all",
            0,
            None,
            |error| matches!(error, Error::Partition(PartitionError::InvalidTopic { .. })),
        ),
        case(
            "an offset beyond the end",
            "none",
            "there",
            0,
            Some(1_000),
            |error| {
                matches!(
                    error,
                    Error::Partition(PartitionError::OffsetOutOfRange { offset: 1_000, .. })
                )
            },
        ),
        case("no position", "none", "there", 1, None, |error| {
            matches!(
                error,
                Error::Partition(PartitionError::NoOffsetForPartition { .. })
            )
        }),
    ];
    all_complain(cases).await?;

    let consumer = consumer(kafka.bootstrap_servers(), "earliest").await?;
    for topic in ["not-there", "no topic/at all"] {
        let begin = Instant::now();
        let error = consumer.partitions_for(topic).await;
        println!(
            "partitions of {topic:?}, after {:?}: {error:?}",
            begin.elapsed()
        );
        ensure!(matches!(error, Err(Error::UnknownTopic { .. })));
        ensure!(begin.elapsed() < API_TIMEOUT + GRACE);
    }
    Ok(())
}

async fn consumer(servers: &str, reset: &str) -> Result<Consumer> {
    let consumer = Consumer::builder()
        .bootstrap_servers(servers)
        .set("auto.offset.reset", reset)
        .set(
            "default.api.timeout.ms",
            &API_TIMEOUT.as_millis().to_string(),
        )
        .set("request.timeout.ms", "5000");
    Ok(consumer.build().await?)
}

/// Side by side, since each may take its time.
async fn all_complain(cases: impl IntoIterator<Item = Case>) -> Result<()> {
    let mut running = JoinSet::new();
    for case in cases {
        running.spawn(async move {
            let what = case.what;
            complains(case).await.context(what)
        });
    }
    let mut wrong = Vec::new();
    while let Some(done) = running.join_next().await {
        if let Err(error) = done? {
            wrong.push(format!("{error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

async fn complains(case: Case) -> Result<()> {
    let mut consumer = consumer(&case.servers, case.reset).await?;
    match case.offset {
        Some(offset) => consumer.assign_at([(case.partition, offset)]).await?,
        None => consumer.assign([case.partition]).await?,
    }
    let begin = Instant::now();
    let error = loop {
        match consumer.poll(API_TIMEOUT + GRACE).await {
            Ok(records) => ensure!(
                begin.elapsed() < API_TIMEOUT + GRACE,
                "no error in time, {} records",
                records.len()
            ),
            Err(error) => break error,
        }
    };
    let after = begin.elapsed();
    println!("{}, after {after:.1?}: {error}", case.what);
    ensure!((case.expected)(&error), "{error:?}");
    ensure!(after < API_TIMEOUT + GRACE, "{after:?}");
    if !error.to_string().contains(&case.names) {
        bail!("{error} does not name {}", case.names);
    }
    // it remains usable, and can be closed
    let again = consumer.poll(Duration::from_millis(100)).await;
    ensure!(!matches!(again, Err(Error::Failed)), "{again:?}");
    let closing = Instant::now();
    consumer.close(Duration::from_secs(2)).await?;
    ensure!(closing.elapsed() < Duration::from_secs(2) + GRACE);
    Ok(())
}

/// A server of one answer to whoever connects.
fn serve(answer: fn(TcpStream) -> std::io::Result<()>) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // a client that hangs up does not end the server
            let _ = answer(stream);
        }
    });
    Ok(address)
}

fn broker_with_tls(folder: &std::path::Path) -> Result<Cluster> {
    let store = folder.join("broker.p12");
    let made = Command::new("keytool")
        .args([
            "-genkeypair",
            "-alias",
            "broker",
            "-keyalg",
            "EC",
            "-dname",
            "CN=localhost",
        ])
        .args([
            "-storetype",
            "PKCS12",
            "-storepass",
            "changeit",
            "-keystore",
        ])
        .arg(&store)
        .output()
        .context("keytool, which comes with the JDK")?;
    ensure!(made.status.success(), "{made:?}");
    let kafka = Cluster::builder()
        .listener("SECURE", "SSL")
        .property("listener.name.secure.ssl.keystore.type", "PKCS12")
        .property(
            "listener.name.secure.ssl.keystore.location",
            &store.display().to_string(),
        )
        .property("listener.name.secure.ssl.keystore.password", "changeit")
        .start()?;
    Ok(kafka)
}
