//! Settings from a file.

use std::fmt::Display;
use std::path::Path;

use consumer_app::ConsumerConfig;

use crate::cli::usage::WrongUsage;

/// Reads a file of settings; what it is, its name tells.
pub(super) fn read(path: &Path) -> Result<ConsumerConfig, WrongUsage> {
    let parse = match path.extension().and_then(|extension| extension.to_str()) {
        Some("properties") => properties,
        Some("toml") => toml,
        Some("json") => json,
        _ => {
            return Err(wrong(
                path,
                "the name must end in .properties, .toml or .json",
            ));
        }
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(path, error))?;
    parse(&text).map_err(|what| wrong(path, what))
}

fn wrong(path: &Path, what: impl Display) -> WrongUsage {
    WrongUsage(format!("{}: {what}", path.display()))
}

fn properties(text: &str) -> Result<ConsumerConfig, String> {
    ConsumerConfig::from_properties(text).map_err(|errors| errors.to_string())
}

/// The error as the library shows it quotes the line, and there may be a password on it.
fn toml(text: &str) -> Result<ConsumerConfig, String> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        match before {
            // of a syntax error; the others are about keys, and name them
            Some(before) if !before.is_empty() => {
                format!(
                    "line {}: {}",
                    before.matches('\n').count() + 1,
                    error.message()
                )
            }
            _ => error.message().to_owned(),
        }
    })
}

fn json(text: &str) -> Result<ConsumerConfig, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}
