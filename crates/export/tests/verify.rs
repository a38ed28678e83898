//! The checker against the committed evidence, and against every way of spoiling it.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_export::verify::{Kind, Report, namespaces, verify, verify_all};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of all committed evidence and artifacts.
struct Copy {
    directory: tempfile::TempDir,
    files: Vec<PathBuf>,
}

/// Where the files of a namespace are.
fn of_namespace(name: &str) -> Vec<PathBuf> {
    let mut places = vec![
        Path::new("docs/assets/results").join(name),
        format!("artifacts/{name}-kernels").into(),
        format!("artifacts/{name}-kernels-nsys").into(),
    ];
    for place in [
        format!("artifacts/{name}-kernels-ncu"),
        format!("artifacts/{name}-ladder"),
        format!("artifacts/{name}-errors"),
        format!("docs/errors/{name}.md"),
    ] {
        let there = root().join(&place).exists();
        places.extend(there.then(|| place.into()));
    }
    places
}

/// Where the files are that are no namespace's: a study with its evidence and page, or the counters of a device.
fn beside() -> Vec<Vec<PathBuf>> {
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(root().join("artifacts")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".partial") {
            continue;
        }
        let mut part = vec![Path::new("artifacts").join(&name)];
        if let Some(device) = name.strip_prefix("calibration-") {
            part.extend(["json", "md"].map(|e| format!("docs/calibration/{device}.{e}").into()));
        } else if !name.starts_with("structure-") {
            continue;
        }
        parts.push(part);
    }
    parts
}

impl Copy {
    fn of(names: &[String]) -> Self {
        let places: Vec<PathBuf> = names.iter().flat_map(|name| of_namespace(name)).collect();
        Self::of_places(&places)
    }

