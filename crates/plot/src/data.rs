//! Everything that figures and pages may read: the evidence of a namespace, its baseline's evidence, the
//! published values, the claims, the counts and the spec's words. Checked here, before anything is drawn.

use crate::font::Fonts;
use crate::page::related::{self, Related};
use crate::palette::{self, Swatch};
use crate::words;
use anyhow::Result;
use mage_evidence::Invalid;
use mage_evidence::claims::{By, Claims, Verdicts, judge};
use mage_evidence::counters::{self, Counters};
use mage_evidence::counts::Counts;
use mage_evidence::diff::{Diff, Side, diff};
use mage_evidence::errors;
use mage_evidence::experiment::{self, Experiment};
use mage_evidence::hash::sha256_hex;
use mage_evidence::implementation;
use mage_evidence::ladder::{self, Ladder};
use mage_evidence::operation::Operation;
use mage_evidence::profiles::{self, Profiles};
use mage_evidence::published::Published;
use mage_evidence::results::{self, Results};
use mage_evidence::store;
use mage_evidence::summary::Summary;
use mage_evidence::verdict::MARGIN;
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
    /// What changed since the baseline and what moved, or why there is nothing to compare.
    pub diff: Result<Diff, String>,
    /// The published values, or why there are none.
    pub published: Result<Summary, String>,
    /// The claims about the experiment, judged by this evidence, or why there are none.
    pub claims: Result<Verdicts, String>,
    /// What the kernels do, counted on the CPU, or why nothing is counted.
    pub counts: Result<Counts, String>,
    /// Every variant beside its parent, where the namespace has a ladder.
    pub ladder: Option<Ladder>,
    /// Hardware counters, where the namespace has them.
    pub counters: Option<Counters>,
    /// The site's other pages about it, where they are there.
    pub related: Vec<Related>,
    /// The evidence's files.
    pub files: Vec<EvidenceFile>,
    /// Implementations in the order in which they are shown.
    pub series: Vec<Series>,
}

/// One file of the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceFile {
    /// What it holds, for readers.
    pub label: &'static str,
    /// Where it is below the root.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
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

/// What an implementation does not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Unavailable {
    /// The implementation's name for readers.
    pub implementation: String,
    /// The operations, in the order of the evidence.
    pub operations: Vec<Operation>,
    /// The reason.
    pub reason: String,
}

impl Unavailable {
    /// `matrix multiplication and LayerNorm`.
    pub fn of(&self) -> String {
        let labels: Vec<String> = self.operations.iter().map(|&op| words::label(op)).collect();
        words::list(&labels)
    }
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
        let here = evidence
            .profiles
            .clone()
            .map(|profiles| Side::of(namespace, evidence.results.clone(), profiles));
        let there = read_side(root, &baseline)?;
        let diff = match (&there, &here) {
            (Err(reason), _) => Err(reason.clone()),
            (_, None) => Err(NO_CAPTURES.to_string()),
            (Ok(there), Some(here)) => Ok(diff(there, here, MARGIN)?),
        };
        let counts = Counts::read(root, &name)?;
        let sides = (there.as_ref().ok(), here.as_ref());
        let claims = judged(root, &experiment, sides, counts.as_ref().ok())?;
        let goals = claims.as_ref().is_ok_and(|v| v.by == By::Goal);
        Ok(Self {
            namespace: namespace.to_string(),
            experiment,
            results: evidence.results,
            profiles: evidence.profiles,
            summary: evidence.summary,
            baseline,
            diff,
            published,
            claims,
            ladder: evidence.ladder,
            counters: read_counters(root, namespace)?,
            counts,
            related: related::of(root, namespace, &name, goals),
            files: files(root, namespace)?,
            series,
        })
    }

    /// How `implementation` is shown.
    pub fn series(&self, implementation: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.name == implementation)
    }
}

