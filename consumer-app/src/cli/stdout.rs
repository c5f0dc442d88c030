//! Results go here, and nothing else. That nobody reads them any more, as after `| head -1`, is no failure.

use std::fmt;
use std::io::{self, Write};
#[cfg(unix)]
use std::os::fd::AsFd;

use super::output::Reader;

/// Prints a line.
pub(super) fn print(line: impl fmt::Display) -> io::Result<Reader> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{line}").and_then(|()| stdout.flush()) {
        Ok(()) => Ok(Reader::Listening),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

/// Waits until the other end of the pipe that stdout is has been closed; for ever if stdout is no pipe. A write tells too,
/// but there may be nothing to write for hours.
#[cfg(unix)]
pub(super) async fn closed() {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    let (closed, is_closed) = tokio::sync::oneshot::channel();
    let watching = std::thread::Builder::new()
        .name("stdout".to_owned())
        .spawn(move || {
            let stdout = io::stdout();
            // asked for nothing, the system tells errors and hang-ups only
            let mut watched = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
            while let Err(nix::errno::Errno::EINTR) = poll(&mut watched, PollTimeout::NONE) {}
            let is_gone = watched.iter().any(|stdout| stdout.any() == Some(true));
            if is_gone {
                let _ = closed.send(());
            }
        });
    if watching.is_err() || is_closed.await.is_err() {
        std::future::pending().await
    }
}

/// Waits for ever: a write tells.
#[cfg(not(unix))]
pub(super) async fn closed() {
    std::future::pending().await
}
