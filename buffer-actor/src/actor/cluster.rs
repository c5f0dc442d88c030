//! What others found out about the cluster: positions, leaders, errors, topics that were made anew.

use actix::{Context, Handler};

use super::BufferActor;
use crate::messages::{
    CommittedFound, EpochsEnd, LeadersChanged, PositionsFound, ReportError, TopicsRecreated,
    WakeReader,
};

impl Handler<LeadersChanged> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: LeadersChanged, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.leaders_changed(message.0, effects);
        });
    }
}

impl Handler<TopicsRecreated> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: TopicsRecreated, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, now, effects| {
            machine.topics_recreated(now, message.0, effects);
        });
    }
}

impl Handler<PositionsFound> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: PositionsFound, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.position_found(message.0, effects);
        });
    }
}

impl Handler<EpochsEnd> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: EpochsEnd, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, now, effects| {
            machine.validated(now, message.0, effects);
        });
    }
}

impl Handler<CommittedFound> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: CommittedFound, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, now, effects| {
            machine.committed_found(now, message.0, effects);
        });
    }
}

impl Handler<ReportError> for BufferActor {
    type Result = ();

    fn handle(&mut self, message: ReportError, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, now, effects| {
            machine.report_error(now, &message.partition, message.error, effects);
        });
    }
}

impl Handler<WakeReader> for BufferActor {
    type Result = ();

    fn handle(&mut self, _: WakeReader, ctx: &mut Context<Self>) {
        Self::handle(self, ctx, |machine, _, effects| {
            machine.wake_reader(effects)
        });
    }
}
