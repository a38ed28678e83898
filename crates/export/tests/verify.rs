//! The checker against the committed evidence, and against every way of spoiling it.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_export::verify::{Kind, Report, namespaces, verify, verify_all};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of all committed evidence and artifacts.
struct Copy {
    directory: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Copy {
    fn of(names: &[String]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut open: Vec<PathBuf> = Vec::new();
        for name in names {
            open.push(Path::new("docs/assets/results").join(name));
            open.push(format!("artifacts/{name}-kernels").into());
            open.push(format!("artifacts/{name}-kernels-nsys").into());
            let ladder = PathBuf::from(format!("artifacts/{name}-ladder"));
            open.extend(root().join(&ladder).exists().then_some(ladder));
        }
        let mut files = Vec::new();
        while let Some(place) = open.pop() {
            for entry in std::fs::read_dir(root().join(&place)).unwrap() {
                let entry = entry.unwrap();
                let path = place.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    if entry.file_name() != "inputs" && entry.file_name() != "reports" {
                        open.push(path);
                    }
                    continue;
                }
                let to = directory.path().join(&path);
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::copy(root().join(&path), to).unwrap();
                files.push(path);
            }
        }
        files.sort();
        Self { directory, files }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn read(&self, file: &Path) -> Vec<u8> {
        std::fs::read(self.path().join(file)).unwrap()
    }

    fn write(&self, file: &Path, bytes: &[u8]) {
        std::fs::write(self.path().join(file), bytes).unwrap();
    }

    /// What is found with `bytes` in the place of a file.
    fn with(&self, name: &str, file: &Path, bytes: &[u8]) -> Report {
        let before = self.read(file);
        self.write(file, bytes);
        let report = verify(self.path(), &[name.to_string()]).unwrap();
        self.write(file, &before);
        report
    }
}

fn committed() -> Vec<String> {
    namespaces(&root()).unwrap()
}

fn names(report: &Report, file: &Path) -> bool {
    let file = file.display().to_string();
    report
        .findings
        .iter()
        .any(|finding| finding.to_string().contains(&file))
}

fn first(name: &str) -> (Copy, PathBuf) {
    let copy = Copy::of(&[name.to_string()]);
    let file = PathBuf::from(format!("artifacts/{name}-kernels/run.json"));
    (copy, file)
}

#[test]
fn what_is_committed_is_valid() {
    let report = verify_all(&root()).unwrap();
    assert!(report.is_valid(), "{report}");
    for name in committed() {
        let proved = report.proved[&name];
        assert!(
            proved.files > 20 && proved.kernels > 0,
            "{name}: {proved:?}"
        );
    }
}

/// Bytes at the beginning, the end and between, different ones in each file, each with another bit.
#[test]
fn any_flipped_byte_of_any_file_is_found_and_named() {
    for name in committed() {
        let copy = Copy::of(std::slice::from_ref(&name));
        assert!(copy.files.len() >= 20, "{name}: {:?}", copy.files);
        for (i, file) in copy.files.iter().enumerate() {
            let whole = copy.read(file);
            let places = [
                0,
                whole.len() - 1,
                (i + 1) * 7919 % whole.len(),
                whole.len() / (i + 2),
            ];
            for (k, place) in places.into_iter().enumerate() {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << ((i + k) % 7);
                let report = copy.with(&name, file, &bytes);
                assert!(
                    names(&report, file),
                    "{}: byte {place}: {report}",
                    file.display()
                );
            }
        }
        let report = verify(copy.path(), std::slice::from_ref(&name)).unwrap();
        assert!(report.is_valid(), "the copy is whole again: {report}");
    }
}

/// Every byte that holds a digit of a published number, in one evidence file: no digit is beyond the check.
#[test]
fn a_changed_digit_of_a_published_number_is_located() {
    let Some(name) = committed().into_iter().next() else {
        return;
    };
    let copy = Copy::of(std::slice::from_ref(&name));
    let file = PathBuf::from(format!(
        "docs/assets/results/{name}/comparison-results.json"
    ));
    let text = String::from_utf8(copy.read(&file)).unwrap();
    let at = text.find("\"event_mean_us\": ").unwrap() + "\"event_mean_us\": ".len();
    let mut bytes = text.clone().into_bytes();
    bytes[at] = if bytes[at] == b'9' {
        b'1'
    } else {
        bytes[at] + 1
    };
    let report = copy.with(&name, &file, &bytes);
    let kinds: Vec<Kind> = report.findings.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [Kind::Altered, Kind::Number], "{report}");
    assert!(
        report.to_string().contains("event_mean_us: found"),
        "{report}"
    );
}

