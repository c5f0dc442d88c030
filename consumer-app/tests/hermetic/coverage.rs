//! The page `docs/coverage.md` is true: every number is tested where it says, or listed with the reason why it is not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The last numbers of both lists.
const LAST: [(char, u32); 2] = [('F', 78), ('B', 209)];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust sources, by their path from the top of the workspace.
fn sources(folder: &Path, found: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") {
            let short = path
                .strip_prefix(workspace())
                .expect("within the workspace");
            let text = fs::read_to_string(&path).expect("a source");
            found.push((short.to_string_lossy().into_owned(), text));
        }
    }
}

/// The numbers that the name of a test begins with.
fn numbers_of(name: &str) -> impl Iterator<Item = String> {
    let is_number = |part: &&str| {
        let (kind, digits) = part.split_at_checked(1).unwrap_or_default();
        matches!(kind, "f" | "b") && digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit())
    };
    name.split('_').take_while(is_number).map(str::to_uppercase)
}

/// The files that test each number.
fn tested() -> BTreeMap<String, BTreeSet<String>> {
    let mut all = Vec::new();
    sources(&workspace(), &mut all);
    let mut tested: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in all {
        for line in text.lines() {
            let Some((_, name)) = line.split_once("fn ") else {
                continue;
            };
            for number in numbers_of(name) {
                tested.entry(number).or_default().insert(file.clone());
            }
        }
    }
    tested
}

/// `F018 to F024, F036` as numbers.
fn range(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    for part in text.split(", ") {
        let (first, last) = part.split_once(" to ").unwrap_or((part, part));
        let (kind, from) = first.split_at(1);
        let bounds = [from, &last[1..]].map(|digits| digits.parse::<u32>().expect("a number"));
        numbers.extend((bounds[0]..=bounds[1]).map(|number| format!("{kind}{number:03}")));
    }
    numbers
}

/// The cells of a row that begins with a number.
fn row(line: &str) -> Option<Vec<&str>> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<&str> = cells.split(" | ").collect();
    numbers_of(&cells[0].get(..4)?.to_lowercase()).next()?;
    Some(cells)
}

#[test]
fn every_number_is_tested_or_listed_with_a_reason() {
    let page = workspace().join("docs/coverage.md");
    let mut text = fs::read_to_string(&page).expect("the page");
    let tested = tested();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let lines = text.lines().map(|line| match row(line).as_deref() {
            Some([number, what, _]) => {
                let files = tested.get(*number).into_iter().flatten();
                let files: Vec<String> = files.map(|file| format!("`{file}`")).collect();
                format!("| {number} | {what} | {} |", files.join(", "))
            }
            _ => line.to_owned(),
        });
        text = lines.collect::<Vec<_>>().join("\n") + "\n";
        fs::write(&page, &text).expect("the page is written");
    }
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for cells in text.lines().filter_map(row) {
        match cells[..] {
            [number, _, files] => {
                assert!(listed.insert(number.to_owned()), "{number} is listed twice");
                for file in files.split(", ").map(|file| file.trim_matches('`')) {
                    let there = tested.get(number).is_some_and(|files| files.contains(file));
                    assert!(
                        there,
                        "{number} is not tested in {file}; run with UPDATE_DOCS=1"
                    );
                }
            }
            [numbers, reason] => {
                assert!(!reason.is_empty(), "{numbers}");
                for number in range(numbers) {
                    assert!(listed.insert(number.clone()), "{number} is listed twice");
                }
            }
            _ => panic!("{cells:?}"),
        }
    }
    let all: BTreeSet<String> = LAST
        .into_iter()
        .flat_map(|(kind, last)| (1..=last).map(move |number| format!("{kind}{number:03}")))
        .collect();
    let missing: Vec<_> = all.difference(&listed).collect();
    assert!(missing.is_empty(), "neither tested nor listed: {missing:?}");
    let unknown: Vec<_> = listed
        .union(&tested.into_keys().collect())
        .cloned()
        .collect();
    let unknown: Vec<_> = unknown
        .iter()
        .filter(|number| !all.contains(*number))
        .collect();
    assert!(unknown.is_empty(), "no such numbers: {unknown:?}");
}
