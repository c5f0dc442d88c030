//! The socket side of a lane: the actor's futures that connect, read and write.

use std::pin::pin;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use actix::fut::{ActorFutureExt, wrap_future};
use actix::{AsyncContext, Context, SpawnHandle};
use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use tracing::{debug, info, warn};

use super::SessionActor;
use crate::decode::decode;
use crate::fetch_session::Plan;
use crate::machine::Request;
use crate::messages::NodeReached;
use crate::stats::ResponseFacts;
use crate::wire::connection::{Connection, Reader, Writer};
use crate::wire::fetch::{self, FetchPartition, FetchRequest, FetchTopic, ForgottenPartition};
use crate::wire::{RequestHeader, WireError, take_correlation_id};

/// A buffer for an answer begins with this much at most; a longer answer makes it grow as its bytes come, never by its claim.
const FIRST_CAPACITY: usize = 64 << 20;

/// A connection. Its halves are away while a future uses them.
pub(super) struct Link {
    pub(super) reader: Option<Reader>,
    pub(super) writer: Option<Writer>,
    /// The broker's newest Fetch that we speak.
    pub(super) newest: i16,
    /// In which the request in flight was sent.
    pub(super) version: i16,
    /// When the last request was written.
    pub(super) sent_at: Instant,
    pub(super) next_correlation_id: i32,
    pub(super) awaits_answer: bool,
    pub(super) reading: Option<SpawnHandle>,
    pub(super) writing: Option<SpawnHandle>,
}

impl SessionActor {
    pub(super) fn connect(&mut self, ctx: &mut Context<Self>) {
        let options = self.options.clone();
        let peer = self.peer.clone();
        let opening = async move {
            let (connector, limit) = (options.connector.as_ref(), options.setup_timeout);
            // every length is judged before memory is used for it
            let longest = i32::MAX as usize;
            Connection::open(connector, peer, &options.client_id, longest, limit).await
        };
        ctx.spawn(wrap_future::<_, Self>(opening).map(|opened, actor, ctx| {
            match opened.and_then(|opened| actor.adopt(opened)) {
                Ok(ids_allowed) => {
                    actor.read_length(ctx);
                    actor.run(ctx, |machine, now, effects| {
                        machine.connected(now, ids_allowed, effects);
                    });
                }
                Err(error) => actor.failed(error, "cannot connect", ctx),
            }
        }));
    }

    /// Takes an open connection over; whether topics may go by id on it.
    fn adopt(&mut self, opened: Connection) -> Result<bool, WireError> {
        let newest = opened.versions.choose(ApiKey::Fetch, fetch::VERSIONS)?;
        self.options.stats.connection();
        debug!(peer = %self.peer, lane = %self.lane, version = newest, "connected");
        if self.warned {
            self.warned = false;
            info!(peer = %self.peer, "reached again");
        }
        self.neighbours.reached.do_send(NodeReached {
            node: self.node,
            failure: None,
            failures: 0,
        });
        self.link = Some(Link {
            reader: Some(opened.reader),
            writer: Some(opened.writer),
            newest,
            version: newest,
            sent_at: tokio::time::Instant::now().into_std(),
            next_correlation_id: opened.next_correlation_id,
            awaits_answer: false,
            reading: None,
            writing: None,
        });
        Ok(newest >= fetch::TOPIC_IDS_SINCE)
    }

    pub(super) fn disconnect(&mut self, ctx: &mut Context<Self>) {
        if let Some(link) = self.link.take() {
            for handle in [link.reading, link.writing].into_iter().flatten() {
                ctx.cancel_future(handle);
            }
        }
    }

    pub(super) fn send(&mut self, request: &Request, ctx: &mut Context<Self>) {
        self.options.stats.request(self.ticket.is_none());
        match self.encode(&request.plan, request.max_wait, request.max_bytes) {
            Ok(()) => self.flush(ctx),
            Err(error) => warn!(peer = %self.peer, %error, "a fetch request cannot be sent"),
        }
    }

