//! Ctrl-C and SIGTERM: the first asks for an orderly end, the second one ends at once.

use tokio::sync::watch;

/// Becomes true with the first signal.
#[derive(Debug, Clone)]
pub(super) struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// Begins to listen. Within a tokio runtime.
    pub(super) fn listen() -> anyhow::Result<Self> {
        let (sender, receiver) = watch::channel(false);
        let mut terminate = signal()?;
        tokio::spawn(async move {
            for seen in 1.. {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    () = terminate.next() => {}
                }
                if seen > 1 || sender.send(true).is_err() {
                    std::process::exit(130);
                }
            }
        });
        Ok(Self(receiver))
    }

    pub(super) fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for the first signal.
    pub(super) async fn wait(&mut self) {
        if self.0.wait_for(|&set| set).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Terminate(tokio::signal::unix::Signal);

#[cfg(unix)]
fn signal() -> anyhow::Result<Terminate> {
    use tokio::signal::unix::{SignalKind, signal};
    Ok(Terminate(signal(SignalKind::terminate())?))
}

#[cfg(unix)]
impl Terminate {
    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
struct Terminate;

#[cfg(not(unix))]
fn signal() -> anyhow::Result<Terminate> {
    Ok(Terminate)
}

#[cfg(not(unix))]
impl Terminate {
    async fn next(&mut self) {
        std::future::pending::<()>().await;
    }
}
