//! Everything that needs no GPU, made again from what is committed and compared byte by byte.

use crate::figures;
use anyhow::Context;
use mage_evidence::experiment::Experiment;
use mage_harness::{check, cpu};
use mage_kernels::suite;
use std::path::Path;

/// Generates and verifies the inputs, runs every kernel on the CPU over the small suite, exports the evidence
/// again, draws the figures and pages again, and proves each against what is committed. Writes nothing.
/// Returns what was checked on the CPU.
pub fn replay(
    root: &Path,
    experiment: &Experiment,
    namespace: &str,
) -> anyhow::Result<cpu::Summary> {
    let files = mage_harness::inputs::verify(experiment)?;
    mage_workspace::outln!(
        "inputs:   {files} files generated, each with the SHA-256 that the experiment names"
    );
    let checks = kernels(experiment)?;
    mage_workspace::outln!("kernels:  {checks}");
    let artifacts = mage_export::Artifacts::read(root, namespace).with_context(|| {
        format!(
            "{namespace} has no whole set of artifacts here; measure it on a machine with a GPU"
        )
    })?;
    artifacts.measured_as(root, experiment)?;
    let evidence = artifacts.evidence()?;
    mage_export::check(root, &evidence)?;
    mage_workspace::outln!(
        "evidence: {} files exported again from the artifacts, each as committed",
        evidence.len()
    );
    let drawn = figures::namespace(root, namespace, true)?;
    figures::site(root, true)?;
    mage_workspace::outln!(
        "figures:  {drawn} figures, tables and pages drawn again, each as committed"
    );
    Ok(checks)
}

/// Every kernel over the small suite on the CPU.
fn kernels(experiment: &Experiment) -> anyhow::Result<cpu::Summary> {
    let rows = cpu::suite(&suite::small(), &[])?;
    check::failures(&rows).with_context(|| check::table(&rows))?;
    Ok(cpu::Summary::of(&rows, experiment))
}
