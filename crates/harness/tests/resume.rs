//! Runs that meet trouble: killed, out of space, beside another run, on a device that fails. Whatever happens, what is
//! left is absent, complete, or refused with its reason, and never half of something that reads as whole.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod played;

use mage_evidence::artifact::{Run, Samples};
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::store;
use mage_harness::python::{PythonImplementation, Shared};
use mage_harness::run::{Plan, resume, run};
use mage_harness::worker::Worker;
use mage_kernels::inputs::generate;
use mage_kernels::reference::reference;
use played::{Fault, bench, case, plan, slow_bench};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const OUTPUT: &str = "MAGE_TEST_OUTPUT";
const RESUME: &str = "MAGE_TEST_RESUME";
const PAUSE: Duration = Duration::from_millis(3);

/// Three operations.
fn long_plan(output: &Path) -> Plan {
    let mut plan = plan(output);
    let more = case(Operation::LayerNorm, &[3, 257], "layer_norm");
    plan.operations.push(more.name);
    plan.experiment.operations.push(more);
    plan
}

/// The process that the tests below start and kill: a whole run, or its resumption. Nothing in itself.
#[test]
fn child() {
    let Some(output) = std::env::var_os(OUTPUT) else {
        return;
    };
    let plan = long_plan(Path::new(&output));
    let (mut bench, _) = slow_bench("", Fault::None, PAUSE);
    let done = match std::env::var_os(RESUME) {
        Some(_) => resume(&plan, &mut bench),
        None => run(&plan, &mut bench),
    };
    if let Err(error) = done {
        eprintln!("refused: {error:#}");
        std::process::exit(1);
    }
}

fn command(output: &Path, resumed: bool) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["child", "--exact", "--nocapture"]);
    environment(&mut command, output, resumed);
    command
}

fn environment(command: &mut Command, output: &Path, resumed: bool) {
    command
        .env(OUTPUT, output)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    if resumed {
        command.env(RESUME, "1");
    }
}

fn start(output: &Path, resumed: bool) -> Child {
    command(output, resumed).spawn().unwrap()
}

fn to_end(output: &Path, resumed: bool) -> Output {
    command(output, resumed).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn partial(output: &Path) -> PathBuf {
    output.with_extension("partial")
}

/// Every file below a directory, relative to it.
fn files(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![directory.to_path_buf()];
    while let Some(place) = open.pop() {
        for entry in std::fs::read_dir(&place).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let inside = path.strip_prefix(directory).unwrap();
                    found.insert(inside.display().to_string());
                }
            }
        }
    }
    found
}

/// The record of a directory that is complete: every file there and right, and nothing else.
fn whole(output: &Path) -> Run {
    let record: Run = store::read_json(&output.join("run.json")).unwrap();
    record.check().unwrap();
    let plan = long_plan(output);
    assert_eq!(record.operations, plan.operations);
    let spec = store::read_bytes(&output.join("experiment.toml")).unwrap();
    assert_eq!(sha256_hex(&spec), record.experiment_sha256);
    let mut expected: BTreeSet<String> = ["run.json", "experiment.toml"].map(String::from).into();
    for operation in &record.operations {
        let name = format!("samples/{operation}.json");
        let samples: Samples = store::read_json(&output.join(&name)).unwrap();
        samples.check(&record).unwrap();
        expected.insert(name);
        for (file, hash) in &samples.input_sha256 {
            let name = format!("inputs/{operation}/{file}");
            assert_eq!(
                sha256_hex(&store::read_bytes(&output.join(&name)).unwrap()),
                *hash
            );
            expected.insert(name);
        }
    }
    assert_eq!(files(output), expected);
    assert!(!partial(output).exists());
    record
}

/// Between 0 and 1, seeded.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / f64::from(1u32 << 31)
    }
}

