//! `mage-plot`: figures, tables and page of a namespace from its evidence.

use anyhow::Result;
use clap::Parser;
use mage_evidence::Invalid;
use mage_workspace::exit;
use std::path::PathBuf;
use std::process::ExitCode;

/// Draws the figures, tables and page of a result namespace from its evidence
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Result namespace, a directory below docs/assets/results
    #[arg(long)]
    namespace: String,
    /// Write nothing: fail where what is stored differs from what the evidence gives
    #[arg(long, conflicts_with = "json")]
    check: bool,
    /// Write nothing: print the plotted values as JSON
    #[arg(long)]
    json: bool,
    /// Root of the workspace [default: the nearest directory upwards that has experiments/]
    #[arg(long)]
    root: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mage-plot: {error:#}");
            let usage = error.chain().any(exit::is_usage);
            ExitCode::from(if usage { exit::USAGE } else { exit::FAILED })
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let root = match &arguments.root {
        Some(root) => root.clone(),
        None => mage_workspace::find_root()?,
    };
    let namespace = &arguments.namespace;
    let known = mage_workspace::namespaces(&root)?;
    if !known.contains(namespace) {
        let found = format!("{namespace:?}");
        let expected = format!("one of {}", known.join(", "));
        return Err(Invalid::new("--namespace", found, expected)
            .help("mage-export makes evidence from artifacts")
            .into());
    }
    if arguments.json {
        let values = mage_plot::values(&root, namespace)?;
        mage_workspace::outln!("{}", serde_json::to_string_pretty(&values)?);
        return Ok(());
    }
    let outputs = mage_plot::draw(&root, namespace)?;
    if arguments.check {
        mage_plot::check(&root, &outputs)?;
        mage_workspace::outln!(
            "{namespace}: {} files are what the evidence gives",
            outputs.len()
        );
        return Ok(());
    }
    mage_plot::write(&root, &outputs)?;
    for output in &outputs {
        mage_workspace::outln!("{}", output.path.display());
    }
    Ok(())
}