#[test]
fn missing_extra_truncated_crlf_and_linked_files_are_told_apart() {
    let Some(name) = committed().into_iter().next() else {
        return;
    };
    let (copy, run) = first(&name);
    let kinds = |report: &Report, file: &Path| -> Vec<Kind> {
        let of_file = report.findings.iter().filter(|f| f.file == file);
        of_file.map(|f| f.kind).collect()
    };
    for file in copy.files.clone() {
        let whole = copy.read(&file);
        let cut = copy.with(&name, &file, &whole[..whole.len() / 2]);
        if file.extension().is_some_and(|e| e == "json") {
            assert_eq!(kinds(&cut, &file)[0], Kind::Truncated, "{cut}");
        } else {
            assert!(names(&cut, &file));
        }
        let text = String::from_utf8(whole.clone()).unwrap();
        let crlf = copy.with(&name, &file, text.replace('\n', "\r\n").as_bytes());
        assert_eq!(kinds(&crlf, &file), [Kind::LineEndings], "{crlf}");
        std::fs::remove_file(copy.path().join(&file)).unwrap();
        let gone = verify(copy.path(), std::slice::from_ref(&name)).unwrap();
        assert_eq!(kinds(&gone, &file), [Kind::Missing], "{gone}");
        copy.write(&file, &whole);
    }
    for extra in ["more.json", "samples/more.json", ".hidden"] {
        let file = run.with_file_name("").join(extra);
        copy.write(&file, b"{}");
        let report = verify(copy.path(), std::slice::from_ref(&name)).unwrap();
        assert!(kinds(&report, &file).contains(&Kind::Extra), "{report}");
        std::fs::remove_file(copy.path().join(&file)).unwrap();
    }
    let stray = Path::new("artifacts/notes.txt");
    copy.write(stray, b"x");
    let report = verify_all(copy.path()).unwrap();
    assert_eq!(kinds(&report, stray), [Kind::Extra]);
    std::fs::remove_file(copy.path().join(stray)).unwrap();
    #[cfg(unix)]
    {
        let target = copy.path().join("elsewhere.json");
        std::fs::rename(copy.path().join(&run), &target).unwrap();
        std::os::unix::fs::symlink(&target, copy.path().join(&run)).unwrap();
        let report = verify(copy.path(), std::slice::from_ref(&name)).unwrap();
        assert_eq!(kinds(&report, &run), [Kind::NotAFile], "{report}");
    }
}

/// Artifacts, evidence and hashes changed together: the bytes agree, and what is recorded twice does not.
#[test]
fn an_agreeing_change_is_caught_where_records_repeat() {
    let Some(name) = committed().into_iter().next() else {
        return;
    };
    let report = |edit: &dyn Fn(&str) -> String, file: &str| -> Report {
        let copy = Copy::of(std::slice::from_ref(&name));
        let path = PathBuf::from(format!("artifacts/{name}-kernels")).join(file);
        let text = String::from_utf8(copy.read(&path)).unwrap();
        let edited = edit(&text);
        assert_ne!(text, edited, "the edit applies");
        copy.write(&path, edited.as_bytes());
        let files = mage_export::evidence(copy.path(), &name).unwrap();
        mage_export::write(copy.path(), &files).unwrap();
        verify(copy.path(), std::slice::from_ref(&name)).unwrap()
    };
    let object = report(
        &|text| {
            let at = text.rfind("\"triangle.sm_80.ptx\": \"").unwrap();
            let (head, tail) = text.split_at(at + "\"triangle.sm_80.ptx\": \"".len());
            format!("{head}{}{}", "0".repeat(64), &tail[64..])
        },
        "run.json",
    );
    assert!(
        object.to_string().contains("objects_sha256.triangle"),
        "{object}"
    );
    let outside = report(
        &|text| {
            text.replace(
                "\"target/release/mage-harness\"",
                "\"/home/me/mage-harness\"",
            )
        },
        "run.json",
    );
    assert_eq!(outside.findings[0].kind, Kind::Path, "{outside}");
}

/// A record that says "clean, at this commit" and names another hash than the commit has.
#[test]
fn a_source_that_the_recorded_commit_does_not_have_is_found() {
    let Some(name) = committed().into_iter().next() else {
        return;
    };
    let (copy, run) = first(&name);
    let git = |arguments: &[&str]| -> String {
        let output = std::process::Command::new("git")
            .arg("-C")
            .arg(copy.path())
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    let at_commit = |content: &str| -> Report {
        copy.write(Path::new("Cargo.toml"), content.as_bytes());
        git(&["init", "-q"]);
        git(&["add", "Cargo.toml"]);
        git(&["commit", "-q", "-m", "x"]);
        std::fs::remove_file(copy.path().join("Cargo.toml")).unwrap();
        let text = String::from_utf8(copy.read(&run)).unwrap();
        let at = text.find("\"commit\": \"").unwrap() + "\"commit\": \"".len();
        let commit = git(&["rev-parse", "HEAD"]);
        copy.write(
            &run,
            format!("{}{commit}{}", &text[..at], &text[at + 40..]).as_bytes(),
        );
        let files = mage_export::evidence(copy.path(), &name).unwrap();
        mage_export::write(copy.path(), &files).unwrap();
        verify(copy.path(), std::slice::from_ref(&name)).unwrap()
    };
    let other = at_commit("not what was recorded\n");
    assert_eq!(other.counts(), [(Kind::Inconsistent, 1)].into(), "{other}");
    assert!(
        other.to_string().contains("source_sha256.Cargo.toml"),
        "{other}"
    );
}
