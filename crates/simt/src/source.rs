//! Places in the source of a kernel.

use std::fmt;
use std::panic::Location;

/// A place in the source of a kernel; shown as `file:line`.
#[derive(Debug, Clone, Copy, Eq)]
pub struct Source(&'static Location<'static>);

impl Source {
    pub(crate) fn new(location: &'static Location<'static>) -> Self {
        Self(location)
    }

    pub(crate) fn location(self) -> &'static Location<'static> {
        self.0
    }

    /// The file, relative to the workspace, with `/`.
    pub fn file(self) -> String {
        plain(self.0.file())
    }

    /// The line, from 1.
    pub fn line(self) -> u32 {
        self.0.line()
    }

    /// The column, from 1.
    pub fn column(self) -> u32 {
        self.0.column()
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // Mostly the same object; but a location may have several.
        std::ptr::eq(self.0, other.0) || self.0 == other.0
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file(), self.line())
    }
}

/// The path without the detours of a module that is included by path: `a/b/../c` is `a/c`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        match (part, parts.last()) {
            (".", _) => {}
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detours_are_left_out() {
        let path = "crates/simt/src/../../kernels/device/src/variants/triangle.rs";
        assert_eq!(
            plain(path),
            "crates/kernels/device/src/variants/triangle.rs"
        );
        assert_eq!(plain("./a/b.rs"), "a/b.rs");
        assert_eq!(plain("../a/b.rs"), "../a/b.rs");
        assert_eq!(plain("/a/b.rs"), "/a/b.rs");
    }

    #[test]
    fn a_place_is_shown_as_file_and_line() {
        let source = Source::new(Location::caller());
        assert_eq!(
            source.to_string(),
            format!("crates/simt/src/source.rs:{}", line!() - 3)
        );
    }
}
