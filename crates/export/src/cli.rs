//! The command line of `mage-export`.

use clap::Parser;
use mage_evidence::Invalid;
use mage_evidence::experiment::check_name;

/// Evidence JSON, with SHA-256 provenance, from the artifacts of a run and its captures.
#[derive(Debug, Parser)]
#[command(name = "mage-export", version)]
pub struct Cli {
    /// Result namespace: artifacts/<namespace>-kernels, -kernels-nsys, and -kernels-ncu where it has counters.
    #[arg(long)]
    namespace: String,
    /// Write nothing; verify the evidence and the artifacts that it was made from.
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
    let known = crate::verify::namespaces(&root)?;
    if !known.contains(&cli.namespace) {
        return Err(Invalid::new(
            "--namespace",
            format!("{:?}", cli.namespace),
            format!("one of {}", known.join(", ")),
        )
        .help("measure it first: cargo xtask reproduce")
        .into());
    }
    if cli.check {
        let report = crate::verify::verify(&root, std::slice::from_ref(&cli.namespace))?;
        mage_workspace::out!("{report}");
        anyhow::ensure!(
            report.is_valid(),
            "{} findings in {}",
            report.findings.len(),
            cli.namespace
        );
        return Ok(());
    }
    let files = crate::evidence(&root, &cli.namespace)?;
    crate::write(&root, &files)?;
    for file in &files {
        mage_workspace::outln!("written: {}", file.path.display());
    }
    Ok(())
}
