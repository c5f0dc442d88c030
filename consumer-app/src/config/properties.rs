//! The `.properties` format, as `java.util.Properties` reads it.

use super::ConsumerConfig;
use super::error::{ConfigError, ConfigErrors};

impl ConsumerConfig {
    /// A configuration of the text of a `.properties` file, in Java's syntax: comments, escapes, continued lines, and
    /// `=`, `:` or blanks between key and value.
    ///
    /// # Errors
    /// All that is wrong, of the syntax and of the values.
    pub fn from_properties(text: &str) -> Result<Self, ConfigErrors> {
        let mut config = Self::default();
        let mut errors = ConfigErrors::new();
        for entry in entries(text) {
            let set = entry.and_then(|(key, value)| config.set(&key, &value));
            errors.extend(set.err());
        }
        errors.into_result(config)
    }
}

/// What Java takes for blank here; others, like the no-break space, are letters.
const BLANKS: [char; 3] = [' ', '\t', '\u{c}'];

/// The pairs of a text, in its order.
pub(super) fn entries(text: &str) -> impl Iterator<Item = Result<(String, String), ConfigError>> {
    let mut lines = natural_lines(text.strip_prefix('\u{feff}').unwrap_or(text)).zip(1..);
    std::iter::from_fn(move || {
        let (first, line) = lines
            .by_ref()
            .find(|(content, _)| !content.is_empty() && !content.starts_with(['#', '!']))?;
        let mut logical = String::new();
        let mut content = first;
        while let Some(begun) = continued(content) {
            logical.push_str(begun);
            content = lines.next().map_or("", |(content, _)| content);
        }
        logical.push_str(content);
        Some(entry(&logical).map_err(|problem| ConfigError::Syntax { line, problem }))
    })
}

/// Lines that end with `\n`, `\r` or both, without the blanks that they begin with.
fn natural_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = text.find(['\n', '\r']);
        let (line, ended) = text.split_at(end.unwrap_or(text.len()));
        rest = ended
            .strip_prefix("\r\n")
            .or_else(|| ended.strip_prefix(['\n', '\r']));
        Some(line.trim_start_matches(BLANKS))
    })
}

/// What is before the backslash at the end of a line that goes on in the next one; `None` when it does not.
fn continued(line: &str) -> Option<&str> {
    let backslashes = line.len() - line.trim_end_matches('\\').len();
    line.strip_suffix('\\').filter(|_| backslashes % 2 == 1)
}

/// Splits a logical line at its first separator that is not escaped.
fn entry(line: &str) -> Result<(String, String), &'static str> {
    let mut is_escaped = false;
    let key_end = line.find(|character| {
        let is_separator =
            !is_escaped && (character == '=' || character == ':' || BLANKS.contains(&character));
        is_escaped = !is_escaped && character == '\\';
        is_separator
    });
    let (key, rest) = line.split_at(key_end.unwrap_or(line.len()));
    let rest = rest.trim_start_matches(BLANKS);
    let value = rest
        .strip_prefix(['=', ':'])
        .unwrap_or(rest)
        .trim_start_matches(BLANKS);
    Ok((unescape(key)?, unescape(value)?))
}

/// Resolves escapes. They name UTF-16 units, so a letter outside the basic plane takes two.
fn unescape(text: &str) -> Result<String, &'static str> {
    if !text.contains('\\') {
        return Ok(text.to_owned());
    }
    let mut units = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let character = match character {
            '\\' => match characters.next() {
                Some('u') => {
                    units.push(
                        hex_unit(&mut characters)
                            .ok_or("\\u must be followed by four hexadecimal digits")?,
                    );
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some(other) => other,
                None => continue,
            },
            other => other,
        };
        units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16(&units).map_err(|_| "a \\u escape is half of a surrogate pair")
}

fn hex_unit(characters: &mut std::str::Chars<'_>) -> Option<u16> {
    (0..4).try_fold(0u16, |unit, _| {
        let digit = characters.next()?.to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}
