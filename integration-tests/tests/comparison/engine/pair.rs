//! The two brokers side by side.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result};
use integration_tests::kafka::Cluster;
use kafka_protocol::messages::{FetchRequest, FetchResponse, ProduceRequest};
use test_broker::TestBroker;
use tokio::task::JoinHandle;

use super::compared::Compared;
use super::connection::{Connection, Reply};
use super::fields::Fields;
use super::names::{Names, RECORD_AGE_MS, now_ms};
use super::report::Report;
use super::side::Side;
use crate::requests::{AT_ONCE_MS, Fetch, Produce};

const AT_ONCE: Duration = Duration::from_millis(AT_ONCE_MS.unsigned_abs() as u64);
/// A broker's timer may fire within the millisecond before its time.
const TIMER: Duration = Duration::from_millis(5);

/// A cluster of the test broker and one of Kafka, of the same nodes.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) real: Side,
    pub(crate) ours: Side,
    /// The test broker's handle, for what only a handle can do.
    pub(crate) broker: TestBroker,
    /// The time of the cases' records, ms since 1970.
    pub(crate) time: i64,
    /// How many groups were given a name.
    pub(super) groups_named: usize,
    report: Report,
}

/// What each answered; `None` if it did not.
#[derive(Debug)]
pub(crate) struct Answers<T> {
    pub(crate) real: Option<T>,
    pub(crate) ours: Option<T>,
}

/// A request that both work on, over connections of its own.
pub(crate) struct Started<R: Compared> {
    case: String,
    version: i16,
    max_wait: Option<Duration>,
    real: JoinHandle<Result<Reply<R::Response>>>,
    ours: JoinHandle<Result<Reply<R::Response>>>,
}

impl Pair {
    pub(crate) fn new(kafka: &Cluster, broker: TestBroker, report: Report) -> Result<Self> {
        let nodes = broker.node_ids();
        let real: Result<BTreeMap<i32, SocketAddr>, _> = nodes
            .iter()
            .map(|node| kafka.address(*node).map(|address| (*node, address)))
            .collect();
        let servers = broker.bootstrap_servers();
        let ours: Result<Vec<SocketAddr>, _> = servers.split(',').map(str::parse).collect();
        Ok(Self {
            real: Side::new(real?),
            ours: Side::new(nodes.into_iter().zip(ours?).collect()),
            broker,
            time: now_ms()? - RECORD_AGE_MS,
            groups_named: 0,
            report,
        })
    }

    pub(crate) fn report(&self) -> &Report {
        &self.report
    }

    /// Sends a request to node 1 of both and compares the answers.
    pub(crate) async fn compare<R: Compared>(
        &mut self,
        case: impl Display,
        version: i16,
        make: impl Fn(&Names) -> R,
    ) -> Result<Answers<R::Response>> {
        self.compare_at(1, case, version, make).await
    }

    /// Sends a request to a node of both and compares the answers.
    pub(crate) async fn compare_at<R: Compared>(
        &mut self,
        node: i32,
        case: impl Display,
        version: i16,
        make: impl Fn(&Names) -> R,
    ) -> Result<Answers<R::Response>> {
        let (real, ours) = (make(&self.real.names), make(&self.ours.names));
        let max_wait = real.max_wait();
        let (real, ours) = tokio::try_join!(
            self.real.ask(node, &real, version),
            self.ours.ask(node, &ours, version)
        )?;
        self.judge::<R>(&case.to_string(), version, max_wait, real, ours)
    }

    /// Compares two replies to the same request.
    pub(crate) fn judge<R: Compared>(
        &mut self,
        case: &str,
        version: i16,
        max_wait: Option<Duration>,
        real: Reply<R::Response>,
        ours: Reply<R::Response>,
    ) -> Result<Answers<R::Response>> {
        let max_wait = max_wait.filter(|wait| !wait.is_zero());
        let waited = |reply: &Reply<R::Response>| max_wait.map(|wait| reply.took + TIMER >= wait);
        let fields = |reply: &Reply<R::Response>, names: &Names| {
            let mut fields = match &reply.answer {
                Ok(answer) => R::fields(answer, names).map(|path, value| names.normal(path, value)),
                Err(none) => {
                    let mut fields = Fields::default();
                    fields.push("(no answer)", none.to_string());
                    fields
                }
            };
            if let Some(waited) = waited(reply) {
                fields.push("(waited to the end)", waited.to_string());
            }
            fields
        };
        if waited(&real) == Some(false) && max_wait < Some(AT_ONCE) {
            self.report.misjudged(case, version);
        }
        let real_fields = fields(&real, &self.real.names);
        let ours_fields = fields(&ours, &self.ours.names);
        self.report
            .add(R::API, case, version, &real_fields, &ours_fields);
        Ok(Answers {
            real: real.answer.ok(),
            ours: ours.answer.ok(),
        })
    }

