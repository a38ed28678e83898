//! `xtask verify` as a program, on a copy of what is committed.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Every file below `places` of the tree, copied to another root.
fn copy(places: &[&str], to: &Path) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut open: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let from = root.join(&path);
        // Not committed; and pages as HTML, which the check of the figures proves.
        if name.ends_with(".html") {
            continue;
        }
        if name == "inputs" || name == "reports" || name.ends_with(".partial") {
            continue;
        }
        if from.is_dir() {
            let entries = std::fs::read_dir(&from).unwrap();
            open.extend(entries.map(|entry| path.join(entry.unwrap().file_name())));
        } else if from.is_file() {
            std::fs::create_dir_all(to.join(&path).parent().unwrap()).unwrap();
            std::fs::copy(&from, to.join(&path)).unwrap();
            files.push(path);
        }
    }
    files.sort();
    files
}

fn verify(root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("verify")
        .current_dir(root)
        .output()
        .unwrap()
}

/// What may be verified by itself: a namespace with its evidence, or what is beside the namespaces.
fn parts() -> Vec<Vec<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let names = |directory: &str| -> Vec<String> {
        let entries = std::fs::read_dir(root.join(directory)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".partial")).collect()
    };
    let mut left = names("artifacts");
    let mut parts = Vec::new();
    for namespace in names("docs/assets/results") {
        let own = ["kernels", "kernels-nsys", "kernels-ncu", "ladder", "errors"]
            .map(|kind| format!("{namespace}-{kind}"));
        let (of_it, others): (Vec<_>, Vec<_>) = left.into_iter().partition(|n| own.contains(n));
        left = others;
        let mut part: Vec<String> = of_it.iter().map(|n| format!("artifacts/{n}")).collect();
        part.push(format!("docs/assets/results/{namespace}"));
        part.push(format!("docs/errors/{namespace}.md"));
        parts.push(part);
    }
    let mut beside: Vec<String> = left.iter().map(|n| format!("artifacts/{n}")).collect();
    beside.push("docs/calibration".into());
    parts.push(beside);
    parts
}

/// A byte of each file of a part, one file at a time.
fn flip(part: &[String]) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    copy(&["Cargo.lock", "experiments"], root);
    let part: Vec<&str> = part.iter().map(String::as_str).collect();
    let files = copy(&part, root);
    let whole = verify(root);
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");
    for (i, file) in files.iter().enumerate() {
        let path = root.join(file);
        let before = std::fs::read(&path).unwrap();
        let mut bytes = before.clone();
        let place = (i + 1) * 104_729 % bytes.len();
        bytes[place] ^= 1 << (i % 7);
        std::fs::write(&path, bytes).unwrap();
        let output = verify(root);
        std::fs::write(&path, before).unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let file = file.display().to_string();
        assert_eq!(
            output.status.code(),
            Some(3),
            "{file}, byte {place}: {text}"
        );
        assert!(text.contains(&file), "{file}, byte {place}: {text}");
    }
    files.len()
}

#[test]
fn a_flipped_byte_of_any_file_exits_with_3_and_the_files_name() {
    let parts = parts();
    let files: usize = std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .iter()
            .map(|part| scope.spawn(|| flip(part)))
            .collect();
        running.into_iter().map(|part| part.join().unwrap()).sum()
    });
    let directory = tempfile::tempdir().unwrap();
    let all = [
        "artifacts",
        "docs/assets/results",
        "docs/calibration",
        "docs/errors",
    ];
    assert_eq!(
        files,
        copy(&all, directory.path()).len(),
        "every file is in a part"
    );
    assert!(files > 40, "{files}");
}
