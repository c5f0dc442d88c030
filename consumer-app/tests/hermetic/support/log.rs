//! What is logged.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a test and gives what was logged on its thread, warnings and errors, beside what it gives.
pub(crate) fn logged<T>(test: impl FnOnce() -> T) -> (String, T) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .finish();
    let result = tracing::subscriber::with_default(subscriber, test);
    let log = String::from_utf8_lossy(&lines.lock()).into_owned();
    (log, result)
}
