//! Writing and verifying an experiment's inputs.

use crate::run::case_inputs;
use mage_evidence::experiment::Experiment;
use std::path::Path;

/// Generates every input of the experiment, proves each against the spec's hash and writes it to
/// `<output>/<operation>/<file>`. Returns the number of files.
///
/// # Errors
/// Names the file whose hash differs or that cannot be written.
pub fn write(experiment: &Experiment, output: &Path) -> anyhow::Result<usize> {
    // Everything is proved before anything is written.
    let all = experiment
        .operations
        .iter()
        .map(|case| case_inputs(experiment, case))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let mut files = 0;
    for inputs in all {
        inputs.write(output)?;
        for (file, digest) in inputs.sha256() {
            mage_workspace::outln!("{digest}  {}/{file}", inputs.operation);
            files += 1;
        }
    }
    Ok(files)
}

/// Generates every input and proves it against the spec's hash, writing nothing. Returns the number of
/// files.
///
/// # Errors
/// Names the file whose hash differs.
pub fn verify(experiment: &Experiment) -> anyhow::Result<usize> {
    let mut files = 0;
    for case in &experiment.operations {
        files += case_inputs(experiment, case)?.arrays.len();
    }
    Ok(files)
}
