//! What handles tell actors to do: one command after the other, whether or not anybody waits for the answer.

use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix::dev::{MessageResponse, ToEnvelope};
use actix::{Actor, Addr, Handler, Message};
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
    _turn: Turn,
}

impl<M: Message> Message for Command<M> {
    type Result = ();
}

impl<M> Command<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
{
    /// Has an actor handle the message, and answers.
    pub fn handle_by<A: Actor + Handler<M>>(self, actor: &mut A, ctx: &mut A::Context) {
        let done = <A as Handler<M>>::handle(actor, self.message, ctx);
        done.handle(ctx, Some(self.answer));
    }
}

/// The commands of one consumer, to whatever actor: each is sent when the one before it was handled. So they are done in the order of
/// the calls, also where one actor gets to its mailbox before another does. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Commands(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// How many there were, and how many of them were handled.
    begun: AtomicU64,
    done: AtomicU64,
    queue: Mutex<Queue>,
    ended: Notify,
}

#[derive(Default)]
struct Queue {
    /// How to send each of those that were not.
    waiting: VecDeque<Box<dyn FnOnce() + Send>>,
    /// One was sent and not handled yet.
    is_under_way: bool,
    /// Somebody is about to send those whose turn it is.
    is_sending: bool,
}

impl Commands {
    /// Tells an actor to do something, when all before it is done. The answer fails if the actor has stopped.
    pub fn send<A, M>(&self, actor: &Addr<A>, message: M) -> oneshot::Receiver<M::Result>
    where
        A: Actor + Handler<Command<M>>,
        A::Context: ToEnvelope<A, Command<M>>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        let (answer, answered) = oneshot::channel();
        let actor = actor.clone();
        let command = Command {
            message,
            answer,
            _turn: Turn(Arc::clone(&self.0)),
        };
        self.0.push(Box::new(move || actor.do_send(command)));
        answered
    }

    /// Whether all are handled that were made.
    pub fn is_idle(&self) -> bool {
        self.0.done.load(Ordering::Acquire) >= self.0.begun.load(Ordering::Acquire)
    }

    /// Until all are handled that were made before this call. It takes what the actors' thread takes to get to them, no answer of a broker.
    pub fn done(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let inner = Arc::clone(&self.0);
        let last = inner.begun.load(Ordering::Acquire);
        async move {
            while inner.done.load(Ordering::Acquire) < last {
                let mut ended = pin!(inner.ended.notified());
                // before looking once more, or an end in between would not be noticed
                ended.as_mut().enable();
                if inner.done.load(Ordering::Acquire) >= last {
                    return;
                }
                ended.await;
            }
        }
    }
}

impl Inner {
    fn push(&self, send: Box<dyn FnOnce() + Send>) {
        let mut queue = self.queue();
        queue.waiting.push_back(send);
        self.begun.fetch_add(1, Ordering::AcqRel);
        drop(queue);
        self.go_on();
    }

    /// Sends the next one, unless one is under way. One that nobody handles is over at once, and then it is the next one's turn: in this loop, and
    /// not within one another, however many there are.
    fn go_on(&self) {
        let mut queue = self.queue();
        if queue.is_sending {
            return;
        }
        queue.is_sending = true;
        while !queue.is_under_way
            && let Some(send) = queue.waiting.pop_front()
        {
            queue.is_under_way = true;
            drop(queue);
            let sending = Sending(self);
            send();
            std::mem::forget(sending);
            queue = self.queue();
        }
        queue.is_sending = false;
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody sends. Dropped only where that panics: a message that nobody takes drops its answer, and so wakes whoever waits for that.
struct Sending<'a>(&'a Inner);

impl Drop for Sending<'_> {
    fn drop(&mut self) {
        self.0.queue().is_sending = false;
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands")
            .field("begun", &self.begun)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

/// A command's turn, which is over when this is dropped: it was handled, or its actor is gone.
#[derive(Debug)]
struct Turn(Arc<Inner>);

impl Drop for Turn {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.is_under_way = false;
        self.0.done.fetch_add(1, Ordering::AcqRel);
        drop(queue);
        self.0.go_on();
        self.0.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::{Context, Poll, Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Where commands go: one mailbox for whatever actors.
    type Sent = Arc<Mutex<Vec<(u32, Turn)>>>;

    fn tell(commands: &Commands, sent: &Sent, name: u32) {
        let (sent, turn) = (Arc::clone(sent), Turn(Arc::clone(&commands.0)));
        let send = move || sent.lock().unwrap().push((name, turn));
        commands.0.push(Box::new(send));
    }

    fn handle(sent: &Sent) -> Option<u32> {
        let first = {
            let mut sent = sent.lock().unwrap();
            (!sent.is_empty()).then(|| sent.remove(0))
        };
        first.map(|(name, _)| name)
    }

    #[test]
    fn each_is_sent_when_the_one_before_it_was_handled() {
        let (commands, sent) = (Commands::default(), Sent::default());
        for name in 1..=3 {
            tell(&commands, &sent, name);
        }
        for name in 1..=3 {
            assert_eq!(sent.lock().unwrap().len(), 1);
            assert_eq!(handle(&sent), Some(name));
        }
        assert_eq!(handle(&sent), None);
    }

    #[test]
    fn who_waits_is_woken_when_all_before_is_done_and_for_nothing_later() {
        let (commands, sent) = (Commands::default(), Sent::default());
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        assert!(pin!(commands.done()).poll(&mut context).is_ready());
        tell(&commands, &sent, 1);
        tell(&commands, &sent, 2);
        let mut done = pin!(commands.done());
        tell(&commands, &sent, 3);
        assert!(done.as_mut().poll(&mut context).is_pending());
        handle(&sent);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert!(done.as_mut().poll(&mut context).is_pending());
        handle(&sent);
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
        assert_eq!(done.as_mut().poll(&mut context), Poll::Ready(()));
    }

    #[test]
    fn a_panic_while_one_is_sent_stops_none_of_the_others() {
        let (commands, sent) = (Commands::default(), Sent::default());
        let turn = Turn(Arc::clone(&commands.0));
        let panics = std::panic::AssertUnwindSafe(|| {
            commands.0.push(Box::new(move || {
                let _turn = turn;
                panic!("a waker");
            }));
        });
        assert!(std::panic::catch_unwind(panics).is_err());
        tell(&commands, &sent, 1);
        assert_eq!(handle(&sent), Some(1));
        assert!(commands.is_idle());
    }

    #[test]
    fn many_that_nobody_handles_are_over_one_after_the_other() {
        let (commands, sent) = (Commands::default(), Sent::default());
        tell(&commands, &sent, 0);
        for _ in 0..100_000 {
            let turn = Turn(Arc::clone(&commands.0));
            commands.0.push(Box::new(move || drop(turn)));
        }
        handle(&sent);
        assert_eq!(commands.0.done.load(Ordering::SeqCst), 100_001);
    }
}