    /// Compares what was found out about both in another way than by an answer.
    pub(crate) fn compare_fact<R: Compared>(
        &mut self,
        case: &str,
        version: i16,
        real: impl Display,
        ours: impl Display,
    ) {
        let fields = |fact: String| {
            let mut fields = Fields::default();
            fields.push("(fact)", fact);
            fields
        };
        let (real, ours) = (fields(real.to_string()), fields(ours.to_string()));
        self.report.add(R::API, case, version, &real, &ours);
    }

    /// Sends a request to a node of both, and does not wait for the answers.
    pub(crate) async fn start<R: Compared + Send + 'static>(
        &self,
        node: i32,
        case: impl Display,
        version: i16,
        make: impl Fn(&Names) -> R,
    ) -> Result<Started<R>>
    where
        R::Response: Send + 'static,
    {
        let (real, ours) = (make(&self.real.names), make(&self.ours.names));
        Ok(Started {
            case: case.to_string(),
            version,
            max_wait: real.max_wait(),
            real: in_background(self.real.connect(node).await?, real, version).await?,
            ours: in_background(self.ours.connect(node).await?, ours, version).await?,
        })
    }

    /// Waits for the answers to a request that was started, and compares them.
    pub(crate) async fn finish<R: Compared>(
        &mut self,
        started: Started<R>,
    ) -> Result<Answers<R::Response>> {
        let (real, ours) = (started.real.await??, started.ours.await??);
        self.judge::<R>(&started.case, started.version, started.max_wait, real, ours)
    }

    pub(crate) async fn fetch(
        &mut self,
        case: impl Display,
        version: i16,
        fetch: &Fetch,
    ) -> Result<()> {
        self.fetch_at(1, case, version, fetch).await
    }

    pub(crate) async fn fetch_at(
        &mut self,
        node: i32,
        case: impl Display,
        version: i16,
        fetch: &Fetch,
    ) -> Result<()> {
        let request = |names: &Names| fetch.request(version, names);
        self.compare_at::<FetchRequest>(node, case, version, request)
            .await
            .map(drop)
    }

    pub(crate) async fn produce(
        &mut self,
        case: impl Display,
        version: i16,
        produce: &Produce,
    ) -> Result<()> {
        self.produce_at(1, case, version, produce).await
    }

    pub(crate) async fn produce_at(
        &mut self,
        node: i32,
        case: impl Display,
        version: i16,
        produce: &Produce,
    ) -> Result<()> {
        let request = |names: &Names| produce.request(version, names);
        self.compare_at::<ProduceRequest>(node, case, version, request)
            .await
            .map(drop)
    }

    /// Fetches with epoch 0 and remembers the session that comes of it under a name.
    pub(crate) async fn open_session(
        &mut self,
        session: &str,
        version: i16,
        fetch: &Fetch,
    ) -> Result<()> {
        let case = format!("open {session}");
        let fetch = fetch.clone().with_epoch(0);
        let request = |names: &Names| fetch.request(version, names);
        let answers = self.compare::<FetchRequest>(case, version, request).await?;
        let id = |answer: Option<_>| {
            let answer: FetchResponse = answer.context("no answer")?;
            anyhow::Ok(answer.session_id)
        };
        self.real.names.set_session(session, id(answers.real)?);
        self.ours.names.set_session(session, id(answers.ours)?);
        Ok(())
    }
}

async fn in_background<R: Compared + Send + 'static>(
    mut connection: Connection,
    request: R,
    version: i16,
) -> Result<JoinHandle<Result<Reply<R::Response>>>>
where
    R::Response: Send + 'static,
{
    connection.send(&request, version).await?;
    Ok(tokio::spawn(async move {
        connection.receive::<R>(version).await
    }))
}
