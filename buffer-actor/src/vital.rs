//! An actor without which a consumer cannot go on, and whom its end is told if nobody asked for it.

use std::fmt::Debug;

use actix::Recipient;

/// An actor ended unasked: it panicked.
#[derive(Debug, actix::Message)]
#[rtype(result = "()")]
pub struct ActorFailed {
    /// Which.
    pub actor: &'static str,
    /// Its machine as the panic left it, for the log.
    pub state: String,
}

/// Held by an actor. A panic in one of its handlers or futures ends the actor, and whoever waits for it would wait for ever; actix
/// tells nobody, and its `Supervisor` does not see panics.
#[derive(Debug, Default)]
pub struct Vital(Option<(&'static str, Recipient<ActorFailed>)>);

impl Vital {
    /// `failed` hears of the end of `actor`.
    pub const fn new(actor: &'static str, failed: Recipient<ActorFailed>) -> Self {
        Self(Some((actor, failed)))
    }

    /// The actor stops, as it was told to. Not to be said in `Actor::stopped`, which actix calls after a panic, too.
    pub fn stopped(&mut self) {
        self.0 = None;
    }

    /// The actor is dropped, with its machine as it is.
    pub fn dropped(&mut self, machine: &dyn Debug) {
        if let Some((actor, failed)) = self.0.take() {
            let state = format!("{machine:?}");
            failed.do_send(ActorFailed { actor, state });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};
    use tokio::task::LocalSet;

    use super::*;

    type Heard = Arc<Mutex<Vec<(&'static str, String)>>>;

    struct Parent(Heard);

    impl Actor for Parent {
        type Context = Context<Self>;
    }

    impl Handler<ActorFailed> for Parent {
        type Result = ();

        fn handle(&mut self, failed: ActorFailed, _: &mut Context<Self>) {
            self.0.lock().unwrap().push((failed.actor, failed.state));
        }
    }

    struct Child {
        machine: u32,
        vital: Vital,
    }

    impl Actor for Child {
        type Context = Context<Self>;
    }

    impl Drop for Child {
        fn drop(&mut self) {
            self.vital.dropped(&self.machine);
        }
    }

    #[derive(Debug, Clone, Copy, Message)]
    #[rtype(result = "()")]
    enum End {
        Stop,
        PanicInHandler,
        PanicInFuture,
    }

    impl Handler<End> for Child {
        type Result = ();

        fn handle(&mut self, end: End, ctx: &mut Context<Self>) {
            self.machine += 1;
            match end {
                End::Stop => {
                    self.vital.stopped();
                    ctx.stop();
                }
                End::PanicInHandler => panic!("in a handler"),
                End::PanicInFuture => {
                    ctx.spawn(actix::fut::wrap_future(async { panic!("in a future") }));
                }
            }
        }
    }

    #[test]
    fn the_end_of_an_actor_is_told_unless_it_was_asked_for() {
        for (end, told) in [
            (End::Stop, vec![]),
            (End::PanicInHandler, vec![("child", "8".to_owned())]),
            (End::PanicInFuture, vec![("child", "8".to_owned())]),
        ] {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            let heard = Heard::default();
            LocalSet::new().block_on(&runtime, async {
                let parent = Parent(Arc::clone(&heard)).start();
                let child = Child {
                    machine: 7,
                    vital: Vital::new("child", parent.clone().recipient()),
                };
                let child = child.start();
                child.do_send(end);
                // until everybody has done what there is to do
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                assert!(!child.connected());
                drop(parent);
            });
            assert_eq!(*heard.lock().unwrap(), told, "{end:?}");
        }
    }
}
