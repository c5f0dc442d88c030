//! The table, and whether the figures that matter are reached.

use consumer_app::Policy;

use crate::lane::{Measured, Plan};
use crate::mode::{Client, Mode, Version};
use crate::setting::{PARTITIONS, SESSION_AGE, Setting};

/// Against the Java client of the same run.
const MOST_REQUEST_BYTES: f64 = 1.2;
/// The same where partitions are resumed during long polls: ours asks for them at once, Java when the poll has ended.
const MOST_REQUEST_BYTES_PAUSING: f64 = 2.5;
const DEFAULT: Mode = Mode::Ours(Policy::ReadAhead);

/// A Markdown table, a row per mode.
pub(crate) fn table(setting: Setting, plan: &Plan, all: &[Measured]) -> String {
    let Plan { load, newcomers } = plan;
    let (slots, brokers) = (load.slots, load.brokers);
    let seconds = load.measure.as_secs();
    let mut text = format!(
        "Setting {setting:?}: {brokers} brokers of {slots} slots, {} readers and {newcomers} newcomers of {PARTITIONS} partitions, {seconds} s after {} s; \
         {} records of {} bytes each {:?}, {} per poll, {:?} to {:?} of work, {:?} max wait\n\n",
        load.readers,
        load.skip.as_secs(),
        load.records,
        load.record_bytes,
        load.period,
        load.max_poll_records,
        load.work.0,
        load.work.1,
        load.fetch_max_wait,
    );
    text += "| mode | evictions | per s | share of the most | by age | sessions | size (lowest) | full fetches given + refused | id not found \
             | partitions forgotten (paused or given away) | requests/s | request kB/s | response kB/s | records/s | of those written | touches |\n";
    text += "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
    let most = f64::from(slots) * f64::from(brokers) / SESSION_AGE.as_secs_f64();
    for one in all {
        let per_second = |value: f64| value / one.seconds;
        let records = per_second(one.records as f64);
        let known =
            |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let (touches, let_go) = (known(one.touches), known(one.let_go));
        text += &format!(
            "| {} | {} | {:.3} | {:.0} % | {} | {:.1} | {:.1} ({:.1}) | {} + {} | {} | {} ({let_go}) | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} % | {touches} |\n",
            one.mode,
            one.evictions,
            per_second(one.evictions),
            100.0 * per_second(one.evictions) / most,
            one.logged.evicted_by_age,
            one.sessions,
            one.size,
            one.lowest_size,
            one.logged.created,
            one.logged.refused,
            one.id_not_found,
            one.logged.forgotten,
            per_second(one.requests),
            per_second(one.request_bytes) / 1_000.0,
            per_second(one.response_bytes) / 1_000.0,
            records,
            100.0 * records / (load.written_per_second() * f64::from(load.readers)),
        );
    }
    text
}

/// A figure that our default policy has to reach, or that shows that the lab measures what it says.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) reached: bool,
}