    pub(super) fn encode(
        &mut self,
        plan: &Plan,
        max_wait: Duration,
        max_bytes: u32,
    ) -> Result<(), fetch::EncodeError> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let Some(writer) = &mut link.writer else {
            return Ok(());
        };
        link.awaits_answer = true;
        link.sent_at = tokio::time::Instant::now().into_std();
        link.version = if plan.topic_ids {
            link.newest
        } else {
            link.newest.min(fetch::TOPIC_IDS_SINCE - 1)
        };
        let header = RequestHeader {
            correlation_id: link.next_correlation_id,
            client_id: &self.options.client_id,
        };
        let request = FetchRequest {
            max_wait_ms: i32::try_from(max_wait.as_millis()).unwrap_or(i32::MAX),
            min_bytes: self.options.fetch_min_bytes,
            max_bytes: i32::try_from(max_bytes).unwrap_or(i32::MAX),
            isolation_level: self.options.isolation_level,
            session_id: plan.session_id,
            session_epoch: plan.session_epoch,
            rack_id: &self.options.client_rack,
        };
        let named = plan.named.iter().map(|named| FetchPartition {
            topic: FetchTopic {
                name: &named.topic.name,
                id: named.topic.id,
            },
            partition: named.index,
            current_leader_epoch: named.sent.leader_epoch,
            fetch_offset: named.sent.offset,
            partition_max_bytes: named.sent.max_bytes,
        });
        let forgotten = plan.forgotten.iter().map(|gone| ForgottenPartition {
            topic: FetchTopic {
                name: &gone.topic.name,
                id: gone.topic.id,
            },
            partition: gone.index,
        });
        request.encode(link.version, header, named, forgotten, writer.queue())
    }

    /// Writes what is queued, at once if the socket takes it.
    pub(super) fn flush(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut writer) = link.writer.take() else {
            return;
        };
        let at_once = {
            let mut task = TaskContext::from_waker(Waker::noop());
            pin!(writer.flush()).poll(&mut task)
        };
        match at_once {
            Poll::Ready(Ok(())) => link.writer = Some(writer),
            Poll::Ready(Err(error)) => {
                link.writer = Some(writer);
                // not from within an event of the machine: its effects are being performed
                ctx.run_later(Duration::ZERO, move |actor, ctx| {
                    actor.failed(error, "connection lost", ctx);
                });
            }
            Poll::Pending => {
                let writing = async move {
                    let flushed = writer.flush().await;
                    (writer, flushed)
                };
                let handle = ctx.spawn(wrap_future::<_, Self>(writing).map(
                    |(writer, flushed), actor, ctx| {
                        if let Some(link) = &mut actor.link {
                            link.writer = Some(writer);
                            link.writing = None;
                        }
                        if let Err(error) = flushed {
                            actor.failed(error, "connection lost", ctx);
                        }
                    },
                ));
                link.writing = Some(handle);
            }
        }
    }

    fn read_length(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        let reading = async move {
            let length = reader.read_len().await;
            (reader, length)
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |(reader, length), actor, ctx| {
                actor.returned(reader);
                match length {
                    Ok(_) if actor.closing.is_some() => actor.read_while_closing(ctx),
                    Err(_) if actor.closing.is_some() => actor.finish(ctx),
                    Ok(length) => actor.run(ctx, |machine, now, effects| {
                        machine.length(now, length as u64, effects);
                    }),
                    Err(error) => actor.failed(error, "connection lost", ctx),
                }
            },
        ));
        link.reading = Some(handle);
    }

    fn returned(&mut self, reader: Reader) {
        if let Some(link) = &mut self.link {
            link.reader = Some(reader);
            link.reading = None;
        }
    }

    pub(super) fn read_body(&mut self, ctx: &mut Context<Self>) {
        let memory = self.options.memory.clone();
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        let reading = async move {
            let length = reader.read_len().await?;
            let mut body = memory.buffer(length.min(FIRST_CAPACITY));
            body.clear();
            match reader.read_body_into(&mut body).await {
                Ok(()) => Ok((reader, memory.seal_reply(body))),
                Err(error) => {
                    memory.give_back(body);
                    Err(error)
                }
            }
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |read, actor, ctx| match read {
                Ok((reader, body)) => {
                    actor.returned(reader);
                    actor.answer(body, ctx);
                }
                Err(error) => actor.failed(error, "connection lost", ctx),
            },
        ));
        link.reading = Some(handle);
    }

    fn answer(&mut self, mut body: Bytes, ctx: &mut Context<Self>) {
        let received = body.len() as u64;
        let Some(link) = &mut self.link else {
            return;
        };
        let expected = link.next_correlation_id;
        link.next_correlation_id = expected.wrapping_add(1);
        link.awaits_answer = false;
        let (version, sent_at) = (link.version, link.sent_at);
        let got = take_correlation_id(&mut body);
        if got != Some(expected) {
            let error = WireError::Correlation {
                peer: self.peer.clone(),
                expected: Some(expected),
                got: got.unwrap_or(-1),
            };
            self.failed(
                error,
                "an answer with another request's correlation id",
                ctx,
            );
            return;
        }
        let decoded = decode(&mut self.decoder, version, &body, self.machine.session());
        drop(body);
        match decoded {
            Ok(answer) => {
                let fetched = answer.partitions.iter();
                let fetched = fetched.filter_map(|part| part.fetched.as_ref());
                let now = tokio::time::Instant::now().into_std();
                self.options.stats.response(
                    now,
                    ResponseFacts {
                        latency: now.saturating_duration_since(sent_at),
                        bytes: received + 4,
                        records_bytes: fetched.map(|data| u64::from(data.bytes)).sum(),
                        throttle: answer.throttle,
                    },
                );
                self.read_length(ctx);
                self.run(ctx, |machine, now, effects| {
                    machine.answer(now, answer, received, effects);
                });
            }
            Err(error) => {
                let error = WireError::Malformed {
                    peer: self.peer.clone(),
                    source: error,
                };
                self.failed(error, "an answer that cannot be read", ctx);
            }
        }
    }

    pub(super) fn skip_body(&mut self, ctx: &mut Context<Self>) {
        let Some(link) = &mut self.link else {
            return;
        };
        let Some(mut reader) = link.reader.take() else {
            return;
        };
        link.next_correlation_id = link.next_correlation_id.wrapping_add(1);
        link.awaits_answer = false;
        let reading = async move {
            let skipped = reader.discard_body().await;
            (reader, skipped)
        };
        let handle = ctx.spawn(wrap_future::<_, Self>(reading).map(
            |(reader, skipped), actor, ctx| {
                actor.returned(reader);
                match skipped {
                    Ok(()) => {
                        actor.read_length(ctx);
                        actor.run(ctx, |machine, now, effects| machine.skipped(now, effects));
                    }
                    Err(error) => actor.failed(error, "connection lost", ctx),
                }
            },
        ));
        link.reading = Some(handle);
    }

    /// An answer that comes while the lane closes is read and thrown away.
    fn read_while_closing(&mut self, ctx: &mut Context<Self>) {
        let Some(mut reader) = self.link.as_mut().and_then(|link| link.reader.take()) else {
            self.finish(ctx);
            return;
        };
        let reading = async move {
            let skipped = reader.discard_body().await;
            (reader, skipped)
        };
        ctx.spawn(
            wrap_future::<_, Self>(reading).map(|(reader, skipped), actor, ctx| {
                actor.returned(reader);
                let Some(closing) = &mut actor.closing else {
                    return;
                };
                closing.answers -= 1;
                if closing.answers == 0 || skipped.is_err() {
                    actor.finish(ctx);
                } else {
                    actor.read_length(ctx);
                }
            }),
        );
    }
}
