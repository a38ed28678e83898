//! Everything that figures and pages may read: the evidence of a namespace, its baseline's evidence, the
//! published values and the spec's words. Checked here, before anything is drawn.

use crate::font::Fonts;
use crate::palette::{self, Swatch};
use anyhow::Result;
use mage_evidence::experiment::{self, Experiment};
use mage_evidence::implementation;
use mage_evidence::profiles::Profiles;
use mage_evidence::published::Published;
use mage_evidence::results::Results;
use mage_evidence::summary::Summary;
use mage_workspace::{Evidence, baseline};
use std::path::{Path, PathBuf};

/// Evidence and words of one namespace.
pub struct Data {
    /// The namespace.
    pub namespace: String,
    /// Spec of its experiment.
    pub experiment: Experiment,
    /// `comparison-results.json`.
    pub results: Results,
    /// `comparison-profiles.json`, where it is there.
    pub profiles: Option<Profiles>,
    /// Both, reduced.
    pub summary: Summary,
    /// The baseline's evidence, or why there is none to compare with.
    pub baseline: Result<Summary, String>,
    /// The published values, or why there are none.
    pub published: Result<Summary, String>,
    /// Implementations in the order in which they are shown.
    pub series: Vec<Series>,
}

/// How one implementation is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the evidence.
    pub name: String,
    /// Its name for readers.
    pub label: String,
    /// Its name in figures: the label, or its number in the tables' order where the font cannot set it.
    pub short: String,
    /// What it is drawn with.
    pub swatch: Swatch,
}

/// Directory of a namespace's evidence below the root.
pub fn results_directory(namespace: &str) -> PathBuf {
    mage_workspace::results(Path::new(""), namespace)
}

impl Data {
    /// Reads and checks everything of `namespace` below `root`.
    ///
    /// # Errors
    /// A file that is missing or wrong, by file, field, found and expected.
    pub fn read(root: &Path, namespace: &str, fonts: &Fonts) -> Result<Self> {
        experiment::check_name(namespace).map_err(|e| e.under("namespace"))?;
        let evidence = Evidence::read(root, namespace)?;
        let name = evidence.results.experiment();
        let experiment = Experiment::load(root, &name)?;
        let baseline = baseline(root, namespace, &experiment, &evidence.summary.gpu)?;
        let published = read_published(root, &experiment)?;
        let series = series(&evidence.results.implementations(), fonts);
        Ok(Self {
            namespace: namespace.to_string(),
            experiment,
            results: evidence.results,
            profiles: evidence.profiles,
            summary: evidence.summary,
            baseline,
            published,
            series,
        })
    }

    /// How `implementation` is shown.
    pub fn series(&self, implementation: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == implementation)
    }
}

fn read_published(root: &Path, experiment: &Experiment) -> Result<Result<Summary, String>> {
    let Some(file) = &experiment.published else {
        return Ok(Err("the experiment names no published values".to_string()));
    };
    let path = root.join("experiments").join(file);
    Ok(Ok(Summary::of_published(&Published::read(&path)?)))
}

fn series(names: &[String], fonts: &Fonts) -> Vec<Series> {
    let mut unknown = 0;
    names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let swatch = palette::swatch(name, unknown);
            let known = implementation::KNOWN.iter().any(|(known, _)| known == name);
            unknown += usize::from(!known);
            let label = implementation::label(name).to_string();
            let short = if fonts.covers(&label) && !label.trim().is_empty() {
                label.clone()
            } else {
                format!("Implementation {}", i + 1)
            };
            Series {
                name: name.clone(),
                label,
                short,
                swatch,
            }
        })
        .collect()
}

impl Data {
    /// The GPU's name as one word, for lines that are broken.
    pub fn gpu(&self) -> String {
        self.summary.gpu.replace(' ', "\u{a0}")
    }
}

/// A GPU's name without its maker and line.
pub fn short_gpu(name: &str) -> &str {
    let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
    name.strip_prefix("GeForce ").unwrap_or(name)
}
