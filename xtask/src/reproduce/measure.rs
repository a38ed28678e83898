//! The whole pipeline on this machine's GPU, into a namespace of its own.

use super::Arguments;
use crate::{figures, programs, python};
use anyhow::{Context, bail};
use mage_evidence::experiment::Experiment;
use mage_kernels::launch::Gpu;
use mage_profile::{find, ncu};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Checks the host, then harness, profile, export, plot. Returns the namespace.
pub fn measure(
    root: &Path,
    experiment: &Experiment,
    arguments: &Arguments,
    gpu: &Gpu,
) -> anyhow::Result<String> {
    let namespace = match &arguments.namespace {
        Some(namespace) => namespace.clone(),
        None => default_namespace(&experiment.name, &gpu.name()?, &mage_workspace::now()),
    };
    let measured = [
        mage_workspace::artifacts(root, &namespace),
        mage_workspace::profile_artifacts(root, &namespace),
    ];
    let beside = [
        mage_workspace::ladder_artifacts(root, &namespace),
        mage_workspace::counter_artifacts(root, &namespace),
    ];
    let made = [
        mage_workspace::results(root, &namespace),
        mage_workspace::ladder_page(root, &namespace),
        mage_workspace::counters_page(root, &namespace),
        mage_workspace::figures(root, &namespace),
        mage_workspace::pages(root, &namespace),
    ];
    // What is measured may be there for one that is resumed; what is made from it is the last thing to appear.
    let refused = match arguments.resume {
        true => Vec::new(),
        false => measured.iter().chain(&beside).collect(),
    };
    for taken in refused.into_iter().chain(&made) {
        if taken.exists() {
            bail!(
                "{}: found a run of this name, expected none; choose another --namespace",
                taken.display()
            );
        }
    }
    let steps = measured.map(|directory| Step::of(&directory, arguments.resume));
    let nsys = find::find(arguments.nsys.as_deref())
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("kernel times need Nsight Systems; `cargo xtask doctor` says more")?;
    let ncu = match arguments.counters {
        true => Some(
            ncu::find(arguments.ncu.as_deref())
                .map_err(anyhow::Error::msg)
                .context("--counters needs Nsight Compute; `cargo xtask doctor` says more")?,
        ),
        false => None,
    };
    programs::build(root)?;
    let python = python::prepare(root, arguments.python.as_deref())?;
    println!(
        "measuring {} on {} into {namespace}",
        experiment.name,
        gpu.name()?
    );

    let harness = programs::path("mage-harness")?;
    let common = |program: &Path, step: Step| {
        let mut command = Command::new(program);
        command
            .current_dir(root)
            .args(["run", "--experiment", &experiment.name])
            .args(["--namespace", &namespace])
            .arg("--python")
            .arg(&python)
            .args((step == Step::Resume).then_some("--resume"));
        command
    };
    if steps[0] != Step::Done {
        programs::run(&mut common(&harness, steps[0]))?;
    }
    if steps[1] != Step::Done {
        let mut profile = common(&programs::path("mage-profile")?, steps[1]);
        profile
            // Most of a capture is the start of its process, which touches no GPU.
            .args(["--jobs", "8"])
            .arg("--inputs")
            .arg(measured_inputs(root, &namespace))
            .arg("--harness")
            .arg(&harness)
            .arg("--nsys")
            .arg(&nsys.path);
        programs::run(&mut profile).with_context(|| {
            format!(
                "the samples of {namespace} are whole and kept; go on with: cargo xtask reproduce --experiment {} --namespace {namespace} --resume",
                experiment.name
            )
        })?;
    }
    if experiment.ladder.is_some() && !beside[0].exists() {
        climb(root, &experiment.name, &namespace, &harness, &nsys.path)?;
    }
    if let Some(ncu) = ncu
        && !beside[1].exists()
    {
        counters(root, experiment, &namespace, &ncu.path, &harness, &python)?;
    }
    let evidence = mage_export::evidence(root, &namespace)?;
    mage_export::write(root, &evidence)?;
    let drawn = figures::namespace(root, &namespace, false)?;
    figures::site(root, false)?;
    for file in &evidence {
        println!("evidence: {}", file.path.display());
    }
    println!(
        "figures:  {drawn} files, see {}, docs/index.html",
        page(&namespace)
    );
    Ok(namespace)
}

