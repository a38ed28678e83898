//! The command line of `mage-export`.

use clap::Parser;
use mage_evidence::experiment::check_name;

/// Evidence JSON, with SHA-256 provenance, from the artifacts of a run and its captures.
#[derive(Debug, Parser)]
#[command(name = "mage-export", version)]
pub struct Cli {
    /// Result namespace: artifacts/<namespace>-kernels and -kernels-nsys.
    #[arg(long)]
    namespace: String,
    /// Write nothing; prove that the files are what the artifacts give.
    #[arg(long)]
    check: bool,
}

/// Does what the command line says.
///
/// # Errors
/// Whatever keeps it from being done.
pub fn main(cli: &Cli) -> anyhow::Result<()> {
    check_name(&cli.namespace).map_err(|e| e.under("--namespace"))?;
    let root = mage_workspace::find_root()?;
    let files = crate::evidence(&root, &cli.namespace)?;
    if cli.check {
        crate::check(&root, &files)?;
    } else {
        crate::write(&root, &files)?;
    }
    let verb = if cli.check { "proved" } else { "written" };
    for file in &files {
        println!("{verb}: {}", file.path.display());
    }
    Ok(())
}
