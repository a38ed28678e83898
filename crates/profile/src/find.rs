//! Finding an Nsight Systems that works: the command line program, its version, and whether its
//! importer, which turns raw data into a report, has the libraries that it needs.

use crate::{child, text};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

/// The environment variable that names the program.
pub const VARIABLE: &str = "MAGE_NSYS";

/// An `nsys` that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nsys {
    /// The program.
    pub path: PathBuf,
    /// Its version line, `NVIDIA Nsight Systems version 2025.3.1...`.
    pub version: String,
    /// Where the name came from.
    pub source: Source,
    /// What is known of its importer.
    pub importer: Importer,
}

/// Where a candidate came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Given by the caller (`--nsys`).
    Given,
    /// [`VARIABLE`].
    Variable,
    /// PATH.
    Path,
    /// A usual install place.
    Place,
}

/// What is known of the importer without running a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Importer {
    /// Every library that it is linked with is there.
    Starts(PathBuf),
    /// Libraries that it is linked with are not there.
    Lacks(PathBuf, Vec<String>),
    /// Not known, and why.
    Unknown(String),
}

/// No Nsight Systems that works, and what was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Each candidate and why it was not taken.
    pub tried: Vec<(PathBuf, Source, Reason)>,
}

/// Why a candidate was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// There is no such file.
    Absent,
    /// It does not answer `--version` as Nsight Systems does; what it did.
    NoAnswer(String),
    /// Its importer lacks libraries.
    Lacks(PathBuf, Vec<String>),
}

/// Where to look; [`find`] uses the machine's own, tests others.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// `--nsys`.
    pub given: Option<PathBuf>,
    /// Value of [`VARIABLE`].
    pub variable: Option<OsString>,
    /// Value of PATH.
    pub path: Option<OsString>,
    /// Root of the file system that holds `opt` and `usr`.
    pub root: PathBuf,
}

/// Finds an `nsys`: `given`, else [`VARIABLE`], else the first one that works of PATH and the usual
/// install places of Nsight Systems, the CUDA toolkit and Nsight Compute, the newest first. A program
/// that is named and does not work is an error; no other is taken in its stead.
///
/// # Errors
/// [`NotFound`] with every candidate and why it was not taken.
pub fn find(given: Option<&Path>) -> Result<Nsys, NotFound> {
    find_in(&Places::here(given))
}

impl Places {
    /// The machine's own.
    pub fn here(given: Option<&Path>) -> Self {
        Self {
            given: given.map(Path::to_path_buf),
            variable: std::env::var_os(VARIABLE).filter(|value| !value.is_empty()),
            path: std::env::var_os("PATH"),
            root: PathBuf::from("/"),
        }
    }
}

/// As [`find`], in `places`.
///
/// # Errors
/// As [`find`].
pub fn find_in(places: &Places) -> Result<Nsys, NotFound> {
    let mut tried = Vec::new();
    for (path, source) in candidates(places) {
        match examine(&path, source) {
            Ok(nsys) => return Ok(nsys),
            Err(reason) => tried.push((path, source, reason)),
        }
    }
    Err(NotFound { tried })
}

fn candidates(places: &Places) -> Vec<(PathBuf, Source)> {
    if let Some(given) = &places.given {
        return vec![(given.clone(), Source::Given)];
    }
    if let Some(variable) = &places.variable {
        return vec![(PathBuf::from(variable), Source::Variable)];
    }
    let mut found: Vec<(PathBuf, Source)> = Vec::new();
    let mut add = |path: PathBuf, source| {
        if path.is_file() && !found.iter().any(|(known, _)| *known == path) {
            found.push((path, source));
        }
    };
    for directory in places.path.iter().flat_map(std::env::split_paths) {
        // A relative entry of PATH depends on where one stands.
        if directory.is_absolute() {
            add(directory.join("nsys"), Source::Path);
        }
    }
    for (parent, prefix, ends) in [
        (
            "opt/nvidia/nsight-systems",
            "",
            ["bin/nsys", "target-linux-x64/nsys"].as_slice(),
        ),
        ("opt/nvidia", "nsight-systems-", &["bin/nsys"]),
        ("usr/local", "cuda", &["bin/nsys"]),
        (
            "opt/nvidia/nsight-compute",
            "",
            &["host/target-linux-x64/nsys"],
        ),
        ("usr/lib/nsight-systems", "", &["nsys"]),
    ] {
        for directory in newest_first(&places.root.join(parent), prefix) {
            for end in ends {
                add(directory.join(end), Source::Place);
            }
        }
    }
    found
}