#[test]
fn a_run_killed_at_any_moment_is_resumed_or_refused_with_its_reason() {
    let parent = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let output = parent.path().join("undisturbed");
    assert!(to_end(&output, false).status.success());
    let undisturbed = began.elapsed().as_secs_f64();
    assert!(whole(&output).resumed.is_empty());

    let mut random = Random(20_260_910);
    let (mut interrupted, mut kept) = (0, 0);
    for i in 0..20 {
        let output = parent.path().join(format!("run{i}"));
        let mut child = start(&output, false);
        std::thread::sleep(Duration::from_secs_f64(undisturbed * random.next()));
        child.kill().unwrap();
        child.wait().unwrap();
        if i % 4 == 0 && partial(&output).exists() {
            // Once more, while it is being resumed.
            let mut child = start(&output, true);
            std::thread::sleep(Duration::from_secs_f64(undisturbed * random.next()));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let there = [&output, &partial(&output)].map(|path| path.exists());
        let resumed = to_end(&output, true);
        match there {
            [true, _] => {
                assert!(
                    words(&resumed).contains("a run that is complete"),
                    "{resumed:?}"
                );
            }
            [false, true] => {
                assert!(resumed.status.success(), "{}", words(&resumed));
                interrupted += 1;
            }
            [false, false] => {
                assert!(
                    words(&resumed).contains("start without --resume"),
                    "{resumed:?}"
                );
                assert!(to_end(&output, false).status.success());
            }
        }
        let record = whole(&output);
        kept += record
            .resumed
            .iter()
            .map(|resumed| resumed.kept.len())
            .max()
            .unwrap_or(0);
    }
    assert!(
        interrupted > 3 && kept > 0,
        "{interrupted} interrupted, {kept} operations kept"
    );
}

/// Every file that a run leaves on its way, as a kill between two writes leaves it: each state is made by hand.
#[test]
fn every_state_between_two_writes_is_resumed_or_refused() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("run");
    let (mut bench, _) = bench("", Fault::None);
    let plan = long_plan(&output);
    run(&plan, &mut bench).unwrap();
    let mut begun: Run = store::read_json(&output.join("run.json")).unwrap();
    begun.finished = begun.started.clone();
    let saved = parent.path().join("saved");
    std::fs::rename(&output, &saved).unwrap();
    let samples = ["gelu", "neighbor", "layernorm"].map(|op| format!("samples/{op}.json"));
    type State = (bool, usize, bool, &'static str);
    let states: [State; 8] = [
        (false, 0, false, ""),
        (true, 0, false, ""),
        (true, 1, false, ""),
        (true, 3, false, ""),
        (true, 3, true, ""),
        (false, 3, true, ""),
        (
            false,
            2,
            false,
            "begun.json: found none, and samples of gelu",
        ),
        (false, 2, true, "no samples of layernorm"),
    ];
    for (has_begun, measured, has_run, refusal) in states {
        let directory = partial(&output);
        std::fs::create_dir(&directory).unwrap();
        if has_begun {
            store::write_json(&directory.join("begun.json"), &begun).unwrap();
            std::fs::write(directory.join(".writing-x"), "{\"sche").unwrap();
        }
        for file in &samples[..measured] {
            let bytes = store::read_bytes(&saved.join(file)).unwrap();
            store::write_bytes(&directory.join(file), &bytes).unwrap();
        }
        if has_run {
            for file in ["run.json", "experiment.toml"] {
                std::fs::copy(saved.join(file), directory.join(file)).unwrap();
            }
        }
        let what = format!("{has_begun} {measured} {has_run}");
        match resume(&plan, &mut bench) {
            Ok(_) => {
                assert_eq!(refusal, "", "{what}");
                let record = whole(&output);
                let expected = usize::from(has_begun && !has_run);
                assert_eq!(record.resumed.len(), expected, "{what}");
                if expected == 1 {
                    assert_eq!(record.resumed[0].kept.len(), measured);
                    assert!(!record.resumed[0].command.is_empty());
                }
                std::fs::remove_dir_all(&output).unwrap();
            }
            Err(error) => {
                let error = format!("{error:#}");
                assert!(
                    !refusal.is_empty() && error.contains(refusal),
                    "{what}: {error}"
                );
                assert!(!output.exists());
                std::fs::remove_dir_all(&directory).unwrap();
            }
        }
    }
}

/// A run whose second operation fails in its second round.
fn interrupted(output: &Path) -> String {
    let (mut bench, _) = bench("rust", Fault::Dies(3 + 2));
    format!("{:#}", run(&long_plan(output), &mut bench).unwrap_err())
}

#[test]
fn a_device_error_in_round_two_keeps_what_is_whole_for_resumption() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("run");
    let error = interrupted(&output);
    for part in [
        "1 complete operations are kept",
        "--resume",
        "neighbor",
        "round 2",
        "illegal memory access",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!output.exists());
    let kept = partial(&output).join("samples/gelu.json");
    let before = store::read_bytes(&kept).unwrap();
    assert!(
        !partial(&output).join("samples/neighbor.json").exists(),
        "two rounds are no operation"
    );
    let (mut bench, log) = bench("", Fault::None);
    resume(&long_plan(&output), &mut bench).unwrap();
    let record = whole(&output);
    assert_eq!(record.resumed[0].kept, ["gelu"]);
    assert_eq!(
        store::read_bytes(&output.join("samples/gelu.json")).unwrap(),
        before
    );
    let measured = log
        .borrow()
        .iter()
        .filter(|line| line.starts_with("measure"))
        .count();
    assert_eq!(
        measured,
        2 * 3 * 3,
        "two operations, three rounds, three implementations"
    );

    // In the first operation nothing is whole, and nothing is left.
    let output = parent.path().join("first");
    let (mut bench, _) = played::bench("rust", Fault::Dies(2));
    let error = format!("{:#}", run(&long_plan(&output), &mut bench).unwrap_err());
    assert!(
        error.contains("gelu") && error.contains("round 2"),
        "{error}"
    );
    assert!(!output.exists() && !partial(&output).exists());
}

