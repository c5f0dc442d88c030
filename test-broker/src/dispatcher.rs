//! What happens to the requests of one connection: decoding, the request log, faults, the APIs, waiting.

use std::sync::Arc;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use tokio::time::sleep_until;

use crate::api::{self, DelayedFetch, DelayedGroup, RequestContext, Step};
use crate::cluster::{Cluster, Waiter};
use crate::fault::{FaultId, Plan};
use crate::request::Request;
use crate::request_log::{RequestRecord, RequestSummary};
use crate::shared::Shared;
use crate::wire::{Malformed, Payload, RequestHeader};

/// Takes in the requests of one connection of a node.
pub(crate) struct Dispatcher {
    pub(crate) shared: Arc<Shared>,
    pub(crate) node: i32,
    /// The number of the connection.
    pub(crate) connection: u64,
}

/// A request that was taken in.
pub(crate) struct Admitted {
    pub(crate) api: ApiKey,
    pub(crate) version: i16,
    pub(crate) correlation_id: i32,
    pub(crate) client_id: Option<String>,
    pub(crate) request: Request,
    pub(crate) plan: Plan,
}

/// Why a request is not served; its connection is closed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("api key {key} version {version} is not served")]
    NotServed { key: i16, version: i16 },
    #[error("a request failed that is not to be answered")]
    Unanswerable,
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Dispatcher {
    /// The answer to ApiVersions of an unknown version, the one request that need not be of a version that is served.
    pub(crate) fn version_unknown(
        &self,
        header: &RequestHeader,
    ) -> Result<Option<Payload>, Refused> {
        let (key, version) = (header.api_key, header.api_version);
        let mut cluster = self.shared.cluster();
        let versions = &cluster.settings.versions;
        match versions.api(key) {
            Some(api) if versions.serves(api, version) => Ok(None),
            Some(api @ ApiKey::ApiVersions) => {
                self.note(&mut cluster, header, api, None, RequestSummary::Other);
                match api::unknown_api_versions(&cluster, header) {
                    Step::Answer(answer) => Ok(Some(answer)),
                    _ => Err(Refused::NotServed { key, version }),
                }
            }
            _ => Err(Refused::NotServed { key, version }),
        }
    }

    /// Decodes a request, writes it to the request log and asks the faults what becomes of it.
    pub(crate) fn admit(
        &self,
        header: &RequestHeader,
        mut body: Bytes,
    ) -> Result<Admitted, Refused> {
        let (key, version) = (header.api_key, header.api_version);
        let mut cluster = self.shared.cluster();
        let api = cluster.settings.versions.api(key);
        let api = api.ok_or(Refused::NotServed { key, version })?;
        let flexible = api.request_header_version(version) >= 2;
        let client_id = RequestHeader::take_client_id(&mut body, flexible)?;
        let request = Request::decode(api, version, body)?;

        let summary = match cluster.requests.is_kept() {
            true => request.summary(&cluster.topics),
            false => RequestSummary::Other,
        };
        self.note(&mut cluster, header, api, client_id.clone(), summary);
        let mut faults = std::mem::take(&mut cluster.faults);
        let plan = faults.plan(self.node, api, |topic, partition| {
            request.concerns(&cluster, self.node, topic, partition)
        });
        cluster.faults = faults;
        Ok(Admitted {
            api,
            version,
            correlation_id: header.correlation_id,
            client_id,
            request,
            plan,
        })
    }

    /// Counts a request and writes it to the request log; who waits for requests looks again.
    fn note(
        &self,
        cluster: &mut Cluster,
        header: &RequestHeader,
        api: ApiKey,
        client_id: Option<String>,
        summary: RequestSummary,
    ) {
        cluster.requests.push(RequestRecord {
            node: self.node,
            connection: self.connection,
            api_key: api,
            api_version: header.api_version,
            correlation_id: header.correlation_id,
            client_id,
            time: self.shared.now(),
            summary,
        });
        if let Some(node) = cluster.nodes.get_mut(&self.node) {
            node.counters.requests += 1;
            node.counters.fetch_requests += u64::from(api == ApiKey::Fetch);
        }
        self.shared.arrived.send_modify(|count| *count += 1);
    }

    /// Applies a request; `None` if it is not to be answered.
    pub(crate) async fn apply(
        &self,
        context: &RequestContext,
        request: Request,
    ) -> Result<Option<Payload>, Refused> {
        let step = {
            let mut cluster = self.shared.cluster();
            cluster.groups.advance(context.now);
            match api::handle(&mut cluster, context, request) {
                Step::Answer(answer) => return Ok(Some(answer)),
                Step::NoAnswer => return Ok(None),
                Step::Close => return Err(Refused::Unanswerable),
                // under the same lock, so that nothing comes between the look and the wait
                Step::Wait(delayed) => {
                    let waiter = cluster.purgatory.enter(delayed.partitions());
                    let shared = Arc::clone(&self.shared);
                    Ok((delayed, Waiting { shared, waiter }))
                }
                Step::WaitForGroup(delayed) => Err(delayed),
            }
        };
        match step {
            Ok((delayed, waiting)) => Ok(Some(self.wait(*delayed, waiting).await)),
            Err(delayed) => match self.wait_for_group(delayed, context).await {
                Step::Answer(answer) => Ok(Some(answer)),
                _ => Err(Refused::Unanswerable),
            },
        }
    }

    /// Waits for the answer to a request about a group, and lets the group's time pass meanwhile.
    async fn wait_for_group(&self, delayed: DelayedGroup, context: &RequestContext) -> Step {
        let answer = delayed.answer(context);
        tokio::pin!(answer);
        loop {
            tokio::select! {
                biased;
                step = &mut answer => {
                    self.thawed().await;
                    return step;
                }
                () = self.shared.group_time_passes() => {}
            }
        }
    }

    async fn wait(&self, delayed: DelayedFetch, waiting: Waiting) -> Payload {
        let deadline = sleep_until(self.shared.instant(delayed.deadline()));
        tokio::pin!(deadline);
        loop {
            let woken = tokio::select! {
                biased;
                () = waiting.waiter.woken.notified() => true,
                () = &mut deadline => false,
            };
            self.thawed().await;
            let mut cluster = self.shared.cluster();
            if !woken || delayed.is_complete(&cluster) {
                return delayed.answer(&mut cluster);
            }
        }
    }

    /// Waits while the node is frozen.
    pub(crate) async fn thawed(&self) {
        if let Some(tasks) = self.shared.node(self.node) {
            tasks.thawed().await;
        }
    }

    /// The answer as faults leave it, and whether the connection is to be closed behind it.
    pub(crate) fn touch(&self, faults: &[FaultId], mut answer: Payload) -> (Payload, bool) {
        if faults.is_empty() {
            return (answer, false);
        }
        let mut cluster = self.shared.cluster();
        let (bytes, close) = cluster.faults.touch_bytes(faults, answer.join());
        (Payload::from(bytes), close)
    }
}

/// Leaves the purgatory when the wait is over, also when the connection is cut in the middle of it.
struct Waiting {
    shared: Arc<Shared>,
    waiter: Waiter,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.cluster().purgatory.leave(&self.waiter);
    }
}