/// Directories in `parent` whose names start with `prefix`, the highest version first.
fn newest_first(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort_by_cached_key(|name| std::cmp::Reverse((numbers(name), name.clone())));
    names.iter().map(|name| parent.join(name)).collect()
}

fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn examine(path: &Path, source: Source) -> Result<Nsys, Reason> {
    if !path.is_file() {
        return Err(Reason::Absent);
    }
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let answer = child::ask(&path, &[OsStr::new("--version")]).map_err(Reason::NoAnswer)?;
    let output = answer.output();
    if !answer.status.success() {
        return Err(Reason::NoAnswer(format!(
            "--version ended with {}; {}",
            child::describe(answer.status),
            text::last_words(&output)
        )));
    }
    let version = output
        .lines()
        .map(str::trim)
        .find(|line| line.contains("Nsight Systems"))
        .ok_or_else(|| {
            Reason::NoAnswer(format!(
                "--version does not name Nsight Systems; {}",
                text::last_words(&output)
            ))
        })?;
    let importer = importer(&path);
    if let Importer::Lacks(importer, libraries) = importer {
        return Err(Reason::Lacks(importer, libraries));
    }
    Ok(Nsys {
        version: text::short(version, 200),
        path,
        source,
        importer,
    })
}

/// Looks for the importer in the program's own directory and those beside it, and asks `ldd` which of
/// its libraries are missing.
fn importer(nsys: &Path) -> Importer {
    let real = nsys.canonicalize().unwrap_or_else(|_| nsys.to_path_buf());
    let Some(home) = real.parent() else {
        return Importer::Unknown("the program has no directory".to_string());
    };
    let beside = home.parent().and_then(|up| std::fs::read_dir(up).ok());
    let mut directories: Vec<PathBuf> = beside
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    directories.sort();
    directories.insert(0, home.to_path_buf());
    let Some(path) = directories
        .into_iter()
        .map(|directory| directory.join("QdstrmImporter"))
        .find(|path| path.is_file())
    else {
        return Importer::Unknown("no QdstrmImporter beside the program".to_string());
    };
    let listing = match child::ask(Path::new("ldd"), &[path.as_os_str()]) {
        Ok(listing) => listing,
        Err(reason) => return Importer::Unknown(format!("ldd: {reason}")),
    };
    let own = path.parent().unwrap_or(home);
    let missing = missing_libraries(&listing.stdout, |library| own.join(library).exists());
    match missing.is_empty() {
        false => Importer::Lacks(path, missing),
        true if listing.status.success() => Importer::Starts(path),
        true => Importer::Unknown(format!("ldd: {}", text::last_words(&listing.output()))),
    }
}

