//! The chart: CPU time per record, a panel per topic, a bar per peer.

use std::fmt::Write as _;

use crate::figures::Results;
use crate::peer::{FLOOR, OURS, Peer, Program};
use crate::topic::{Batches, Topic};

const PANEL: f64 = 440.0;
/// For the names, left of the bars.
const NAMES: f64 = 120.0;
/// For the numbers, right of the longest bar.
const NUMBERS: f64 = 60.0;
const LINE: f64 = 20.0;
const TITLE: f64 = 34.0;
const COLUMNS: usize = 2;

/// An SVG that is legible on light and dark pages: it has a background of its own.
pub(crate) fn svg(results: &Results<'_>) -> String {
    let topics: Vec<&Topic> = results
        .topics()
        .into_iter()
        .filter(|topic| topic.batches == Batches::Large)
        .collect();
    let bars = |topic: &Topic| {
        results
            .peers(topic.name)
            .filter(|(peer, _)| is_shown(peer))
            .count()
    };
    let rows: Vec<f64> = topics
        .chunks(COLUMNS)
        .map(|row| TITLE + LINE * row.iter().map(|topic| bars(topic)).max().unwrap_or(0) as f64)
        .collect();
    let (width, height) = (PANEL * COLUMNS as f64, rows.iter().sum::<f64>() + LINE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <title>CPU time per record, by topic and client</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let mut top = 0.0;
    for (row, height) in topics.chunks(COLUMNS).zip(&rows) {
        for (column, topic) in row.iter().enumerate() {
            panel(&mut svg, results, topic.name, PANEL * column as f64, top);
        }
        top += height;
    }
    svg + "</svg>\n"
}

/// Ours with its defaults through `poll`, and all others.
fn is_shown(peer: &Peer) -> bool {
    peer.program != Program::Ours || peer.name == OURS
}

fn panel(svg: &mut String, results: &Results<'_>, topic: &str, left: f64, top: f64) {
    let shown: Vec<(&Peer, f64)> = results
        .peers(topic)
        .filter(|(peer, _)| is_shown(peer))
        .map(|(peer, figures)| (peer, figures.cpu_ns.median))
        .collect();
    let longest = shown.iter().map(|(_, ns)| *ns).fold(1.0, f64::max);
    let room = PANEL - NAMES - NUMBERS;
    text(
        svg,
        (left + NAMES, top + 24.0),
        "start",
        &format!("{topic}: CPU ns per record"),
        true,
    );
    for (line, (peer, ns)) in shown.iter().enumerate() {
        let y = top + TITLE + LINE * line as f64;
        let width = (room * ns / longest).max(1.0);
        let fill = match peer.name {
            FLOOR => "#9aa0a6",
            OURS => "#d9480f",
            _ => "#4c78a8",
        };
        text(
            svg,
            (left + NAMES - 6.0, y + 13.0),
            "end",
            peer.name,
            peer.name == OURS,
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
            left + NAMES,
            y + 2.0,
            LINE - 5.0
        );
        text(
            svg,
            (left + NAMES + width + 4.0, y + 13.0),
            "start",
            &format!("{ns:.0}"),
            false,
        );
    }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str, bold: bool) {
    let weight = if bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#202124\"{weight}>{words}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        let runs = [
            sample::run(1, "100B-none", "floor", 50.0, 1.0),
            sample::run(1, "100B-none", "ours", 100.0, 1.0),
            sample::run(1, "100B-none", "ours-8MiB", 999.0, 1.0),
            sample::run(1, "100B-none", "java-classic", 200.0, 1.0),
            sample::run(1, "single", "ours", 999.0, 1.0),
        ];
        let svg = svg(&Results::of(&runs));
        let widths: Vec<f64> = svg
            .lines()
            .filter(|line| line.contains("<rect x="))
            .filter_map(|line| {
                line.split_once("width=\"")?
                    .1
                    .split_once('"')?
                    .0
                    .parse()
                    .ok()
            })
            .collect();
        assert_eq!(widths, [65.0, 130.0, 260.0]);
        assert_eq!(svg.matches("CPU ns per record</text>").count(), 1);
        assert!(!svg.contains("999"), "{svg}");
    }
}
