//! What goes to stderr: log lines of the library, notes for whoever watches, and why the program failed.

use std::fmt;
use std::io::{self, IsTerminal};

use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber, error, info};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{self, FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, Layer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The target of notes; its subtargets too are for people rather than for a log.
const NOTES: &str = "consumer-app";
/// A target of its own, so that RUST_LOG cannot hide why the program failed.
const FAILURE: &str = "consumer-app::failure";

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Format {
    /// A line of text.
    Text,
    /// A JSON object a line.
    Json,
}

/// Begins to write to stderr. Once per process.
pub(super) fn start(format: Format) {
    let (filter, ignored) = filter(std::env::var("RUST_LOG").ok().as_deref());
    // a closed stderr is no reason to stop
    let layer = Layer::new()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .log_internal_errors(false);
    let registry = tracing_subscriber::registry().with(filter);
    match format {
        Format::Text => registry.with(layer.event_format(Lines::default())).init(),
        Format::Json => registry.with(layer.json()).init(),
    }
    if let Some(why) = ignored {
        note(format_args!("RUST_LOG is ignored: {why}"));
    }
}

/// Which events are written as RUST_LOG has it, and why it is ignored if it is.
fn filter(directives: Option<&str>) -> (EnvFilter, Option<String>) {
    let usual = || EnvFilter::new(format!("warn,{NOTES}=info"));
    let directives = directives.unwrap_or_default().trim();
    let (filter, ignored) = if directives.is_empty() {
        (usual(), None)
    } else {
        match EnvFilter::builder().parse(directives) {
            Ok(filter) => (filter, None),
            Err(error) => (usual(), Some(error.to_string())),
        }
    };
    let failure = format!("{FAILURE}={}", LevelFilter::ERROR);
    let filter = match failure.parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    };
    (filter, ignored)
}

/// Tells whoever watches something that is neither data nor a failure.
pub(super) fn note(text: impl fmt::Display) {
    info!(target: NOTES, "{text}");
}

/// Tells why the program ends with a failure, its causes after it where it does not tell them itself.
pub(super) fn failure(error: &anyhow::Error) {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    error!(target: FAILURE, "{text}");
}

/// Log lines as tracing writes them; notes and failures as those of a command, without time and origin.
#[derive(Default)]
struct Lines(format::Format);

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if !event.metadata().target().starts_with(NOTES) {
            return self.0.format_event(context, writer, event);
        }
        write!(writer, "consumer-app: ")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{debug, warn};

    use super::*;

    /// What is written with RUST_LOG set to this, and whether it was understood.
    fn written(directives: Option<&str>) -> (String, bool) {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bytes);
        let (filter, ignored) = filter(directives);
        let layer = Layer::new()
            .with_writer(move || Shared(Arc::clone(&shared)))
            .with_ansi(false)
            .event_format(Lines::default());
        let subscriber = tracing_subscriber::registry().with(filter).with(layer);
        tracing::subscriber::with_default(subscriber, || {
            warn!(broker = 7, "a warning");
            debug!("a detail");
            note("a note");
            failure(
                &anyhow::anyhow!("inner")
                    .context("has inner in it")
                    .context("outer"),
            );
        });
        let bytes = bytes.lock().unwrap().clone();
        (String::from_utf8(bytes).unwrap(), ignored.is_none())
    }

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn f076_what_goes_to_stderr_can_be_silenced_but_not_why_the_program_failed() {
        let failure = "consumer-app: outer: has inner in it\n";
        for unset in [None, Some(""), Some(" ")] {
            let (text, understood) = written(unset);
            assert!(understood);
            let lines: Vec<_> = text.lines().collect();
            assert_eq!(lines.len(), 3, "{text}");
            assert!(lines[0].contains("WARN") && lines[0].ends_with("a warning broker=7"));
            assert_eq!(lines[1], "consumer-app: a note");
            assert_eq!(format!("{}\n", lines[2]), failure);
        }
        assert_eq!(written(Some("off")), (failure.to_owned(), true));
        assert_eq!(
            written(Some("another_crate=trace")),
            (failure.to_owned(), true)
        );
        let (text, _) = written(Some("debug"));
        assert!(
            text.contains("a detail") && text.contains("a note"),
            "{text}"
        );
    }

    #[test]
    fn a_rust_log_that_is_not_understood_is_as_none() {
        let (text, understood) = written(Some("a=b=c"));
        assert!(!understood);
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
