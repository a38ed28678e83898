//! `xtask claims`: the note's claims and an experiment's goals, judged by evidence, and their page.

use crate::exit;
use anyhow::Context;
use clap::Args;
use mage_evidence::claims::{Claims, Verdicts, judge};
use mage_evidence::counts::Counts;
use mage_evidence::diff::Side;
use mage_evidence::store;
use mage_evidence::verdict::MARGIN;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment whose claims to judge; all that have claims and evidence by default.
    #[arg(long)]
    experiment: Option<String>,
    /// Namespace to judge them by; the experiment's own by default.
    #[arg(long, requires = "experiment")]
    namespace: Option<String>,
    /// Namespace to compare it with; the baseline experiment's own by default.
    #[arg(long, requires = "experiment")]
    baseline: Option<String>,
    /// Write nothing; prove that the committed page is what the evidence gives.
    #[arg(long)]
    check: bool,
}

/// Judges and prints; writes or proves docs/claims/<namespace>.md.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let experiments = match &arguments.experiment {
        Some(experiment) if Claims::path(root, experiment).is_file() => vec![experiment.clone()],
        Some(experiment) => {
            return Ok(exit::usage(&format!(
                "--experiment: found {experiment:?}, expected one of {}: a file in experiments/claims",
                with_claims(root)?.join(", ")
            )));
        }
        None => with_claims(root)?,
    };
    let known = mage_workspace::namespaces(root)?;
    let mut code = ExitCode::SUCCESS;
    for experiment in experiments {
        let namespace = arguments.namespace.clone().unwrap_or(experiment.clone());
        if !known.contains(&namespace) {
            if arguments.experiment.is_some() {
                return Ok(exit::usage(&format!(
                    "found no evidence of {namespace:?}, expected one of {}; measure it: cargo xtask reproduce --experiment {experiment}",
                    known.join(", ")
                )));
            }
            mage_workspace::outln!("{experiment}: no evidence here to judge its claims by");
            continue;
        }
        let verdicts = match judged(root, &experiment, &namespace, arguments, &known) {
            Ok(verdicts) => verdicts,
            Err(error) => return Ok(exit::invalid(format!("{error:#}"))),
        };
        mage_workspace::out!("{}", verdicts.text());
        let page = page(&namespace);
        let text = verdicts.markdown(&verdicts.by.title(&experiment));
        let path = root.join(&page);
        if !arguments.check {
            store::write_bytes(&path, text.as_bytes())?;
            mage_workspace::outln!("written: {}", page.display());
        } else if store::read_text(&path).is_ok_and(|found| found == text) {
            mage_workspace::outln!("proved: {}", page.display());
        } else {
            eprintln!(
                "xtask: {}: found other text than the evidence gives, or none; run `cargo xtask claims`",
                page.display()
            );
            code = exit::FAILED.into();
        }
    }
    Ok(code)
}

fn judged(
    root: &Path,
    experiment: &str,
    namespace: &str,
    arguments: &Arguments,
    known: &[String],
) -> anyhow::Result<Verdicts> {
    let path = Claims::path(root, experiment);
    let claims = Claims::read(&path)?;
    let side = |name: &str| Side::read(name, &mage_workspace::results(root, name));
    let baseline = arguments.baseline.as_ref().unwrap_or(&claims.baseline);
    // A baseline that was asked for has to be there; the usual one may be missing.
    let baseline = (arguments.baseline.is_some() || known.contains(baseline))
        .then(|| side(baseline))
        .transpose()?;
    let counts = Counts::read(root, experiment)?.ok();
    judge(
        &claims,
        baseline.as_ref(),
        &side(namespace)?,
        counts.as_ref(),
        MARGIN,
    )
    .with_context(|| path.display().to_string())
}

/// Where the judged claims are committed.
fn page(namespace: &str) -> PathBuf {
    Path::new("docs/claims").join(format!("{namespace}.md"))
}

/// Experiments that have a file of claims, sorted.
fn with_claims(root: &Path) -> anyhow::Result<Vec<String>> {
    let directory = root.join("experiments/claims");
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(store::io_error("list", &directory))? {
        let path = entry.map_err(store::io_error("list", &directory))?.path();
        if path.extension().is_some_and(|e| e == "toml")
            && let Some(stem) = path.file_stem().and_then(|s| s.to_str())
        {
            names.push(stem.to_string());
        }
    }
    names.sort();
    Ok(names)
}