/// The ladder of kernel variants, of the same inputs and program.
fn climb(
    root: &Path,
    experiment: &str,
    namespace: &str,
    harness: &Path,
    nsys: &Path,
) -> anyhow::Result<()> {
    programs::run(
        Command::new(programs::path("mage-profile")?)
            .current_dir(root)
            .args(["ladder", "--experiment", experiment, "--namespace", namespace])
            .arg("--inputs")
            .arg(measured_inputs(root, namespace))
            .arg("--harness")
            .arg(harness)
            .arg("--nsys")
            .arg(nsys),
    )
    .with_context(|| {
        format!(
            "samples and captures of {namespace} are whole and kept; go on with: mage-profile ladder --experiment {experiment} --namespace {namespace} --inputs artifacts/{namespace}-kernels/inputs, then mage-export --namespace {namespace}, then cargo xtask figures --namespace {namespace}"
        )
    })
}

/// The hardware counters of what was just measured.
fn counters(
    root: &Path,
    experiment: &Experiment,
    namespace: &str,
    ncu: &Path,
    harness: &Path,
    python: &Path,
) -> anyhow::Result<()> {
    programs::run(
        Command::new(programs::path("mage-profile")?)
            .current_dir(root)
            .args(["counters", "--experiment", &experiment.name])
            .args(["--namespace", namespace])
            .arg("--inputs")
            .arg(measured_inputs(root, namespace))
            .arg("--harness")
            .arg(harness)
            .arg("--python")
            .arg(python)
            .arg("--ncu")
            .arg(ncu),
    )
    .with_context(|| {
        format!(
            "samples and captures of {namespace} are whole and kept; go on without counters: mage-export --namespace {namespace}, then mage-plot --namespace {namespace}"
        )
    })
}

fn measured_inputs(root: &Path, namespace: &str) -> PathBuf {
    mage_workspace::artifacts(root, namespace).join("inputs")
}

/// What is to be done about one of the directories that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// It is whole.
    Done,
    /// An interrupted run left a part of it.
    Resume,
    /// Nothing is there.
    Start,
}

impl Step {
    fn of(directory: &Path, resume: bool) -> Self {
        let mut partial = directory.as_os_str().to_owned();
        partial.push(".partial");
        match resume {
            true if directory.exists() => Self::Done,
            true if Path::new(&partial).exists() => Self::Resume,
            _ => Self::Start,
        }
    }
}

fn page(namespace: &str) -> String {
    format!("docs/experiments/{namespace}/index.html")
}

/// `<experiment>-<device>-<date>`: the device's name without its vendor, in lower case.
fn default_namespace(experiment: &str, device: &str, now: &str) -> String {
    let words: Vec<String> = device
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !["NVIDIA", "GeForce"].contains(word))
        .map(str::to_ascii_lowercase)
        .collect();
    let date = now.split('T').next().unwrap_or(now);
    format!("{experiment}-{}-{date}", words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_reproduction_does_what_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::create_dir(at("whole")).unwrap();
        std::fs::create_dir(at("cut.partial")).unwrap();
        assert_eq!(Step::of(&at("whole"), true), Step::Done);
        assert_eq!(Step::of(&at("cut"), true), Step::Resume);
        assert_eq!(Step::of(&at("new"), true), Step::Start);
        assert_eq!(
            Step::of(&at("cut"), false),
            Step::Start,
            "refused by the program itself"
        );
    }

    #[test]
    fn namespaces_name_experiment_device_and_date() {
        let now = "2026-11-29T18:00:00Z";
        for (device, expected) in [
            ("NVIDIA H200", "mage-001-h200-2026-11-29"),
            ("NVIDIA GeForce RTX 4090", "mage-001-rtx-4090-2026-11-29"),
            (
                "NVIDIA A100-SXM4-80GB",
                "mage-001-a100-sxm4-80gb-2026-11-29",
            ),
        ] {
            assert_eq!(default_namespace("mage-001", device, now), expected);
            mage_evidence::experiment::check_name(expected).unwrap();
        }
    }
}