/// Libraries that `ldd` says are not found, but for those that `bundled` says come along.
fn missing_libraries(listing: &str, bundled: impl Fn(&str) -> bool) -> Vec<String> {
    let mut missing: Vec<String> = listing
        .lines()
        .filter_map(|line| line.trim().strip_suffix("=> not found"))
        .map(|library| library.trim().to_string())
        .filter(|library| !bundled(library))
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// The Debian package that holds a shared library, where it is one that Nsight Systems is known to need.
pub fn package_of(library: &str) -> Option<&'static str> {
    const PACKAGES: [(&str, &str); 19] = [
        ("libdw.so", "libdw1"),
        ("libelf.so", "libelf1"),
        ("libunwind.so", "libunwind8"),
        ("libz.so", "zlib1g"),
        ("libstdc++.so", "libstdc++6"),
        ("libglib-2.0.so", "libglib2.0-0"),
        ("libgthread-2.0.so", "libglib2.0-0"),
        ("libdbus-1.so", "libdbus-1-3"),
        ("libnss3.so", "libnss3"),
        ("libnspr4.so", "libnspr4"),
        ("libGL.so", "libgl1"),
        ("libEGL.so", "libegl1"),
        ("libOpenGL.so", "libopengl0"),
        ("libX11.so", "libx11-6"),
        ("libxkbcommon.so", "libxkbcommon0"),
        ("libfontconfig.so", "libfontconfig1"),
        ("libfreetype.so", "libfreetype6"),
        ("libssl.so", "libssl3"),
        ("libasound.so", "libasound2"),
    ];
    PACKAGES
        .iter()
        .find(|(prefix, _)| library.starts_with(prefix))
        .map(|(_, package)| *package)
}

/// What to do about missing libraries: the packages that hold them, or how to find those.
pub(crate) fn remedy(libraries: &[String]) -> String {
    let (mut packages, mut unknown) = (Vec::new(), Vec::new());
    for library in libraries {
        match package_of(library) {
            Some(package) if !packages.contains(&package) => packages.push(package),
            Some(_) => {}
            None => unknown.push(format!("`apt-file search {library}`")),
        }
    }
    let mut steps = Vec::new();
    if !packages.is_empty() {
        steps.push(format!("`apt-get install {}`", packages.join(" ")));
    }
    if !unknown.is_empty() {
        steps.push(format!("find the package with {}", unknown.join(", ")));
    }
    format!(
        "{}, or put the library's directory into LD_LIBRARY_PATH",
        steps.join("; ")
    )
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "--nsys",
            Self::Variable => VARIABLE,
            Self::Path => "PATH",
            Self::Place => "install place",
        })
    }
}

impl fmt::Display for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starts(_) => f.write_str("importer starts"),
            Self::Lacks(_, libraries) => write!(f, "importer lacks {}", libraries.join(", ")),
            Self::Unknown(why) => write!(f, "importer not tried ({why})"),
        }
    }
}

impl fmt::Display for Nsys {
    /// Version, path, where it was found, and the importer, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            version,
            source,
            importer,
        } = self;
        write!(f, "{version}, {} ({source}), {importer}", path.display())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("no such file"),
            Self::NoAnswer(what) => f.write_str(what),
            Self::Lacks(importer, libraries) => write!(
                f,
                "its importer {} cannot start without {}: {}",
                importer.display(),
                libraries.join(", "),
                remedy(libraries)
            ),
        }
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tried.is_empty() {
            return write!(
                f,
                "no Nsight Systems in PATH or the usual places; install the package nsight-systems, or name the program with --nsys or {VARIABLE}"
            );
        }
        f.write_str("no Nsight Systems that works: ")?;
        for (i, (path, source, reason)) in self.tried.iter().enumerate() {
            let separator = if i > 0 { "; " } else { "" };
            write!(f, "{separator}{} ({source}): {reason}", path.display())?;
        }
        Ok(())
    }
}

impl std::error::Error for NotFound {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_sort_as_numbers() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["2024.10.1", "2024.9.2", "2025.1.1", "other"] {
            std::fs::create_dir(directory.path().join(name)).unwrap();
        }
        let found = newest_first(directory.path(), "20");
        let names: Vec<_> = found
            .iter()
            .map(|p| p.file_name().unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["2025.1.1", "2024.10.1", "2024.9.2"]);
    }

    #[test]
    fn missing_libraries_are_named_with_their_package() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibdw.so.1 => not found\n\tlibown.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n";
        let missing = missing_libraries(listing, |library| library == "libown.so");
        assert_eq!(missing, ["libdw.so.1"]);
        assert!(remedy(&missing).starts_with("`apt-get install libdw1`"));
        let unknown = remedy(&["libodd.so.2".to_string()]);
        assert!(unknown.contains("apt-file search libodd.so.2"), "{unknown}");
    }
}
