//! A message that is acted upon whether or not anybody waits for its answer.

use actix::dev::{MessageResponse, ToEnvelope};
use actix::{Actor, Addr, Handler, Message};
use tokio::sync::oneshot;

/// Handle -> any actor: do this. An actor handles `Command<M>` wherever it handles `M`.
///
/// `Addr::send` is for questions: actix leaves out a message whose asker is gone by the time it would be handled, and as long as
/// the mailbox is full it does not even send it before its future is polled. That will not do for a seek or a pause, which an
/// application may well tell without waiting for it.
#[derive(Debug)]
pub struct Command<M: Message> {
    message: M,
    answer: oneshot::Sender<M::Result>,
}

impl<M: Message> Message for Command<M> {
    type Result = ();
}

impl<M> Command<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// Sends it, behind all that was sent to the actor from here before. The answer fails if the actor has stopped.
    pub fn send<A>(actor: &Addr<A>, message: M) -> oneshot::Receiver<M::Result>
    where
        A: Actor + Handler<Self>,
        A::Context: ToEnvelope<A, Self>,
    {
        let (answer, answered) = oneshot::channel();
        actor.do_send(Self { message, answer });
        answered
    }

    /// Has an actor handle the message, and answers.
    pub fn handle_by<A: Actor + Handler<M>>(self, actor: &mut A, ctx: &mut A::Context) {
        let done = <A as Handler<M>>::handle(actor, self.message, ctx);
        done.handle(ctx, Some(self.answer));
    }
}
