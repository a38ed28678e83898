//! What a variant's source says of itself: the fixed header that CONTRIBUTING.md asks for.

use crate::variants::Variant;
use mage_evidence::Invalid;
use mage_evidence::store::{self, StoreError};
use std::path::{Path, PathBuf};

/// What changed from the parent, and what that should do to which number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What changed from the parent.
    pub changed: String,
    /// What it was expected to do.
    pub expected: String,
}

/// A variant's source file, from the root of the workspace.
pub fn source(variant: &Variant) -> PathBuf {
    Path::new("crates/kernels/device/src/variants").join(format!("{}.rs", variant.id))
}

/// The text of a variant's source, of the parts that it uses, and of those that they use.
#[cfg(test)]
pub(crate) fn with_parts(variant: &Variant) -> String {
    let device = Path::new(env!("CARGO_MANIFEST_DIR")).join("device/src");
    let mut files = vec![format!("variants/{}.rs", variant.id)];
    let mut all = String::new();
    let mut next = 0;
    while let Some(file) = files.get(next) {
        let text = std::fs::read_to_string(device.join(file)).expect("a file of the crate");
        for path in text.split("\nuse crate::parts::").skip(1) {
            let part: String = path
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let file = format!("parts/{part}.rs");
            if !files.contains(&file) {
                files.push(file);
            }
        }
        all += &text;
        next += 1;
    }
    all
}

/// Reads the header of a variant's source below `root`.
///
/// # Errors
/// [`StoreError`] where the file is not there, lacks a part of the header, or names another parent than the table.
pub fn read(root: &Path, variant: &Variant) -> Result<Header, StoreError> {
    let path = root.join(source(variant));
    let text = store::read_text(&path)?;
    Ok(parse(&text, variant.parent).map_err(|invalid| invalid.in_file(&path))?)
}

fn parse(text: &str, parent: Option<&str>) -> Result<Header, Invalid> {
    let from = part(text, "Parent")?;
    let named = match parent {
        Some(parent) => format!("`{parent}`. "),
        None => "none. ".to_string(),
    };
    let Some(changed) = from.strip_prefix(&named) else {
        return Err(Invalid::new(
            "Parent",
            format!("{from:?}"),
            format!("{named:?} and what changed"),
        ));
    };
    Ok(Header {
        changed: changed.to_string(),
        expected: part(text, "Effect")?,
    })
}

/// The text of one item of the list, on one line, without links into the code.
fn part(text: &str, name: &str) -> Result<String, Invalid> {
    let head = format!("- **{name}**: ");
    let mut lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    let Some(first) = lines.find_map(|line| line.trim_start().strip_prefix(&head)) else {
        return Err(Invalid::new(
            name,
            "no such part",
            format!("`{head}...` in the file's header"),
        ));
    };
    let rest = lines.map_while(|line| line.strip_prefix("   "));
    let words: Vec<&str> = std::iter::once(first).chain(rest).map(str::trim).collect();
    Ok(without_links(&words.join(" ")))
}

/// `[text](crate::a::b)` as `text`.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](crate::") {
        let Some(end) = rest[middle..].find(')') else {
            break;
        };
        match rest[..middle].rfind('[') {
            Some(start) => out += &format!("{}{}", &rest[..start], &rest[start + 1..middle]),
            None => out += &rest[..middle],
        }
        rest = &rest[middle + end + 1..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::VARIANTS;

    #[test]
    fn every_variant_says_what_changed_and_what_it_should_do() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for variant in VARIANTS {
            let Header { changed, expected } = read(&root, variant).unwrap();
            for text in [changed, expected] {
                assert!(
                    text.len() > 10 && text.ends_with('.'),
                    "{}: {text}",
                    variant.id
                );
                assert!(
                    !text.contains("crate::") && !text.contains("  "),
                    "{}: {text}",
                    variant.id
                );
            }
        }
    }

    #[test]
    fn an_item_ends_where_the_next_begins() {
        let text = "//! Sum.\n//!\n//! - **Parent**: `a`. One\n//!   two ([`x`](crate::y::x)).\n//! - **Effect**: less.\n\nuse b;\n";
        let header = parse(text, Some("a")).unwrap();
        assert_eq!(header.changed, "One two (`x`).");
        assert_eq!(header.expected, "less.");
        let error = parse(text, Some("b")).unwrap_err().to_string();
        assert!(error.contains("Parent") && error.contains("`b`"), "{error}");
        let error = parse("//! Sum.\n", None).unwrap_err().to_string();
        assert!(error.contains("no such part"), "{error}");
    }
}
