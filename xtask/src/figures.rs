//! `xtask figures`: everything that is drawn or spliced from evidence.

use crate::{pages, readme};
use clap::Args;
use mage_evidence::Invalid;
use mage_plot::Output;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment or other namespace to draw; all committed ones by default.
    #[arg(long, alias = "namespace")]
    experiment: Option<String>,
    /// Write nothing; prove that what is committed is what the evidence gives.
    #[arg(long)]
    check: bool,
}

/// Draws or checks.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let known = mage_workspace::namespaces(root)?;
    let namespaces = match &arguments.experiment {
        Some(namespace) if known.contains(namespace) => vec![namespace.clone()],
        Some(unknown) => {
            let expected = format!("one of {}", known.join(", "));
            return Err(Invalid::new("--experiment", format!("{unknown:?}"), expected).into());
        }
        None => known,
    };
    let verb = if arguments.check { "proved" } else { "drawn" };
    for name in &namespaces {
        let files = namespace(root, name, arguments.check)?;
        mage_workspace::outln!("{name}: {files} files {verb}");
    }
    if arguments.experiment.is_none() {
        site(root, arguments.check)?;
    }
    Ok(())
}

/// Draws, or with `check` proves, everything that stands for one namespace; how many files that is.
pub fn namespace(root: &Path, namespace: &str, check: bool) -> anyhow::Result<usize> {
    // The namespace's page leads to these.
    let pages = pages::run(root, namespace, check)?;
    let outputs = mage_plot::draw(root, namespace)?;
    write(root, &outputs, check)?;
    Ok(outputs.len() + pages)
}

/// Draws, or with `check` proves, what stands for all namespaces: the site's first page, the HTML of its Markdown pages
/// and the README's table.
pub fn site(root: &Path, check: bool) -> anyhow::Result<()> {
    let namespaces = mage_workspace::namespaces(root)?;
    let mut outputs = mage_plot::index(root, &namespaces)?;
    outputs.extend(mage_plot::articles(root, &namespaces)?);
    write(root, &outputs, check)?;
    readme::run(root, check)
}

fn write(root: &Path, outputs: &[Output], check: bool) -> anyhow::Result<()> {
    match check {
        true => mage_plot::check(root, outputs),
        false => mage_plot::write(root, outputs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::six;

    /// From artifacts to the README, each step by itself, as after a measurement on another machine.
    #[test]
    fn six_implementations_go_from_artifacts_to_pages() {
        let root = six::root();
        let root = root.path();
        let readme = std::fs::read_to_string(six::workspace().join("README.md")).unwrap();
        std::fs::write(root.join("README.md"), readme).unwrap();
        std::fs::write(root.join("Cargo.lock"), "").unwrap();
        let evidence = mage_export::evidence(root, six::NAMESPACE).unwrap();
        mage_export::write(root, &evidence).unwrap();
        assert!(namespace(root, six::NAMESPACE, true).is_err(), "not drawn");
        let drawn = namespace(root, six::NAMESPACE, false).unwrap();
        assert_eq!(namespace(root, six::NAMESPACE, true).unwrap(), drawn);
        assert!(root.join("docs/ladder/limit-001.md").is_file());
        site(root, false).unwrap();
        site(root, true).unwrap();
        let ladder = std::fs::read_to_string(root.join("docs/ladder/limit-001.html")).unwrap();
        for part in [
            "../experiments/limit-001/index.html",
            "../assets/figures/limit-001/ladder-matmul.svg",
        ] {
            assert!(ladder.contains(part), "{part}");
        }
        let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
        for row in [
            "| operation | implementation | kernel time | span | launches | kernel time from mage-002 | target | place | limit |",
            "|  | Triton (tuned) | 39.9 | 53.1 | 1 | - |  | 2, 2 |  |",
            "|  | Rust | 10.6 | 11.4 | 1 | -87.5% | 18 | 1, 1 | 80.0% of copy_matmul |",
            "|  | cuSPARSE | 20.3 | 26.9 | 4 | - |  | 4, 3 |  |",
            "|  | Rust | 0.62 | 1.29 | 1 | -87.4% | 4.2 | 1, 1 | 80.0% of copy_neighbor |",
        ] {
            assert!(readme.contains(row), "{row}: {readme}");
        }
        let page = std::fs::read_to_string(root.join("docs/experiments/limit-001/index.md"));
        let page = page.unwrap();
        let goals = "The goals of this experiment, judged by this evidence: 6 met.";
        assert!(page.contains(goals), "{page}");
        assert!(page.contains("comparison-errors.json"), "{page}");
        assert!(
            readme.contains("-->\n\n## limit-001 on NVIDIA H200\n"),
            "{readme}"
        );
        let index = root.join("docs/index.md");
        let text = std::fs::read_to_string(&index).unwrap();
        assert!(text.contains("experiments/limit-001/index.md"), "{text}");
        std::fs::write(&index, text.replacen("limit", "other", 1)).unwrap();
        let error = site(root, true).unwrap_err().to_string();
        assert!(error.contains("docs/index.md"), "{error}");
    }
}
