//! `xtask evidence`: export again from committed artifacts, and compare.

use clap::Args;
use mage_evidence::store;
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
        Some(namespace) => vec![namespace.clone()],
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

/// Names of all namespaces with evidence, sorted.
pub fn namespaces(root: &Path) -> anyhow::Result<Vec<String>> {
    let directory = mage_workspace::results(root, "");
    if !directory.exists() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(&directory).map_err(store::io_error("list", &directory))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(store::io_error("list", &directory))?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
