//! The one timer of an actor: armed at the next deadline that its machine names.

use std::time::Instant;

use actix::{Actor, AsyncContext, Context, SpawnHandle};

/// An actor's timer, or none while its machine waits for nothing.
#[derive(Debug, Default)]
pub struct Alarm(Option<(Instant, SpawnHandle)>);

impl Alarm {
    /// Arms it for `deadline`, in place of what it was armed for. `ring` is called once the time has come, and begins with
    /// [`rang`](Self::rang).
    pub fn set<A: Actor<Context = Context<A>>>(
        &mut self,
        deadline: Option<Instant>,
        ctx: &mut Context<A>,
        ring: fn(&mut A, &mut Context<A>),
    ) {
        if self.0.map(|(at, _)| at) == deadline {
            return;
        }
        if let Some((_, handle)) = self.0.take() {
            ctx.cancel_future(handle);
        }
        self.0 = deadline.map(|at| {
            let now = tokio::time::Instant::now().into_std();
            let handle = ctx.run_later(at.saturating_duration_since(now), ring);
            (at, handle)
        });
    }

    /// The time has come: it is armed no more.
    pub const fn rang(&mut self) {
        self.0 = None;
    }
}
