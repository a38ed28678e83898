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
        // Not committed.
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

fn verify(root: &Path, namespaces: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("verify")
        .args(namespaces)
        .current_dir(root)
        .output()
        .unwrap()
}

/// The namespace that alone a file is of, which is enough to verify.
fn namespace(file: &Path) -> Option<&str> {
    let mut parts = file.iter().map(|part| part.to_str().unwrap());
    let name = match (parts.next()?, parts.next()?) {
        ("artifacts", name) => name,
        ("docs", "assets") => parts.nth(1)?,
        _ => return None,
    };
    let endings = [
        "",
        "-kernels",
        "-kernels-nsys",
        "-kernels-ncu",
        "-ladder",
        "-errors",
    ];
    ["limit-001", "mage-001", "mage-002"]
        .into_iter()
        .find(|known| {
            endings
                .iter()
                .any(|ending| name == format!("{known}{ending}"))
        })
}

/// Whether it is one of several captures of a case: the first stands for them.
fn again(file: &Path) -> bool {
    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
    let index = name.rsplit_once('-').map(|(_, index)| index.to_string());
    file.parent().is_some_and(|of| of.ends_with("captures"))
        && index.is_some_and(|index| index.parse::<u32>().is_ok_and(|index| index > 1))
}

#[test]
fn a_flipped_byte_of_any_file_exits_with_3_and_the_files_name() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    copy(&["Cargo.lock", "experiments"], root);
    let files = copy(
        &["artifacts", "docs/assets/results", "docs/calibration"],
        root,
    );
    assert!(files.len() > 40, "{files:?}");
    let whole = verify(root, &[]);
    assert_eq!(whole.status.code(), Some(0), "{whole:?}");
    for (i, file) in files.iter().filter(|file| !again(file)).enumerate() {
        let of: Vec<&str> = namespace(file).into_iter().collect();
        let path = root.join(file);
        let before = std::fs::read(&path).unwrap();
        let mut bytes = before.clone();
        let place = (i + 1) * 104_729 % bytes.len();
        bytes[place] ^= 1 << (i % 7);
        std::fs::write(&path, bytes).unwrap();
        let output = verify(root, &of);
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
}
