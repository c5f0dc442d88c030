//! Messages that are acted upon whether or not anybody waits for their answer, and when they are done.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::dev::MessageResponse;
use actix::{Actor, Handler, Message};
use tokio::sync::{Notify, oneshot};

/// Handle -> any actor: do this. An actor handles `Command<M>` wherever it handles `M`.
///
/// `Addr::send` is for questions: actix leaves out a message whose asker is gone by the time it would be handled, and as long as
/// the mailbox is full it does not even send it before its future is polled. That will not do for a seek or a pause, which an
/// application may well tell without waiting for it. So a command goes by `do_send`.
#[derive(Debug)]
pub struct Command<M: Message> {
    message: M,
    answer: oneshot::Sender<M::Result>,
    _under_way: UnderWay,
}

impl<M: Message> Message for Command<M> {
    type Result = ();
}

impl<M> Command<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// A command, one of `commands` from now on, and its answer, which fails if the actor has stopped.
    pub fn new(message: M, commands: &Commands) -> (Self, oneshot::Receiver<M::Result>) {
        let (answer, answered) = oneshot::channel();
        let command = Self {
            message,
            answer,
            _under_way: commands.begin(),
        };
        (command, answered)
    }

    /// Has an actor handle the message, and answers.
    pub fn handle_by<A: Actor + Handler<M>>(self, actor: &mut A, ctx: &mut A::Context) {
        let done = <A as Handler<M>>::handle(actor, self.message, ctx);
        done.handle(ctx, Some(self.answer));
    }
}

/// The commands of one consumer that are under way, to whatever actor. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Commands(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// As many as `List::under_way` has, to be read without the lock.
    count: AtomicUsize,
    list: Mutex<List>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct List {
    begun: u64,
    under_way: BTreeSet<u64>,
}

impl Commands {
    fn begin(&self) -> UnderWay {
        let mut list = self.0.list();
        list.begun += 1;
        let number = list.begun;
        list.under_way.insert(number);
        self.0.count.store(list.under_way.len(), Ordering::Release);
        UnderWay {
            number,
            commands: Arc::clone(&self.0),
        }
    }

    /// Until all are done that were made before this call. It takes what the actors' thread takes to get to them, no answer of a broker.
    pub fn done(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let inner = Arc::clone(&self.0);
        let is_idle = inner.count.load(Ordering::Acquire) == 0;
        let last = if is_idle { 0 } else { inner.list().begun };
        async move {
            while !inner.are_done(last) {
                let mut ended = pin!(inner.ended.notified());
                // before looking once more, or an end in between would not be noticed
                ended.as_mut().enable();
                if inner.are_done(last) {
                    return;
                }
                ended.await;
            }
        }
    }
}

impl Inner {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn are_done(&self, last: u64) -> bool {
        last == 0 || self.list().under_way.first().is_none_or(|&it| it > last)
    }
}

/// A command that is under way, and not any more when this is dropped: it was handled, or its actor is gone.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    commands: Arc<Inner>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut list = self.commands.list();
        list.under_way.remove(&self.number);
        let count = list.under_way.len();
        self.commands.count.store(count, Ordering::Release);
        drop(list);
        self.commands.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn poll(future: &mut std::pin::Pin<Box<impl Future<Output = ()>>>) -> Poll<()> {
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn who_waits_waits_for_what_was_begun_before_and_for_nothing_else() {
        let commands = Commands::default();
        assert_eq!(poll(&mut Box::pin(commands.done())), Poll::Ready(()));
        let (first, second) = (commands.begin(), commands.begin());
        let mut done = Box::pin(commands.done());
        let third = commands.begin();
        assert_eq!(poll(&mut done), Poll::Pending);
        // their actors are not the same
        drop(second);
        assert_eq!(poll(&mut done), Poll::Pending);
        drop(first);
        assert_eq!(poll(&mut done), Poll::Ready(()));
        let mut later = Box::pin(commands.done());
        assert_eq!(poll(&mut later), Poll::Pending);
        drop(third);
        assert_eq!(poll(&mut later), Poll::Ready(()));
    }
}