#[test]
fn another_build_device_protocol_or_input_is_refused_by_name() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("run");
    interrupted(&output);
    let before = files(&partial(&output));
    type Edit = fn(&mut Plan, &mut mage_harness::run::Bench);
    let edits: [(Edit, &str); 6] = [
        (
            |_, bench| bench.build.binary_sha256 = "other".into(),
            "build.binary_sha256: found \"other\"",
        ),
        (
            |_, bench| {
                drop(
                    bench
                        .build
                        .objects_sha256
                        .insert("a.ptx".into(), "x".into()),
                )
            },
            "build.objects_sha256.a.ptx: found \"x\"",
        ),
        (
            |plan, _| plan.protocol.rounds = 4,
            "protocol.rounds: found 4, expected 3, as when the run began",
        ),
        (|plan, _| plan.experiment.seed = 8, "seed: found 8"),
        (|plan, _| plan.spec.push('\n'), "experiment_sha256: found"),
        (
            |plan, _| plan.namespace = "y".into(),
            "namespace: found \"y\"",
        ),
    ];
    for (edit, refusal) in edits {
        let mut plan = long_plan(&output);
        let (mut bench, log) = bench("", Fault::None);
        edit(&mut plan, &mut bench);
        let error = format!("{:#}", resume(&plan, &mut bench).unwrap_err());
        assert!(
            error.contains(refusal) && error.contains("begun.json"),
            "{refusal}: {error}"
        );
        assert!(log.borrow().is_empty(), "nothing ran");
    }
    let samples = |files: &BTreeSet<String>| -> Vec<String> {
        files
            .iter()
            .filter(|f| !f.starts_with("inputs"))
            .cloned()
            .collect()
    };
    assert_eq!(
        samples(&files(&partial(&output))),
        samples(&before),
        "and nothing is lost"
    );

    let path = partial(&output).join("samples/gelu.json");
    let text = store::read_text(&path).unwrap();
    let (mut bench, _) = bench("", Fault::None);
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let error = format!("{:#}", resume(&long_plan(&output), &mut bench).unwrap_err());
    assert!(error.contains("samples/gelu.json"), "{error}");
    std::fs::write(&path, text.replacen("\"index\": 2", "\"index\": 3", 1)).unwrap();
    let error = format!("{:#}", resume(&long_plan(&output), &mut bench).unwrap_err());
    assert!(
        error.contains("rounds[1].index: found 3") && error.contains("start again"),
        "{error}"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::write(partial(&output).join("notes.txt"), "mine").unwrap();
    let error = format!("{:#}", resume(&long_plan(&output), &mut bench).unwrap_err());
    assert!(
        error.contains("notes.txt") && error.contains("a file that no run"),
        "{error}"
    );
    assert!(
        partial(&output).join("notes.txt").exists(),
        "what is not ours is not removed"
    );
}

