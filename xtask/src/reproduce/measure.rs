//! The whole pipeline on this machine's GPU, into a namespace of its own.

use super::Arguments;
use crate::{figures, programs, python};
use anyhow::{Context, bail};
use mage_evidence::experiment::Experiment;
use mage_kernels::launch::Gpu;
use mage_profile::find::{self, Nsys, Places};
use mage_profile::ncu::{self, Ncu};
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
    let resume = arguments.resume;
    untaken(measured.each_ref(), beside.each_ref(), &made, resume)?;
    let steps = measured.map(|directory| Step::of(&directory, resume));
    let nsys = nsys(&Places::here(arguments.nsys.as_deref()))?;
    let ncu = match arguments.counters {
        true => Some(ncu(arguments.ncu.as_deref())?),
        false => None,
    };
    programs::build(root)?;
    let python = python::prepare(root, arguments.python.as_deref())?;
    mage_workspace::outln!(
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
    let go_on = |flag: &str| {
        format!(
            "what else was measured of {namespace} is whole and kept; go on with: cargo xtask reproduce --experiment {} --namespace {namespace}{flag} --resume",
            experiment.name
        )
    };
    let inputs = mage_workspace::artifacts(root, &namespace).join("inputs");
    let profile = programs::path("mage-profile")?;
    if steps[1] != Step::Done {
        let mut captures = common(&profile, steps[1]);
        captures
            // Most of a capture is the start of its process, which touches no GPU.
            .args(["--jobs", "8"])
            .arg("--inputs")
            .arg(&inputs)
            .arg("--harness")
            .arg(&harness)
            .arg("--nsys")
            .arg(&nsys.path);
        programs::run(&mut captures).with_context(|| go_on(""))?;
    }
    let beside_it = |verb: &str| {
        let mut command = Command::new(&profile);
        command
            .current_dir(root)
            .args([verb, "--experiment", &experiment.name])
            .args(["--namespace", &namespace])
            .arg("--inputs")
            .arg(&inputs)
            .arg("--harness")
            .arg(&harness)
            // Each is of one go: what an interrupted one left is no part of it.
            .args(resume.then_some("--replace"));
        command
    };
    if experiment.ladder.is_some() && !beside[0].exists() {
        let mut ladder = beside_it("ladder");
        ladder.arg("--nsys").arg(&nsys.path);
        programs::run(&mut ladder).with_context(|| go_on(""))?;
    }
    if let Some(ncu) = ncu
        && !beside[1].exists()
    {
        let mut counters = beside_it("counters");
        counters
            .arg("--python")
            .arg(&python)
            .arg("--ncu")
            .arg(&ncu.path);
        programs::run(&mut counters).with_context(|| {
            format!(
                "{}; or without counters, leaving that flag out",
                go_on(" --counters")
            )
        })?;
    }
    let evidence = mage_export::evidence(root, &namespace)?;
    mage_export::write(root, &evidence)?;
    let drawn = figures::namespace(root, &namespace, false)?;
    figures::site(root, false)?;
    for file in &evidence {
        mage_workspace::outln!("evidence: {}", file.path.display());
    }
    mage_workspace::outln!(
        "figures:  {drawn} files, see {}, docs/index.html",
        page(&namespace)
    );
    Ok(namespace)
}

/// Both keep the type of what is not there, by which the exit code is chosen.
fn nsys(places: &Places) -> anyhow::Result<Nsys> {
    find::find_in(places)
        .context("kernel times need Nsight Systems; `cargo xtask doctor` says more")
}

fn ncu(given: Option<&Path>) -> anyhow::Result<Ncu> {
    ncu::find(given)
        .map_err(mage_profile::Error::NotAvailable)
        .context("--counters needs Nsight Compute; `cargo xtask doctor` says more")
}

/// Refuses a namespace that is taken. With `resume`, what is measured may be there, and so may what is made of it once
/// that is whole: it is made again, and gives the same bytes. Where it is not whole, what is made is of another run.
fn untaken(
    measured: [&PathBuf; 2],
    beside: [&PathBuf; 2],
    made: &[PathBuf],
    resume: bool,
) -> anyhow::Result<()> {
    let whole = measured.iter().all(|directory| directory.exists());
    let there = |path: &&PathBuf| path.exists();
    if !resume {
        let mut all = measured.into_iter().chain(beside).chain(made);
        if let Some(taken) = all.find(there) {
            bail!(
                "{}: found a run of this name, expected none; choose another --namespace, or go on with it with --resume",
                taken.display()
            );
        }
    } else if let Some(made) = made.iter().find(there)
        && !whole
    {
        bail!(
            "{}: found what is made of a whole run, expected none while samples and captures are not whole; choose another --namespace",
            made.display()
        );
    }
    Ok(())
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

    /// With a PATH and a machine that have neither.
    #[test]
    fn without_a_profiler_there_is_nothing_to_measure_with() {
        let empty = tempfile::tempdir().unwrap();
        let places = Places {
            path: Some(empty.path().into()),
            root: empty.path().into(),
            ..Places::default()
        };
        let absent = empty.path().join("ncu");
        for (error, words) in [
            (
                nsys(&places).unwrap_err(),
                [
                    "kernel times need Nsight Systems",
                    "no Nsight Systems in PATH",
                ],
            ),
            (
                ncu(Some(&absent)).unwrap_err(),
                [
                    "--counters needs Nsight Compute",
                    "does not answer --version",
                ],
            ),
        ] {
            assert_eq!(crate::exit::of(&error, false), crate::exit::INVALID);
            let said = format!("{error:#}");
            assert!(words.iter().all(|part| said.contains(part)), "{said}");
        }
    }

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
    fn a_name_is_taken_by_anything_or_by_what_is_of_another_run() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (measured, beside) = ([at("run"), at("captures")], [at("ladder"), at("counters")]);
        let made = [at("results"), at("page")];
        let taken = |resume| {
            let answer = untaken(measured.each_ref(), beside.each_ref(), &made, resume);
            answer.err().map(|error| error.to_string())
        };
        let says = |resume, words: &str| {
            let said = taken(resume).unwrap_or_default();
            assert!(said.contains(words), "{words}: {said:?}");
        };
        assert_eq!(
            (taken(false), taken(true)),
            (None, None),
            "nothing is there"
        );
        std::fs::create_dir(&made[0]).unwrap();
        says(false, "results: found a run of this name");
        says(true, "results: found what is made of a whole run");
        std::fs::create_dir(&measured[0]).unwrap();
        says(
            true,
            "expected none while samples and captures are not whole",
        );
        std::fs::create_dir(&measured[1]).unwrap();
        assert_eq!(taken(true), None, "it was interrupted while it drew");
        says(false, "go on with it with --resume");
        std::fs::remove_dir(&made[0]).unwrap();
        std::fs::create_dir(&beside[1]).unwrap();
        assert_eq!(taken(true), None);
        for directory in &measured {
            std::fs::remove_dir(directory).unwrap();
        }
        says(false, "counters: found a run of this name");
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
