//! The table, and whether memory stays within its bounds.

use crate::case::{Application, Case, Client, NODES};
use crate::measured::{Measured, records};

/// What allocators and page sizes may add to all that is resident.
const SLACK: f64 = 1.1;
/// The framing of a reply that is larger than what was reserved for it.
const FRAMING: u64 = 64 * 1024;

/// The largest batch that may come on top: decompressed, or larger than what was reserved for it (KIP-74).
fn on_top(case: &Case, measured: &Measured) -> u64 {
    if case.load.compressed || measured.end("overdrawn") > 0 {
        case.load.batch_bytes() + FRAMING
    } else {
        0
    }
}

/// The most that the process may take.
fn allowed(case: &Case, memory: u32, measured: &Measured) -> u64 {
    let idle = measured.get("idle", "rss").unwrap_or(0);
    let resident = (idle + u64::from(memory)) as f64 * SLACK;
    // a single record that is larger than the budget is here beside what it decompresses to
    let oversized = if case.load.compressed && measured.end("overdrawn") > 0 {
        measured.end("held").saturating_sub(memory.into())
    } else {
        0
    };
    // each piece that is kept has pages of its own
    let kept = measured.end("kept");
    resident as u64 + oversized + on_top(case, measured) + kept + kept / 100
}

/// What does not hold, in words.
pub(crate) fn breaches(case: &Case, measured: &Measured) -> Vec<String> {
    let mut breaches = Vec::new();
    let (read, expected) = (measured.end("records"), u64::from(records(case)));
    if read < expected {
        breaches.push(format!("{read} of {expected} records came"));
    }
    let Client::Ours(memory) = case.client else {
        return breaches;
    };
    let peak = measured.end("peak");
    let allowed = allowed(case, memory, measured);
    if peak > allowed {
        breaches.push(format!("{} MB resident, {} allowed", mb(peak), mb(allowed)));
    }
    let held = measured.end("held");
    let mut bound = u64::from(memory) + on_top(case, measured);
    if measured.end("overdrawn") > 0 {
        // what the other nodes were asked for before, and is not here yet, counts as held
        bound += u64::from(memory) * (NODES as u64 - 1) / (2 * NODES as u64) + FRAMING;
    }
    if held > bound {
        breaches.push(format!("{} MB held, {} allowed", mb(held), mb(bound)));
    }
    let reconnects = measured.reconnects();
    if reconnects > 0 || measured.end("sessions_lost") > 0 {
        breaches.push(format!(
            "{reconnects} reconnects, {} sessions lost",
            measured.end("sessions_lost")
        ));
    }
    breaches
}

pub(crate) const HEAD: &str = "| records | application | client | idle | after the stop | peak | at the end | allowed | held, kept left out | kept | \
     records read | reconnects | overdrawn | discarded | gave way | compression | holds |\n\
     |---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|";

/// A row of the table. Sizes are in MB.
pub(crate) fn row(case: &Case, measured: &Measured) -> String {
    let rss = |moment, name| measured.get(moment, name).map_or("-".to_owned(), mb);
    let ours = |text: String| match case.client {
        Client::Ours(_) => text,
        Client::Java => "-".to_owned(),
    };
    let allowed = match case.client {
        Client::Ours(memory) => mb(allowed(case, memory, measured)),
        Client::Java => "-".to_owned(),
    };
    let (received, consumed) = (measured.end("received"), measured.end("consumed"));
    let compression =
        if case.load.compressed && case.application != Application::One && received > 0 {
            format!("{:.0} : 1", consumed as f64 / received as f64)
        } else {
            "-".to_owned()
        };
    let breaches = breaches(case, measured);
    let holds = match case.client {
        Client::Java => "-".to_owned(),
        Client::Ours(_) if breaches.is_empty() => "yes".to_owned(),
        Client::Ours(_) => format!("NO: {}", breaches.join("; ")),
    };
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {allowed} | {} | {} | {} | {} | {} | {} | {} | {compression} | {holds} |",
        case.load.topic,
        case.application,
        case.client,
        rss("idle", "rss"),
        rss("stopped", "rss"),
        rss("end", "peak"),
        rss("end", "rss"),
        ours(mb(measured.end("held"))),
        ours(mb(measured.end("kept"))),
        measured.end("records"),
        ours(measured.reconnects().to_string()),
        ours(measured.end("overdrawn").to_string()),
        ours(measured.end("discarded").to_string()),
        ours(measured.end("dropped").to_string()),
    )
}

fn mb(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use anyhow::Result;

    use super::*;
    use crate::case::Extent;

    fn case(topic: &str, application: Application) -> Case {
        let all = Extent {
            short: false,
            java: false,
        }
        .cases();
        let found = all.into_iter().find(|case| {
            case.load.topic == topic
                && case.application == application
                && case.client == Client::Ours(1 << 20)
        });
        found.expect("a case")
    }

    #[test]
    fn what_is_beyond_a_bound_is_told() -> Result<()> {
        let good = "idle rss=10000000\nstopped rss=11000000\n\
                    end rss=10500000 peak=12100000 records=200000 held=1048576 kept=0 connections=6 sessions_lost=0 overdrawn=0";
        let told = |text: &str, application| -> Result<Vec<String>> {
            Ok(breaches(&case("1KB", application), &Measured::parse(text)?))
        };
        assert_eq!(told(good, Application::Stop)?, Vec::<String>::new());
        // what is changed, and what is said of it
        let table = [
            (
                "peak=12100000",
                "peak=12200000",
                "12.2 MB resident, 12.2 allowed",
            ),
            ("held=1048576", "held=1148577", "1.1 MB held, 1.0 allowed"),
            (
                "records=200000",
                "records=199999",
                "199999 of 200000 records came",
            ),
            (
                "connections=6",
                "connections=7",
                "1 reconnects, 0 sessions lost",
            ),
        ];
        for (from, to, said) in table {
            assert_eq!(told(&good.replace(from, to), Application::Stop)?, [said]);
        }
        let kept = good.replace("peak=12100000", "peak=52100000");
        let kept = kept.replace("kept=0", "kept=40000000");
        assert_eq!(told(&kept, Application::Keep)?, Vec::<String>::new());
        let overdrawn = good.replace("held=1048576", "held=1548576");
        let overdrawn = overdrawn.replace("overdrawn=0", "overdrawn=1");
        assert_eq!(told(&overdrawn, Application::Stop)?, Vec::<String>::new());
        Ok(())
    }

    /// A compressed record of 3 MB that is 8 MB large, in a budget of 1 MiB.
    #[test]
    fn a_record_larger_than_the_budget_is_there_twice() -> Result<()> {
        let text = "idle rss=9000000\nstopped rss=9000000\n\
                    end rss=9500000 peak=21000000 records=50 held=3400000 kept=0 connections=6 sessions_lost=0 overdrawn=1";
        let case = case("8MB-lz4", Application::Stop);
        let told =
            |text: &str| -> Result<Vec<String>> { Ok(breaches(&case, &Measured::parse(text)?)) };
        assert_eq!(told(text)?, Vec::<String>::new());
        let more = text.replace("peak=21000000", "peak=22000000");
        assert_eq!(told(&more)?, ["22.0 MB resident, 21.5 allowed"]);
        Ok(())
    }
}