    fn of_places(places: &[PathBuf]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut open = places.to_vec();
        let mut files = Vec::new();
        while let Some(path) = open.pop() {
            if root().join(&path).is_dir() {
                if !path.ends_with("inputs") && !path.ends_with("reports") {
                    let entries = std::fs::read_dir(root().join(&path)).unwrap();
                    open.extend(entries.map(|entry| path.join(entry.unwrap().file_name())));
                }
                continue;
            }
            let to = directory.path().join(&path);
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(root().join(&path), to).unwrap();
            files.push(path);
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

fn of_file<'a>(report: &'a Report, file: &'a Path) -> impl Iterator<Item = Kind> + 'a {
    let of_file = report.findings.iter().filter(move |f| f.file == file);
    of_file.map(|f| f.kind)
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

/// What is beside the namespaces has no samples and no kernels to count: the line says what was looked at.
#[test]
fn what_was_proved_is_said_of_each_kind() {
    let report = verify_all(&root()).unwrap();
    for (name, proved) in &report.proved {
        let line = format!("{name}: {proved}");
        assert!(
            report.to_string().contains(&format!("{line}\n")),
            "{report}"
        );
        let part = beside().into_iter().find(|part| part[0].ends_with(name));
        let Some(part) = part else {
            continue;
        };
        // The list of hashes is what the others are proved by.
        let files = Copy::of_places(&part).files;
        let proved = files.iter().filter(|f| !f.ends_with("SHA256SUMS")).count();
        let how = match proved == files.len() {
            true => "every number in them, made again",
            false => "SHA-256 in SHA256SUMS",
        };
        let files = format!("{name}: {proved} files proved");
        assert!(line.starts_with(&files), "{line}");
        assert!(line.contains(how), "{line}");
        assert!(!line.contains(" 0 "), "{line}");
    }
}

/// Places in a file at which a byte is flipped: the first and the last; the first of every structural kind of byte
/// and the last; some at random, others in each file.
fn places(file: &Path, bytes: &[u8], random: usize) -> Vec<usize> {
    let kinds: [fn(&u8) -> bool; 8] = [
        |b| *b == b'{' || *b == b'[',
        |b| *b == b'}' || *b == b']',
        |b| *b == b':' || *b == b'=',
        |b| *b == b',' || *b == b';',
        |b| *b == b'"',
        |b| b.is_ascii_whitespace(),
        u8::is_ascii_digit,
        u8::is_ascii_alphabetic,
    ];
    let mut places = vec![0, bytes.len() - 1];
    for kind in kinds {
        places.extend(bytes.iter().position(kind));
        places.extend(bytes.iter().rposition(kind));
    }
    let name = file.display().to_string();
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    for _ in 0..random {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        places.push((state >> 33) as usize % bytes.len());
    }
    places.sort_unstable();
    places.dedup();
    places
}

/// Files whose bytes are flipped together, in a copy that holds these places.
struct Flips {
    places: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Flips {
    /// All artifacts of `places` at once, and each file that says what artifacts hash to, or is made from them, alone.
    fn of(places: &[PathBuf]) -> Vec<Self> {
        let (artifacts, alone): (Vec<_>, Vec<_>) = Copy::of_places(places)
            .files
            .into_iter()
            .partition(|file| file.starts_with("artifacts") && !file.ends_with("SHA256SUMS"));
        std::iter::once(artifacts)
            .chain(alone.into_iter().map(|file| vec![file]))
            .map(|files| Self {
                places: places.to_vec(),
                files,
            })
            .collect()
    }

    /// Flips, and demands of each flip that its file is named: with others, by a finding of its own.
    fn check(&self) {
        let copy = Copy::of_places(&self.places);
        let wholes: Vec<Vec<u8>> = self.files.iter().map(|file| copy.read(file)).collect();
        let all: Vec<Vec<usize>> = self
            .files
            .iter()
            .zip(&wholes)
            .map(|(file, whole)| places(file, whole, 4))
            .collect();
        // What is made again for each flip is flipped at a quarter of the places, or at four, others in each file.
        let alone = self.files.len() == 1;
        let longest = all.iter().map(Vec::len).max().unwrap();
        let step = if alone { (longest / 4).clamp(1, 4) } else { 1 };
        let first = self.files[0].as_os_str().len() % step;
        let turns: Vec<usize> = (first..longest).step_by(step).collect();
        assert!(turns.len() >= 4, "{:?}: {turns:?}", self.files);
        for k in turns {
            for ((file, whole), places) in self.files.iter().zip(&wholes).zip(&all) {
                let mut bytes = whole.clone();
                bytes[places[k % places.len()]] ^= 1 << (k % 7);
                copy.write(file, &bytes);
            }
            let report = verify_all(copy.path()).unwrap();
            for (file, places) in self.files.iter().zip(&all) {
                let own = report.findings.iter().any(|finding| finding.file == *file);
                let named = own || alone && names(&report, file);
                let place = places[k % places.len()];
                assert!(named, "{}: byte {place}: {report}", file.display());
            }
        }
        for (file, whole) in self.files.iter().zip(&wholes) {
            copy.write(file, whole);
        }
        let report = verify_all(copy.path()).unwrap();
        assert!(report.is_valid(), "the copy is whole again: {report}");
    }
}

/// Does all of them, as many at once as there are processors; a failure is a panic here too.
fn side_by_side(flips: &[Flips]) {
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(flips) = flips.get(next.fetch_add(1, Ordering::Relaxed)) {
                    flips.check();
                }
            });
        }
    });
}

/// That this holds for *any* byte follows from how each file is proved: an artifact by the SHA-256 of the whole of it,
/// which another file names; evidence and pages by comparing the whole of them with the text that the artifacts give.
/// No byte is read in a way of its own, so the places here stand for all: what they would find is a file that is not
/// hashed or compared at all, one that is only read in part, and a finding that names another file.
///
/// To be quick, a byte of every artifact is flipped at once, and each has to have a finding of its own; one file at a
/// time is what the test of the program does (`xtask/tests/verify.rs`).
#[test]
fn any_flipped_byte_of_any_file_is_found_and_named() {
    let mut flips = Vec::new();
    for name in committed() {
        let places = of_namespace(&name);
        let files = Copy::of_places(&places).files.len();
        assert!(files >= 20, "{name}: {files}");
        flips.extend(Flips::of(&places));
    }
    side_by_side(&flips);
}

