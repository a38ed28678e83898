//! What an interrupted run left: which of it is whole, and whether it may go on.

use super::{Begun, Bench, Plan, case_inputs, record};
use anyhow::Context;
use mage_evidence::artifact::{Resumed, Run, Samples, same_session};
use mage_evidence::operation::Operation;
use mage_evidence::{Invalid, store};
use mage_workspace::remove_cut_writes;
use std::path::Path;

/// The record of a run that has not ended. It is [`Run`] with the end standing for the beginning, and never published.
pub(super) const BEGUN: &str = "begun.json";
/// The record of a run that has.
pub(super) const RUN: &str = "run.json";
const SPEC: &str = "experiment.toml";
const SAMPLES: &str = "samples";
const INPUTS: &str = "inputs";

/// The record is whole: what was only for resuming goes.
pub(super) fn end(directory: &Path) -> anyhow::Result<()> {
    let path = directory.join(BEGUN);
    if path.exists() {
        std::fs::remove_file(&path).map_err(store::io_error("remove", &path))?;
    }
    Ok(())
}

/// What is left of a run.
pub(super) enum Left {
    /// It ended before it measured anything.
    Nothing,
    /// Some of its operations.
    Begun(Box<Begun>),
    /// Everything: it ended between its record and its name.
    Whole,
}

/// What `directory` holds of the plan. What a write that was
/// cut short left behind is removed, and the inputs are made again.
///
/// # Errors
/// Names what differs between then and now, or the file that no run of the plan leaves.
pub(super) fn read(plan: &Plan, bench: &Bench, directory: &Path) -> anyhow::Result<Left> {
    let measured = sweep(plan, directory)?;
    let ended = directory.join(RUN).is_file();
    let path = directory.join(if ended { RUN } else { BEGUN });
    if !path.is_file() {
        if let Some(operation) = measured.first() {
            return Err(Invalid::new(
                BEGUN,
                format!("none, and samples of {operation}"),
                "the record that every run begins with",
            )
            .help("remove the directory and start again")
            .in_file(directory)
            .into());
        }
        return Ok(Left::Nothing);
    }
    let mut run: Run = store::read_json(&path)?;
    run.check().map_err(|invalid| invalid.in_file(&path))?;
    same_session(&run, &record(plan, bench)?).map_err(|invalid| invalid.in_file(&path))?;
    for operation in &measured {
        let path = directory.join(SAMPLES).join(format!("{operation}.json"));
        let samples: Samples = store::read_json(&path)?;
        let case = plan
            .experiment
            .case(*operation)
            .with_context(|| format!("the experiment has no operation {operation}"))?;
        samples
            .check(&run)
            .and_then(|()| match samples.input_sha256 == case.sha256 {
                true => Ok(()),
                false => Err(Invalid::new(
                    "input_sha256",
                    "other inputs",
                    "those of the experiment",
                )),
            })
            .map_err(|invalid| {
                let help = "remove the directory and start again";
                invalid.help(help).in_file(&path)
            })?;
        // Made again, for the profiler.
        case_inputs(&plan.experiment, case)?.write(&directory.join(INPUTS))?;
    }
    if ended {
        return match run.operations.iter().find(|op| !measured.contains(op)) {
            None => Ok(Left::Whole),
            Some(missing) => Err(Invalid::new(
                "operations",
                format!("no samples of {missing}"),
                "samples of every operation of a run that has ended",
            )
            .help("remove the directory and start again")
            .in_file(&path)
            .into()),
        };
    }
    run.resumed.push(Resumed {
        at: mage_workspace::now(),
        command: plan.command.clone(),
        kept: measured.iter().map(Operation::to_string).collect(),
    });
    Ok(Left::Begun(Box::new(Begun {
        run,
        whole: measured,
    })))
}

/// Removes what cut writes and the inputs left; the operations that have samples, in the order of the plan.
fn sweep(plan: &Plan, directory: &Path) -> anyhow::Result<Vec<Operation>> {
    let inputs = directory.join(INPUTS);
    if inputs.exists() {
        std::fs::remove_dir_all(&inputs).map_err(store::io_error("remove", &inputs))?;
    }
    let samples = directory.join(SAMPLES);
    let file_of = |operation: &Operation| format!("{operation}.json");
    let known: Vec<String> = plan.operations.iter().map(file_of).collect();
    remove_cut_writes(directory, &[BEGUN, RUN, SPEC, SAMPLES])?;
    if samples.exists() {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        remove_cut_writes(&samples, &known)?;
    }
    let whole = |operation: &&Operation| samples.join(file_of(operation)).is_file();
    Ok(plan.operations.iter().filter(whole).copied().collect())
}
