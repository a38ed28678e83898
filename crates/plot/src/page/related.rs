//! The site's other pages: what each kind is called, and which belong to a namespace.

use std::path::{Path, PathBuf};

/// A page beside those of the namespaces, committed as Markdown and shown as HTML too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// What it is, for readers.
    pub label: String,
    /// Where it is below the root, without its ending.
    pub path: PathBuf,
}

impl Related {
    /// Its Markdown below the root.
    pub fn markdown(&self) -> PathBuf {
        self.with(".md")
    }

    /// Its HTML below the root.
    pub fn html(&self) -> PathBuf {
        self.with(".html")
    }

    /// The ending is appended: a name may hold a dot.
    fn with(&self, ending: &str) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(ending);
        path.into()
    }
}

/// Directories of such pages below the site's, and what a page there is called.
pub const KINDS: [(&str, &str); 6] = [
    ("ladder", "The ladder of kernel variants"),
    ("claims", "The note’s claims, judged"),
    ("counters", "What bounds each case, by hardware counters"),
    ("structure", "What the kernels do, counted on the CPU"),
    ("errors", "Errors against FP64"),
    (CALIBRATION, "What a verdict is worth"),
];

const CALIBRATION: &str = "calibration";

fn page(root: &Path, kind: (&str, &str), stem: &str) -> Option<Related> {
    let (directory, label) = kind;
    let path = Path::new("docs").join(directory).join(stem);
    let found = Related {
        label: label.to_string(),
        path,
    };
    root.join(found.markdown()).is_file().then_some(found)
}

/// Pages about a namespace of an experiment that are there below `root`; its claims may be goals of its own.
pub fn of(root: &Path, namespace: &str, experiment: &str, goals: bool) -> Vec<Related> {
    let own = KINDS.into_iter().filter_map(|kind| {
        let stem = match kind.0 {
            "structure" => experiment,
            _ => namespace,
        };
        let kind = match kind.0 {
            "claims" if goals => (kind.0, "The goals, judged"),
            _ => kind,
        };
        page(root, kind, stem)
    });
    own.chain(calibrations(root)).collect()
}

/// The calibrations that are there below `root`, by device.
pub fn calibrations(root: &Path) -> Vec<Related> {
    let Some(kind) = KINDS.into_iter().find(|(name, _)| *name == CALIBRATION) else {
        return Vec::new();
    };
    let stems = stems(&root.join("docs").join(CALIBRATION)).into_iter();
    stems
        .filter_map(|stem| {
            let found = page(root, kind, &stem)?;
            let label = format!("{}: calibration on {}", found.label, stem.to_uppercase());
            Some(Related { label, ..found })
        })
        .collect()
}

/// Stems of the Markdown in a directory, sorted; none where there is no directory.
pub fn stems(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut stems: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some(name.strip_suffix(".md")?.to_string())
        })
        .collect();
    stems.sort();
    stems
}
