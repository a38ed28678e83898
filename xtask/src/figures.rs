//! `xtask figures`: everything that is drawn or spliced from evidence.

use crate::{ladder, readme};
use clap::Args;
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
        let verb = if arguments.check { "proved" } else { "drawn" };
        println!(
            "{namespace}: {} files {verb}",
            outputs.len() + usize::from(page)
        );
    }
    if arguments.experiment.is_none() {
        readme::run(root, arguments.check)?;
    }
    Ok(())
}
