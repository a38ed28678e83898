//! `xtask figures`: everything that is drawn or spliced from evidence.

use crate::{ladder, readme};
use clap::Args;
use mage_evidence::store;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment or other namespace to draw; all committed ones by default.
    #[arg(long, alias = "namespace")]
    experiment: Option<String>,
    /// Write nothing; prove that what is committed is what the evidence gives.
    #[arg(long)]
    check: bool,
}

/// The page that says what bounds each case of a namespace, where it has counters: writes or proves it.
fn bounds(root: &Path, namespace: &str, check: bool) -> anyhow::Result<()> {
    let page = PathBuf::from("docs/counters").join(format!("{namespace}.md"));
    let path = root.join(&page);
    let page = page.display();
    let Some(counters) = mage_workspace::counters(root, namespace)? else {
        anyhow::ensure!(
            !path.exists(),
            "{page}: found a page, expected none where {namespace} has no counters; remove it"
        );
        return Ok(());
    };
    let text = counters.markdown();
    if !check {
        store::write_bytes(&path, text.as_bytes())?;
        println!("written: {page}");
        return Ok(());
    }
    anyhow::ensure!(
        store::read_text(&path).is_ok_and(|found| found == text),
        "{page}: found other text than the evidence gives, or none; run `cargo xtask figures`"
    );
    Ok(())
}

/// Draws or checks.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let namespaces = match &arguments.experiment {
        Some(namespace) => vec![namespace.clone()],
        None => mage_workspace::namespaces(root)?,
    };
    for namespace in &namespaces {
        let outputs = mage_plot::draw(root, namespace)?;
        if arguments.check {
            mage_plot::check(root, &outputs)?;
        } else {
            mage_plot::write(root, &outputs)?;
        }
        let page = ladder::run(root, namespace, arguments.check)?;
        bounds(root, namespace, arguments.check)?;
        let verb = if arguments.check { "proved" } else { "drawn" };
        println!(
            "{namespace}: {} files {verb}",
            outputs.len() + usize::from(page)
        );
    }
    if arguments.experiment.is_none() {
        let outputs = mage_plot::index(root, &namespaces)?;
        match arguments.check {
            true => mage_plot::check(root, &outputs)?,
            false => mage_plot::write(root, &outputs)?,
        }
        readme::run(root, arguments.check)?;
    }
    Ok(())
}