/// The same of what is no namespace's: hardware counters, and studies with their evidence.
#[test]
fn any_flipped_byte_beside_the_namespaces_is_found_and_named() {
    let flips: Vec<Flips> = beside().iter().flat_map(|part| Flips::of(part)).collect();
    side_by_side(&flips);
}

#[test]
fn a_file_that_is_gone_or_more_beside_the_namespaces_is_found_and_named() {
    for part in beside() {
        let copy = Copy::of_places(&part);
        for file in &copy.files {
            let whole = copy.read(file);
            std::fs::remove_file(copy.path().join(file)).unwrap();
            let report = verify_all(copy.path()).unwrap();
            assert!(names(&report, file), "{} is gone: {report}", file.display());
            copy.write(file, &whole);
        }
        let more = |file: &PathBuf| file.with_extension("more");
        let extra: Vec<PathBuf> = copy.files.iter().map(more).collect();
        for file in &extra {
            copy.write(file, b"{}");
        }
        let report = verify_all(copy.path()).unwrap();
        for file in &extra {
            let kinds: Vec<Kind> = of_file(&report, file).collect();
            assert_eq!(kinds, [Kind::Extra], "{}: {report}", file.display());
        }
    }
}

/// Artifacts that are altered prove no evidence, which is said; what is missing beside them is found all the same.
#[test]
fn a_page_that_is_gone_is_found_beside_altered_artifacts() {
    let studies = beside().into_iter().filter(|part| part.len() == 3);
    for part in studies {
        let copy = Copy::of_places(&part);
        let artifact = part[0].join("run.json");
        copy.write(&artifact, &[&copy.read(&artifact)[..], b" "].concat());
        std::fs::remove_file(copy.path().join(&part[2])).unwrap();
        let report = verify_all(copy.path()).unwrap();
        let found: Vec<_> = report.findings.iter().map(|f| (f.kind, &f.file)).collect();
        let expected = [(Kind::Missing, &part[2]), (Kind::Altered, &artifact)];
        assert!(expected.iter().all(|e| found.contains(e)), "{report}");
        assert_eq!(found.len(), 2, "{report}");
        assert!(report.notes[0].contains("is not proved while"), "{report}");
    }
}

/// Every committed file of artifacts and evidence is in one of the two tests above.
#[test]
fn no_file_is_left_out_of_the_flips() {
    let mut places = beside().concat();
    places.extend(committed().iter().flat_map(|name| of_namespace(name)));
    for parent in [
        "artifacts",
        "docs/assets/results",
        "docs/calibration",
        "docs/errors",
    ] {
        for entry in std::fs::read_dir(root().join(parent)).into_iter().flatten() {
            let path = Path::new(parent).join(entry.unwrap().file_name());
            let unfinished = path.extension().is_some_and(|e| e == "partial");
            // Pages as HTML are proved by the check of the figures.
            let page = path.extension().is_some_and(|e| e == "html");
            let covered = places.iter().any(|place| path.starts_with(place));
            assert!(covered || unfinished || page, "{}", path.display());
        }
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
    let kinds = |report: &Report, file: &Path| of_file(report, file).collect::<Vec<Kind>>();
    // One of each kind; the flips are of every file.
    let mut of_kind = BTreeMap::new();
    for file in &copy.files {
        let kind = (file.parent(), file.extension());
        of_kind.entry(kind).or_insert(file);
    }
    assert!(of_kind.len() > 5, "{of_kind:?}");
    for file in of_kind.into_values().cloned().collect::<Vec<_>>() {
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
    let Some(name) = committed().into_iter().find(|name| name == "mage-002") else {
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
