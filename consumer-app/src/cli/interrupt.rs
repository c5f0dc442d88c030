//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second one ends at once.

use std::sync::mpsc;
use std::thread;

use tokio::sync::watch;

/// As shells have it for a program that SIGINT ended.
const EXIT_INTERRUPTED: i32 = 130;

/// Becomes true with the first signal.
#[derive(Debug, Clone)]
pub(super) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Begins to listen, on a thread of its own: the one that prints may hang in a pipe that nobody reads.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let (ready, started) = mpsc::channel();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let done = runtime.and_then(|runtime| {
                    runtime.block_on(async {
                        let mut signals = Signals::new()?;
                        let _ = ready.send(Ok(()));
                        signals.next().await;
                        // nobody may be waiting for it any more
                        let _ = sender.send(true);
                        signals.next().await;
                        std::process::exit(EXIT_INTERRUPTED)
                    })
                });
                let _ = ready.send(done);
            })?;
        started.recv()??;
        Ok(Self(receiver))
    }

    /// Waits for the first signal; at once if it has come.
    pub(super) async fn wait(&mut self) {
        if self.0.wait_for(|&set| set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self(tokio::signal::windows::ctrl_c()?))
    }

    async fn next(&mut self) {
        self.0.recv().await;
    }
}