#[test]
fn two_runs_into_one_directory_are_refused() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("run");
    let first = start(&output, false);
    let deadline = Instant::now() + Duration::from_secs(30);
    while !partial(&output).join("begun.json").exists() {
        assert!(
            Instant::now() < deadline && !output.exists(),
            "the first run never began"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    for resumed in [false, true] {
        let second = to_end(&output, resumed);
        assert!(!second.status.success());
        let words = words(&second);
        // It may have come to its end meanwhile, on a machine that is slow at starting processes.
        let late = words.contains("an earlier run") || words.contains("a run that is complete");
        assert!(words.contains("a run that is going on") || late, "{words}");
    }
    let first = first.wait_with_output().unwrap();
    assert!(first.status.success(), "{}", words(&first));
    whole(&output);
}

/// A disk that takes no more, played by the system's limit on the size of files.
#[test]
fn a_write_that_fails_for_want_of_space_ends_cleanly_at_any_file() {
    let parent = tempfile::tempdir().unwrap();
    let mut failed = 0;
    for blocks in [0, 1, 2, 3, 5, 6, 7, 8, 10, 12] {
        let output = parent.path().join(format!("run{blocks}"));
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""),
            ])
            .arg(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"]);
        environment(&mut command, &output, false);
        let ended = command.output().unwrap();
        if !ended.status.success() {
            failed += 1;
            let words = words(&ended);
            assert!(words.contains("File too large"), "{blocks}: {words}");
            assert!(
                words.contains(&parent.path().display().to_string()),
                "{blocks}: {words}"
            );
            assert!(!output.exists(), "{blocks}: published");
            let left = partial(&output).exists();
            let again = to_end(&output, left);
            assert!(again.status.success(), "{blocks}: {}", self::words(&again));
        }
        whole(&output);
    }
    assert!(failed >= 3, "{failed} limits were met");
}

#[test]
fn a_place_that_takes_no_directory_is_named_and_nothing_runs() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (mut bench, log) = bench("", Fault::None);
    let error = format!(
        "{:#}",
        run(&plan(&file.join("run")), &mut bench).unwrap_err()
    );
    assert!(
        error.contains("file: cannot create the directory"),
        "{error}"
    );
    assert!(log.borrow().is_empty());
}

/// A worker in shell that answers until the second round, then is gone.
#[test]
fn a_lost_worker_ends_the_run_with_its_last_words() {
    let parent = tempfile::tempdir().unwrap();
    let output = parent.path().join("run");
    let inputs = generate(Operation::Gelu, &[3, 257], 7).unwrap();
    let expected = reference(&inputs).unwrap();
    let bytes: Vec<u8> = expected
        .iter()
        .flat_map(|&v| (v as f32).to_le_bytes())
        .collect();
    let answer = parent.path().join("answer.bin");
    std::fs::write(&answer, bytes).unwrap();
    let script = r#"n=0
while read -r line; do
    id=$(printf %s "$line" | sed 's/^{"id":\([0-9]*\).*/\1/')
    case "$line" in
    *'"do":"check"'*) cp "$ANSWER" "$(printf %s "$line" | sed 's/.*"output":"\([^"]*\)".*/\1/')" ;;
    *'"do":"measure"'*)
        n=$((n + 1))
        if [ $n = 2 ]; then echo 'CUDA error: the device is gone' >&2; exit 9; fi
        echo '{"id": '"$id"', "ok": true, "samples_us": [5.0, 5.5, 6.0, 5.0]}'
        continue ;;
    esac
    echo '{"id": '"$id"', "ok": true}'
done"#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("ANSWER", &answer);
    let shared = Shared::new(Worker::start(command).unwrap()).unwrap();
    let (mut bench, _) = bench("", Fault::None);
    bench.implementations = vec![Box::new(PythonImplementation::new("python", &shared))];
    let mut plan = plan(&output);
    plan.operations.truncate(1);
    plan.implementations = vec!["python".into()];
    let error = format!("{:#}", run(&plan, &mut bench).unwrap_err());
    for part in [
        "gelu",
        "round 2",
        "the worker ended",
        "exit status: 9",
        "the device is gone",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!output.exists() && !partial(&output).exists());
}
