//! `mage-plot`: figures, tables and page of a namespace from its evidence.

use anyhow::Result;
use clap::Parser;
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
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let root = match &arguments.root {
        Some(root) => root.clone(),
        None => mage_workspace::find_root()?,
    };
    let namespace = &arguments.namespace;
    if arguments.json {
        let values = mage_plot::values(&root, namespace)?;
        println!("{}", serde_json::to_string_pretty(&values)?);
        return Ok(());
    }
    let outputs = mage_plot::draw(&root, namespace)?;
    if arguments.check {
        mage_plot::check(&root, &outputs)?;
        println!(
            "{namespace}: {} files are what the evidence gives",
            outputs.len()
        );
        return Ok(());
    }
    mage_plot::write(&root, &outputs)?;
    for output in &outputs {
        println!("{}", output.path.display());
    }
    Ok(())
}
