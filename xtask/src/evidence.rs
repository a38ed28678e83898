//! `xtask evidence`: export again from committed artifacts, and compare.

use clap::Args;
use mage_evidence::experiment::check_name;
use mage_workspace::namespaces;
use std::path::Path;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Namespace; all committed ones by default.
    #[arg(long)]
    namespace: Option<String>,
}

/// Proves each namespace's evidence against its artifacts, byte for byte.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let namespaces = match &arguments.namespace {
        Some(namespace) => {
            check_name(namespace).map_err(|e| e.under("--namespace"))?;
            vec![namespace.clone()]
        }
        None => namespaces(root)?,
    };
    for namespace in &namespaces {
        let files = mage_export::evidence(root, namespace)?;
        mage_export::check(root, &files)?;
        println!(
            "{namespace}: {} files are what the artifacts give",
            files.len()
        );
    }
    Ok(())
}