/// Every figure that can be judged with the modes that ran.
pub(crate) fn verdicts(setting: Setting, all: &[Measured]) -> Vec<Verdict> {
    let of = |mode: Mode| all.iter().find(|one| one.mode == mode);
    let mut verdicts = Vec::new();
    let mut verdict = |what: String, reached: bool| verdicts.push(Verdict { what, reached });
    let java =
        [Client::Classic, Client::Async].map(|client| of(Mode::Java(client, Version::V4_4_0)));
    if let Some(ours) = of(DEFAULT) {
        let by_age = ours.logged.evicted_by_age;
        let evictions = ours.evictions;
        let forgotten = ours.logged.forgotten;
        match setting {
            Setting::A | Setting::B | Setting::E => {
                verdict(format!("no eviction: {evictions}"), evictions == 0.0);
                let (lowest, full) = (ours.lowest_size, setting.load().full_session());
                verdict(
                    format!("every session has its full size throughout: lowest {lowest}"),
                    lowest == full,
                );
                verdict(
                    format!("no partition is forgotten: {forgotten}"),
                    forgotten == 0,
                );
            }
            Setting::C => verdict(format!("no eviction by age: {by_age}"), by_age == 0),
            Setting::D => {
                verdict(format!("no eviction by age: {by_age}"), by_age == 0);
                let touches = ours.touches.unwrap_or_default();
                verdict(format!("sessions are touched: {touches}"), touches > 0);
            }
            Setting::F | Setting::G => {
                verdict(format!("no eviction: {evictions}"), evictions == 0.0);
                let let_go = ours.let_go.unwrap_or_default();
                verdict(
                    format!(
                        "partitions are paused or given away, and none other is forgotten: {forgotten} of {let_go}"
                    ),
                    let_go > 0 && forgotten <= let_go,
                );
            }
        }
        let most = match setting {
            Setting::A | Setting::B | Setting::C | Setting::E | Setting::F => {
                Some(MOST_REQUEST_BYTES)
            }
            Setting::G => Some(MOST_REQUEST_BYTES_PAUSING),
            // ours has less memory than Java
            Setting::D => None,
        };
        if let Some(most) = most {
            for java in java.into_iter().flatten() {
                let share = ours.request_bytes / java.request_bytes;
                verdict(
                    format!("request bytes, of those of {}: {share:.2}", java.mode),
                    share <= most,
                );
            }
        }
    }
    // without evictions where they are known to happen, none elsewhere means nothing
    let controls: &[Mode] = match setting {
        Setting::A | Setting::B | Setting::E => &[
            Mode::Ours(Policy::OmitBuffered),
            Mode::Java(Client::Async, Version::V3_9_1),
        ],
        Setting::C | Setting::D => &[
            Mode::Java(Client::Async, Version::V4_4_0),
            Mode::Java(Client::Classic, Version::V4_4_0),
        ],
        Setting::F | Setting::G => &[],
    };
    for control in controls.iter().filter_map(|mode| of(*mode)) {
        verdict(
            format!("{} loses sessions: {}", control.mode, control.evictions),
            control.evictions > 0.0,
        );
    }
    // the same where sessions have slots for all: there it is partitions that leave them
    if matches!(setting, Setting::F | Setting::G)
        && let Some(omit) = of(Mode::Ours(Policy::OmitBuffered))
    {
        let (forgotten, let_go) = (omit.logged.forgotten, omit.let_go.unwrap_or_default());
        verdict(
            format!(
                "{} forgets other partitions, too: {forgotten} of {let_go}",
                omit.mode
            ),
            forgotten > let_go,
        );
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Logged;

    fn measured(mode: Mode) -> Measured {
        Measured {
            mode,
            seconds: 100.0,
            evictions: 0.0,
            id_not_found: 0.0,
            requests: 100.0,
            request_bytes: 1_000.0,
            response_bytes: 1_000.0,
            logged: Logged::default(),
            sessions: 16.0,
            size: 24.0,
            lowest_size: 24.0,
            records: 100,
            touches: Some(0),
            let_go: Some(0),
        }
    }

    fn missed(setting: Setting, all: &[Measured]) -> Vec<String> {
        let missed = verdicts(setting, all).into_iter();
        let missed = missed.filter(|verdict| !verdict.reached);
        missed.map(|verdict| verdict.what).collect()
    }

    #[test]
    fn a_figure_that_is_missed_is_told() {
        let java = measured(Mode::Java(Client::Async, Version::V4_4_0));
        let good = measured(DEFAULT);
        assert_eq!(
            missed(Setting::B, &[good, java]),
            Vec::<String>::new(),
            "all as it should be"
        );
        let bad = Measured {
            evictions: 1.0,
            lowest_size: 23.5,
            request_bytes: 1_300.0,
            logged: Logged {
                evicted_by_age: 1,
                forgotten: 2,
                ..Logged::default()
            },
            ..good
        };
        let of_sessions = [
            "no eviction: 1",
            "every session has its full size throughout: lowest 23.5",
            "no partition is forgotten: 2",
            "request bytes, of those of Java async-4.4.0: 1.30",
        ];
        assert_eq!(missed(Setting::B, &[bad, java]), of_sessions);
        assert_eq!(missed(Setting::C, &[bad]), ["no eviction by age: 1"]);
        let of_groups = [
            "no eviction: 1",
            "partitions are paused or given away, and none other is forgotten: 2 of 1",
        ];
        let bad_member = Measured {
            let_go: Some(1),
            ..bad
        };
        assert_eq!(missed(Setting::F, &[bad_member]), of_groups);
        let of_touches = ["no eviction by age: 1", "sessions are touched: 0"];
        assert_eq!(missed(Setting::D, &[bad]), of_touches);
    }

    #[test]
    fn where_nothing_is_lost_that_should_be_the_lab_proves_nothing() {
        let omit = measured(Mode::Ours(Policy::OmitBuffered));
        let java = measured(Mode::Java(Client::Classic, Version::V4_4_0));
        assert_eq!(
            missed(Setting::A, &[omit, java]),
            ["ours omit loses sessions: 0"]
        );
        assert_eq!(
            missed(Setting::G, &[omit]),
            ["ours omit forgets other partitions, too: 0 of 0"]
        );
        assert_eq!(
            missed(Setting::C, &[omit, java]),
            ["Java classic-4.4.0 loses sessions: 0"]
        );
    }
}
