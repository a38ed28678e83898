//! The whole pipeline on this machine's GPU, into a namespace of its own.

use super::Arguments;
use crate::{programs, python};
use anyhow::{Context, bail};
use mage_evidence::experiment::Experiment;
use mage_kernels::launch::Gpu;
use mage_profile::find;
use std::path::Path;
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
    for taken in [
        mage_workspace::artifacts(root, &namespace),
        mage_workspace::profile_artifacts(root, &namespace),
        mage_workspace::results(root, &namespace),
        mage_workspace::figures(root, &namespace),
        mage_workspace::pages(root, &namespace),
    ] {
        if taken.exists() {
            bail!(
                "{}: found a run of this name, expected none; choose another --namespace",
                taken.display()
            );
        }
    }
    let nsys = find::find(arguments.nsys.as_deref())
        .map_err(|error| anyhow::anyhow!("{error}"))
        .context("kernel times need Nsight Systems; `cargo xtask doctor` says more")?;
    programs::build(root)?;
    let python = python::prepare(root, arguments.python.as_deref())?;
    println!(
        "measuring {} on {} into {namespace}",
        experiment.name,
        gpu.name()?
    );

    let harness = programs::path("mage-harness")?;
    programs::run(
        Command::new(&harness)
            .current_dir(root)
            .args([
                "run",
                "--experiment",
                &experiment.name,
                "--namespace",
                &namespace,
            ])
            .arg("--python")
            .arg(&python),
    )?;
    programs::run(
        Command::new(programs::path("mage-profile")?)
            .current_dir(root)
            .args([
                "run",
                "--experiment",
                &experiment.name,
                "--namespace",
                &namespace,
            ])
            // Most of a capture is the start of its process, which touches no GPU.
            .args(["--jobs", "8"])
            .arg("--inputs")
            .arg(mage_workspace::artifacts(root, &namespace).join("inputs"))
            .arg("--harness")
            .arg(&harness)
            .arg("--python")
            .arg(&python)
            .arg("--nsys")
            .arg(&nsys.path),
    )
    .with_context(|| {
        format!(
            "the samples of {namespace} are whole and kept; go on with: mage-profile run --experiment {} --namespace {namespace} --inputs artifacts/{namespace}-kernels/inputs, then mage-export --namespace {namespace}, then mage-plot --namespace {namespace}",
            experiment.name
        )
    })?;
    let evidence = mage_export::evidence(root, &namespace)?;
    mage_export::write(root, &evidence)?;
    let outputs = mage_plot::draw(root, &namespace)?;
    mage_plot::write(root, &outputs)?;
    for file in &evidence {
        println!("evidence: {}", file.path.display());
    }
    println!(
        "figures:  {} files, see {}",
        outputs.len(),
        page(&namespace)
    );
    Ok(namespace)
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
