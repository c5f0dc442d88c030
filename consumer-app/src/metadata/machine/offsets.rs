//! What an answer to a request for offsets brings to those who wait for it.

use std::time::Instant;

use session_actor::wire::{ErrorCode, WireError};

use super::super::lookups::{Asked, Asker, Wanted};
use super::super::turns::Kind;
use super::super::view::lookup_error;
use super::{Effect, MetadataMachine, Offset};
use crate::offsets::OffsetSpec;

impl MetadataMachine {
    /// A request for offsets ended.
    pub(in super::super) fn offsets(
        &mut self,
        now: Instant,
        asked: &[Asked],
        result: Result<Vec<Offset>, WireError>,
        effects: &mut Vec<Effect>,
    ) {
        match result {
            Ok(answers) => {
                self.reachable();
                self.failed_lookups = 0;
                self.answered(now, asked, answers, effects);
            }
            Err(error) => self.lookups_failed(now, asked, error, effects),
        }
        self.act(now, effects);
    }

    /// A request to a leader came to nothing.
    pub(super) fn lookups_failed(
        &mut self,
        now: Instant,
        asked: &[Asked],
        error: WireError,
        effects: &mut Vec<Effect>,
    ) {
        self.failed_lookups = self.failed_lookups.saturating_add(1);
        self.unusable(now, &error, self.failed_lookups, effects);
        self.turns.want(Kind::Names);
        for asked in asked {
            if self.lookups.retry(now, asked)
                && let Asker::Query(query) = asked.asker
            {
                self.queries.lost(query, &error);
            }
        }
        self.last_error = Some(error);
    }

    fn answered(
        &mut self,
        now: Instant,
        asked: &[Asked],
        answers: Vec<Offset>,
        effects: &mut Vec<Effect>,
    ) {
        let mut found = Vec::new();
        let mut ended = Vec::new();
        let unknown_until = now + self.report_after();
        let missing = std::iter::repeat(Err(ErrorCode::UNKNOWN_SERVER_ERROR));
        for (asked, answer) in asked.iter().zip(answers.into_iter().chain(missing)) {
            match (asked.asker, answer) {
                (Asker::Position(id, epoch), Ok(Some(listed))) => {
                    if self.lookups.finish(asked) {
                        found.push((id, epoch, listed.offset));
                    }
                }
                // no record is so new
                (Asker::Position(..), Ok(None)) if matches!(asked.wanted, Wanted::Since(_)) => {
                    if self.lookups.finish(asked) {
                        self.lookups.insert(Asked {
                            wanted: Wanted::Offset(OffsetSpec::Latest),
                            ..asked.clone()
                        });
                    }
                }
                // an end that the broker does not know yet
                (Asker::Position(..), Ok(None)) => {
                    self.lookups.retry(now, asked);
                }
                (Asker::Position(..), Err(code)) => {
                    let counts = self.lookups.retry(now, asked);
                    self.turns.want(Kind::Names);
                    if counts && let Some(error) = lookup_error(&asked.name, code) {
                        effects.push(Effect::Report(asked.name.clone(), error));
                    }
                }
                (Asker::Query(query), Ok(listed)) => {
                    if self.lookups.finish(asked) {
                        ended.extend(self.queries.found(query, &asked.name, listed));
                    }
                }
                // as Java: of records without timestamps nothing is found by time
                (Asker::Query(query), Err(ErrorCode::UNSUPPORTED_FOR_MESSAGE_FORMAT)) => {
                    if self.lookups.finish(asked) {
                        ended.extend(self.queries.found(query, &asked.name, None));
                    }
                }
                (Asker::Query(query), Err(code)) => {
                    if self.lookups.retry(now, asked) {
                        self.turns.want(Kind::Names);
                        let refused = self
                            .queries
                            .refused(query, &asked.name, code, unknown_until);
                        ended.extend(refused);
                    }
                }
            }
        }
        if !found.is_empty() {
            effects.push(Effect::Found(found));
        }
        self.end_queries(ended, effects);
    }
}
