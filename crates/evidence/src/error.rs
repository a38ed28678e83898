//! The one shape of "this input is wrong": file, field, found, expected, what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// A value that was refused, in words that let the reader mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// File the value came from, where it came from one.
    pub file: Option<PathBuf>,
    /// Dotted path of the field (`operations[1].dims`), or the flag's name.
    pub field: String,
    /// What stands there.
    pub found: String,
    /// What may stand there.
    pub expected: String,
    /// What to do about it; empty where the expectation says it all.
    pub help: String,
}

impl Invalid {
    /// A refusal of `field` without a file yet.
    pub fn new(
        field: impl Into<String>,
        found: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            file: None,
            field: field.into(),
            found: found.to_string(),
            expected: expected.into(),
            help: String::new(),
        }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Names the file, unless a file is named already.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Puts `prefix` before the field's path.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> Self {
        self.field = match (prefix.is_empty(), self.field.is_empty()) {
            (true, _) => self.field,
            (_, true) => prefix.to_string(),
            _ => format!("{prefix}.{}", self.field),
        };
        self
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for Invalid {}
