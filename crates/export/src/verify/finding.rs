//! What is wrong with a file.

use mage_evidence::hash::sha256_hex;
use std::fmt;
use std::path::PathBuf;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file or directory, relative to the root.
    pub file: PathBuf,
    /// In which way.
    pub kind: Kind,
    /// What was found, what was expected, what to do.
    pub text: String,
}

/// Ways of being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is named and not there.
    Missing,
    /// It is there and nothing names it.
    Extra,
    /// It ends early.
    Truncated,
    /// Its lines end in CR LF.
    LineEndings,
    /// Its bytes are not those that were recorded, or that its sources give.
    Altered,
    /// It is a link, or no plain file.
    NotAFile,
    /// It cannot be read.
    Unreadable,
    /// A number is missing where one has to be: NaN or infinity when it was written.
    NotFinite,
    /// A number is not what it was computed from gives.
    Number,
    /// There are more or fewer than there should be.
    Count,
    /// It names something outside the tree.
    Path,
    /// Two records of one thing differ.
    Inconsistent,
}

impl Kind {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Extra => "extra",
            Self::Truncated => "truncated",
            Self::LineEndings => "CRLF",
            Self::Altered => "altered",
            Self::NotAFile => "not a file",
            Self::Unreadable => "unreadable",
            Self::NotFinite => "not finite",
            Self::Number => "wrong number",
            Self::Count => "wrong count",
            Self::Path => "outside path",
            Self::Inconsistent => "inconsistent",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(f, "{file}: {}: {}", self.kind, self.text)
    }
}

/// How `bytes` came to have another SHA-256 than `expected`.
pub fn altered(bytes: &[u8], expected: &str) -> (Kind, String) {
    let found = sha256_hex(bytes);
    let hashes = format!("found SHA-256 {found}, expected {expected}");
    if sha256_hex(&without_cr(bytes)) == expected {
        return (
            Kind::LineEndings,
            format!("{hashes}, which its text with LF line ends has"),
        );
    }
    if is_cut(bytes) {
        return (Kind::Truncated, format!("ends early; {hashes}"));
    }
    (Kind::Altered, hashes)
}

/// How `found` differs from `expected`.
pub fn difference(found: &[u8], expected: &[u8]) -> (Kind, String) {
    if without_cr(found) == expected {
        return (
            Kind::LineEndings,
            "found CR LF line ends, expected LF".into(),
        );
    }
    if expected.starts_with(found) {
        let text = format!(
            "found the first {} bytes, expected {}",
            found.len(),
            expected.len()
        );
        return (Kind::Truncated, text);
    }
    let at = found
        .iter()
        .zip(expected)
        .position(|(a, b)| a != b)
        .unwrap_or(expected.len());
    let line = 1 + expected[..at.min(expected.len())]
        .iter()
        .filter(|b| **b == b'\n')
        .count();
    let text = format!(
        "line {line}, byte {at}: found {:?}, expected {:?}, as the artifacts give it",
        around(found, at),
        around(expected, at)
    );
    (Kind::Altered, text)
}

fn around(bytes: &[u8], at: usize) -> String {
    let (from, to) = (at.saturating_sub(12), bytes.len().min(at + 12));
    String::from_utf8_lossy(&bytes[from.min(to)..to]).into_owned()
}

/// Evidence and artifacts end in a line break; JSON that lacks its end is cut.
fn is_cut(bytes: &[u8]) -> bool {
    bytes.is_empty()
        || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_err_and(|e| e.is_eof())
}

fn without_cr(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for (i, byte) in bytes.iter().enumerate() {
        if !(*byte == b'\r' && bytes.get(i + 1) == Some(&b'\n')) {
            out.push(*byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alteration_is_told_by_its_kind() {
        let text = b"{\n  \"a\": 1\n}\n".as_slice();
        let hash = sha256_hex(text);
        let crlf = b"{\r\n  \"a\": 1\r\n}\r\n".as_slice();
        assert_eq!(altered(crlf, &hash).0, Kind::LineEndings);
        assert_eq!(altered(&text[..8], &hash).0, Kind::Truncated);
        assert_eq!(altered(b"", &hash).0, Kind::Truncated);
        assert_eq!(altered(b"{\n  \"a\": 2\n}\n", &hash).0, Kind::Altered);
        assert_eq!(difference(crlf, text).0, Kind::LineEndings);
        assert_eq!(difference(&text[..5], text).0, Kind::Truncated);
        let (kind, words) = difference(b"{\n  \"a\": 2\n}\n", text);
        assert_eq!(kind, Kind::Altered);
        assert!(words.starts_with("line 2, byte 9"), "{words}");
        let longer = [text, b"x"].concat();
        assert_eq!(difference(&longer, text).0, Kind::Altered);
    }
}
