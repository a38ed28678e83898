//! What the evidence says of itself: records of one thing agree, nothing points outside the tree, and what
//! was measured is what the experiment asks for.

use super::files::{is_outside, walk};
use super::{Kind, Places, Proved, Report, ladder, sources};
use mage_evidence::artifact::Capture;
use mage_evidence::counters::Counters;
use mage_evidence::counters::artifact::{SESSION_FILE, Session};
use mage_evidence::experiment::Experiment;
use mage_evidence::profiles::Profiles;
use mage_evidence::results::{Provenance, Results};
use mage_evidence::{hash, store};
use std::path::Path;

/// Checks the records of a namespace whose files are as they should be.
pub fn check(
    root: &Path,
    places: &Places,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<()> {
    let results: Results = store::read_json(&root.join(&places.results_file))?;
    let profiles: Profiles = store::read_json(&root.join(&places.profiles_file))?;
    let (Some(of_results), Some(of_profiles)) = (&results.provenance, &profiles.provenance) else {
        report.add(
            Kind::Inconsistent,
            &places.results_file,
            "provenance: found none in one of the evidence files, expected it in both",
        );
        return Ok(());
    };
    for error in [
        results.check().map_err(|e| (&places.results_file, e)).err(),
        profiles
            .check()
            .map_err(|e| (&places.profiles_file, e))
            .err(),
    ]
    .into_iter()
    .flatten()
    {
        report.add(Kind::Inconsistent, error.0, error.1.to_string());
    }
    if root.join(&places.counters_file).exists() {
        counters(root, places, of_results, proved, report)?;
    }
    agree(places, &results, of_results, report);
    specification(root, places, &results, of_results, report)?;
    commands(root, places, of_results, &of_profiles.command, report)?;
    ladder::provenance(root, places, &of_results.device, proved, report)?;
    inputs(root, places, &results, proved, report)?;
    let file = &places.results_file;
    let sources = &results.source_sha256;
    sources::check(root, file, sources, &of_results.tree, proved, report);
    Ok(())
}

/// Counters are of a session of their own, and say so: of this namespace and experiment, with commands that name
/// nothing outside the tree, and objects that are those of the sources that were recorded with them.
fn counters(
    root: &Path,
    places: &Places,
    results: &Provenance,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<()> {
    let file = &places.counters_file;
    let counters: Counters = store::read_json(&root.join(file))?;
    let artifact = places.counted.join(SESSION_FILE);
    let session: Session = store::read_json(&root.join(&artifact))?;
    let build = &session.build;
    sources::check(
        root,
        &artifact,
        &build.source_sha256,
        &build.tree,
        proved,
        report,
    );
    if let Err(error) = counters.check() {
        report.add(Kind::Inconsistent, file, error.to_string());
    }
    let own = &counters.provenance;
    if (&own.namespace, &own.experiment) != (&results.namespace, &results.experiment) {
        report.add(
            Kind::Inconsistent,
            file,
            format!(
                "provenance: found {} of {}, expected {} of {}",
                own.namespace, own.experiment, results.namespace, results.experiment
            ),
        );
    }
    if let Some(word) = own.command.iter().find(|word| names_a_place(word)) {
        report.add(
            Kind::Path,
            file,
            format!("provenance.command: found {word:?}, expected no path outside the tree"),
        );
    }
    for (object, hash) in &own.objects_sha256 {
        let path = format!("crates/kernels/ptx/{object}");
        let source = build.source_sha256.get(&path);
        if source.is_none_or(|source| source != hash) {
            report.add(
                Kind::Inconsistent,
                file,
                format!("provenance.objects_sha256.{object}: found {hash}, expected what source_sha256 of {SESSION_FILE} has for {path}; the program was not built from these sources"),
            );
        }
    }
    Ok(())
}

/// Hashes that are recorded twice.
fn agree(places: &Places, results: &Results, provenance: &Provenance, report: &mut Report) {
    let source = |path: &str| results.source_sha256.get(path);
    let spec = format!("experiments/{}.toml", provenance.experiment);
    let mut pairs = vec![
        (
            "lock_file_sha256".to_string(),
            &provenance.lock_file_sha256,
            "Cargo.lock".to_string(),
        ),
        (
            "experiment_sha256".to_string(),
            &provenance.experiment_sha256,
            spec,
        ),
    ];
    for (file, hash) in &provenance.objects_sha256 {
        pairs.push((
            format!("objects_sha256.{file}"),
            hash,
            format!("crates/kernels/ptx/{file}"),
        ));
    }
    for (field, hash, path) in pairs {
        if !hash::is_sha256(hash) {
            report.add(
                Kind::Inconsistent,
                &places.results_file,
                format!("provenance.{field}: found {hash:?}, expected a SHA-256"),
            );
        } else if source(&path).is_some_and(|recorded| recorded != hash) {
            report.add(
                Kind::Inconsistent,
                &places.results_file,
                format!("provenance.{field}: found {hash}, expected what source_sha256 has for {path}; the program was not built from these sources"),
            );
        }
    }
    for path in results.source_sha256.keys().filter(|p| is_outside(p)) {
        report.add(
            Kind::Path,
            &places.results_file,
            format!("source_sha256: found {path:?}, expected a path below the root"),
        );
    }
}

/// The spec as it was: what was measured is what it names, or is said to be left out.
fn specification(
    root: &Path,
    places: &Places,
    results: &Results,
    provenance: &Provenance,
    report: &mut Report,
) -> anyhow::Result<()> {
    let path = places.events.join("experiment.toml");
    let text = store::read_text(&root.join(&path))?;
    let spec = match Experiment::parse(&text) {
        Ok(spec) => spec,
        Err(invalid) => {
            report.add(Kind::Inconsistent, path, invalid.to_string());
            return Ok(());
        }
    };
    if spec.name != provenance.experiment {
        report.add(
            Kind::Inconsistent,
            &path,
            format!(
                "name: found {:?}, expected {:?} as the evidence says",
                spec.name, provenance.experiment
            ),
        );
    }
    for case in &spec.operations {
        let measured = results.results.iter().find(|r| r.op == case.name);
        let Some(measured) = measured else {
            let excused = results
                .excluded
                .iter()
                .any(|e| e.starts_with(&format!("{}:", case.name)));
            if !excused {
                report.add(
                    Kind::Count,
                    &places.results_file,
                    format!(
                        "results: found no {}, expected it, or a reason in excluded",
                        case.name
                    ),
                );
            }
            continue;
        };
        if measured.dims != case.dims || measured.input_hashes.sha256 != case.sha256 {
            report.add(
                Kind::Inconsistent,
                &places.results_file,
                format!("{}: found dims {:?} and their inputs, expected dims and input hashes as {} has them", case.name, measured.dims, path.display()),
            );
        }
    }
    for name in &spec.implementations {
        let there = results.implementations().contains(name);
        let excused = results
            .excluded
            .iter()
            .any(|e| e.starts_with(&format!("{name}:")))
            || results
                .results
                .iter()
                .all(|op| op.unavailable.contains_key(name));
        if !there && !excused {
            report.add(
                Kind::Count,
                &places.results_file,
                format!("results: found no {name}, expected it, or a reason in excluded"),
            );
        }
    }
    let there = root.join(&places.ladder_file).exists();
    if spec.ladder.is_some() && !there {
        report.notes.push(format!(
            "{}: not there, although the experiment asks for a ladder",
            places.ladder_file.display()
        ));
    }
    let asked = spec.protocol;
    let found = (
        results.rounds,
        results.iterations_per_round,
        results.warmup_per_round,
    );
    if found != (asked.rounds, asked.iterations, asked.warmup) {
        report.notes.push(format!(
            "{}: {} rounds of {} after {} where the experiment asks for {} of {} after {}",
            places.results_file.display(),
            found.0,
            found.1,
            found.2,
            asked.rounds,
            asked.iterations,
            asked.warmup
        ));
    }
    Ok(())
}

/// Recorded command lines name nothing outside the tree.
fn commands(
    root: &Path,
    places: &Places,
    results: &Provenance,
    profiler: &[String],
    report: &mut Report,
) -> anyhow::Result<()> {
    let mut check = |file: &Path, field: &str, words: &[String]| {
        if let Some(word) = words.iter().find(|word| names_a_place(word)) {
            report.add(
                Kind::Path,
                file,
                format!("{field}: found {word:?}, expected no path outside the tree"),
            );
        }
    };
    check(&places.results_file, "provenance.command", &results.command);
    check(&places.profiles_file, "provenance.command", profiler);
    for (path, _) in walk(root, &places.captures.join("captures"))? {
        let capture: Capture = store::read_json(&root.join(&path))?;
        for words in &capture.commands {
            check(&path, "commands", words);
        }
    }
    Ok(())
}

/// Whether a word of a command line is, or ends in, an absolute path or one that leaves the tree.
pub(super) fn names_a_place(word: &str) -> bool {
    let value = match word.split_once('=') {
        Some((flag, value)) if flag.starts_with('-') => value,
        _ => word,
    };
    let windows = value.len() > 2 && value.as_bytes()[1] == b':' && value.contains('\\');
    windows
        || Path::new(value).is_absolute()
        || value == ".."
        || value.starts_with("../")
        || value.contains("/../")
}

/// Input files that are still there are the ones that were measured.
fn inputs(
    root: &Path,
    places: &Places,
    results: &Results,
    proved: &mut Proved,
    report: &mut Report,
) -> anyhow::Result<()> {
    let directory = places.events.join("inputs");
    for (path, _) in walk(root, &directory)? {
        let inside = path.strip_prefix(&directory).unwrap_or(&path);
        let expected = results.results.iter().find_map(|op| {
            let file = inside.strip_prefix(op.op.name()).ok()?;
            op.input_hashes.sha256.get(file.to_str()?)
        });
        let bytes = store::read_bytes(&root.join(&path))?;
        match expected {
            Some(hash) if hash::sha256_hex(&bytes) == *hash => proved.files += 1,
            Some(hash) => {
                let (kind, text) = super::finding::altered(&bytes, hash);
                report.add(
                    kind,
                    path,
                    format!(
                        "{text} as the evidence says; remove it, mage-harness inputs makes it again"
                    ),
                );
            }
            None => report.add(
                Kind::Extra,
                path,
                "found a file that is no input of the evidence, expected none; remove it",
            ),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_name_a_place_outside_are_told() {
        for word in [
            "mage-harness",
            "--rounds=3",
            "artifacts/x",
            "a..b",
            "void f(a::b)",
        ] {
            assert!(!names_a_place(word), "{word}");
        }
        for word in [
            "/usr/bin/x",
            "--python=/opt/p",
            "../x",
            "a/../../b",
            "C:\\x\\y",
        ] {
            assert!(names_a_place(word), "{word}");
        }
    }
}