impl Data {
    /// Why `implementation` does not run `operation`, where the evidence says that it does not.
    pub fn reason(&self, operation: Operation, implementation: &str) -> Option<&str> {
        let op = self.results.results.iter().find(|op| op.op == operation)?;
        op.unavailable.get(implementation).map(String::as_str)
    }

    /// Everything that does not run here, by implementation and reason, in the order in which both are shown.
    pub fn unavailable(&self) -> Vec<Unavailable> {
        let mut found: Vec<(&String, Unavailable)> = Vec::new();
        for op in &self.results.results {
            for (name, reason) in &op.unavailable {
                match found
                    .iter_mut()
                    .find(|(known, one)| *known == name && one.reason == *reason)
                {
                    Some((_, one)) => one.operations.push(op.op),
                    None => found.push((
                        name,
                        Unavailable {
                            implementation: implementation::label(name).to_string(),
                            operations: vec![op.op],
                            reason: reason.clone(),
                        },
                    )),
                }
            }
        }
        let mut names: Vec<String> = found.iter().map(|(name, _)| (*name).clone()).collect();
        implementation::sort(&mut names);
        // Stable: reasons of one implementation stay in the order of the operations.
        found.sort_by_key(|(name, _)| names.iter().position(|known| known == *name));
        found.into_iter().map(|(_, one)| one).collect()
    }
}

/// Said where there is no profile.
pub const NO_CAPTURES: &str = "the namespace has no profiler captures";

/// The baseline as a side of a comparison, or why it is none.
fn read_side(root: &Path, baseline: &Result<Summary, String>) -> Result<Result<Side, String>> {
    let name = match baseline {
        Ok(summary) => &summary.namespace,
        Err(reason) => return Ok(Err(reason.clone())),
    };
    let directory = mage_workspace::results(root, name);
    if !directory.join(profiles::FILE).exists() {
        return Ok(Err(format!("the baseline {name} has no profiler captures")));
    }
    Ok(Ok(Side::read(name, &directory)?))
}

fn read_counters(root: &Path, namespace: &str) -> Result<Option<Counters>> {
    let file = mage_workspace::results(root, namespace).join(counters::FILE);
    if !file.exists() {
        return Ok(None);
    }
    let counters: Counters = store::read_json(&file)?;
    counters.check().map_err(|e| e.in_file(&file))?;
    let found = &counters.provenance.namespace;
    if found != namespace {
        let refused = Invalid::new(
            "provenance.namespace",
            format!("{found:?}"),
            format!("{namespace:?}, the directory that the file is in"),
        );
        return Err(refused.in_file(&file).into());
    }
    Ok(Some(counters))
}

fn judged(
    root: &Path,
    experiment: &Experiment,
    (baseline, here): (Option<&Side>, Option<&Side>),
    counts: Option<&Counts>,
) -> Result<Result<Verdicts, String>> {
    let path = Claims::path(root, &experiment.name);
    if !path.is_file() {
        return Ok(Err(format!("none are published about {}", experiment.name)));
    }
    let Some(here) = here else {
        return Ok(Err(NO_CAPTURES.to_string()));
    };
    let claims = Claims::read(&path)?;
    let verdicts = judge(&claims, baseline, here, counts, MARGIN).map_err(|e| e.in_file(&path))?;
    Ok(Ok(verdicts))
}

fn files(root: &Path, namespace: &str) -> Result<Vec<EvidenceFile>> {
    let named = [
        ("Samples and checks", results::FILE),
        ("Kernel rows", profiles::FILE),
        ("Every variant", ladder::FILE),
        ("Hardware counters", counters::FILE),
        ("Errors against FP64", errors::FILE),
    ];
    let mut files = Vec::new();
    for (label, name) in named {
        let path = results_directory(namespace).join(name);
        let full = root.join(&path);
        if full.exists() {
            let content = std::fs::read(&full).map_err(store::io_error("read", &full))?;
            files.push(EvidenceFile {
                label,
                path,
                bytes: content.len() as u64,
                sha256: sha256_hex(&content),
            });
        }
    }
    Ok(files)
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
