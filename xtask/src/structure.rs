//! `xtask structure`: what the kernels do, counted on the CPU.

use clap::Args;
use mage_evidence::experiment::Experiment;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_harness::bench::check_runnable;
use mage_structure::{files, page};
use std::path::Path;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Experiment whose operations, dims and inputs: the stem of a file in experiments/.
    #[arg(long)]
    experiment: String,
    /// Count the variants of this operation alone.
    #[arg(long, conflicts_with_all = ["write", "check"])]
    op: Option<Operation>,
    /// Print JSON in place of Markdown.
    #[arg(long, conflicts_with_all = ["write", "check"])]
    json: bool,
    /// Write docs/structure/<experiment>.md and .json.
    #[arg(long)]
    write: bool,
    /// Write nothing; prove what is committed. Counts the variants that the experiment measures again, and
    /// compares the source of the others with the hash that they were counted from.
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// With --check: count every variant again.
    #[arg(long, requires = "check")]
    all: bool,
}

/// Prints, writes or proves.
pub fn run(root: &Path, arguments: &Arguments) -> anyhow::Result<()> {
    let experiment = Experiment::named(root, &arguments.experiment)?;
    let path = Experiment::path(root, &experiment.name);
    check_runnable(&experiment).map_err(|invalid| invalid.in_file(&path))?;
    if arguments.check {
        let proved = files::check(root, &experiment, arguments.all)?;
        mage_workspace::outln!(
            "structure of {}: {} variants counted again, {} by the hash of their source; both files as committed",
            experiment.name,
            proved.counted,
            proved.by_source
        );
        return Ok(());
    }
    let report = files::report(root, &experiment, arguments.op)?;
    if arguments.write {
        for path in files::write(root, &report)? {
            mage_workspace::outln!(
                "{}: written",
                path.strip_prefix(root).unwrap_or(&path).display()
            );
        }
    } else if arguments.json {
        mage_workspace::out!("{}", store::to_json(&report)?);
    } else {
        mage_workspace::out!("{}", page::markdown(&report));
    }
    Ok(())
}
