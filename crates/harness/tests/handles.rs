//! Implementations of the Python worker as arms of a comparison: each arm is a handle of its own. The worker is played
//! by a shell script.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod played;

use mage_evidence::ab::Comparison;
use mage_evidence::experiment::Tolerance;
use mage_evidence::operation::Operation;
use mage_harness::ab::verb::{Machine, comparison};
use mage_harness::ab::{Arms, End, Measured, Plan, Side, measure};
use mage_harness::python::{PythonImplementation, Shared};
use mage_harness::worker::Worker;
use mage_kernels::inputs::generate;
use mage_kernels::reference::reference;
use played::{Fault, bench};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Answers every request and writes each to `$LOG`. `triton-tuned` chooses tile 2; a second handle of it says `$TILE`.
const WORKER: &str = r#"number() { printf %s "$line" | sed -n "s/.*\"$1\":\\([0-9]*\\).*/\\1/p"; }
while read -r line; do
    printf '%s\n' "$line" >> "$LOG"
    rest=
    case "$line" in
    *'"do":"prepare"'*'triton-tuned'*)
        case $(number handle) in
        0) rest=', "choice": {"config": {"tile": 2, "more": [1]}, "how": "h", "candidates": [
            {"config": {"tile": 1}, "outcome": "does not run", "reason": "r"},
            {"config": {"tile": 2, "more": [1]}, "outcome": "passes", "max_abs_error": 0.0, "time_us": 1.0, "final_us": 1.0}]}' ;;
        *) rest=', "choice": {"config": {"tile": '"$TILE"', "more": [1]}}' ;;
        esac ;;
    *'"do":"check"'*) cp "$ANSWER" "$(printf %s "$line" | sed 's/.*"output":"\([^"]*\)".*/\1/')" ;;
    *'"do":"measure"'*)
        samples=5.0
        for i in $(seq 2 "$(number iterations)"); do samples="$samples, 5.0$i"; done
        rest=', "samples_us": ['$samples']' ;;
    *'"do":"verify_inputs"'*) rest=', "sha256": '$SHA256 ;;
    esac
    echo '{"id": '"$(number id)"', "ok": true'"$rest"'}' | tr '\n' ' '
    echo
done"#;

/// Compares B with A over one cycle; what was measured, and the requests.
fn compare(a: &str, b: &str, tile: u32) -> (anyhow::Result<Measured>, Vec<serde_json::Value>) {
    let directory = tempfile::tempdir().unwrap();
    let (log, answer) = (
        directory.path().join("log"),
        directory.path().join("answer.bin"),
    );
    let inputs = generate(Operation::Gelu, &[3, 257], 7).unwrap();
    let expected = reference(&inputs).unwrap();
    let bytes: Vec<u8> = expected
        .iter()
        .flat_map(|&v| (v as f32).to_le_bytes())
        .collect();
    std::fs::write(&answer, bytes).unwrap();
    let mut command = Command::new("sh");
    command
        .args(["-c", WORKER])
        .env("LOG", &log)
        .env("ANSWER", &answer)
        .env("TILE", tile.to_string())
        .env("SHA256", serde_json::to_string(&inputs.sha256()).unwrap());
    let shared = Shared::new(Worker::start(command).unwrap()).unwrap();
    let mut arms: Arms = [a, a, b].map(|name| -> Box<dyn mage_harness::Implementation> {
        Box::new(PythonImplementation::new(name, &shared))
    });
    let plan = Plan {
        inputs: &inputs,
        directory: Path::new("."),
        tolerance: Tolerance {
            rtol: 1e-4,
            atol: 1e-4,
        },
        sides: [a, b].map(|name| Side {
            name: name.into(),
            variant: "",
        }),
        end: End::Cycles(1),
    };
    // Every look at the clock is a second later: nothing settles.
    let mut now = Duration::ZERO;
    let mut clock = || {
        now += Duration::from_secs(1);
        now
    };
    let monitor = bench("", Fault::None).0.monitor;
    let measured = measure(&plan, &mut arms, monitor.as_ref(), &mut clock, &mut |_| {});
    let requests = std::fs::read_to_string(log).unwrap();
    let requests = requests
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    (measured, requests.collect())
}

/// Which handle each request of a kind is for, in their order, without repetition.
fn handles(requests: &[serde_json::Value], what: &str) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for request in requests.iter().filter(|r| r["do"] == what) {
        let name = request["implementation"].as_str().unwrap().to_string();
        let handle = (name, request["handle"].as_u64().unwrap());
        if !found.contains(&handle) {
            found.push(handle);
        }
    }
    found
}

#[test]
fn every_arm_is_a_handle_of_its_own() {
    let (measured, requests) = compare("triton", "python", 2);
    measured.unwrap();
    let expected = [("triton", 0), ("triton", 1), ("python", 0)];
    let expected = expected.map(|(name, handle)| (name.to_string(), handle));
    for what in ["prepare", "check", "measure", "verify_inputs"] {
        assert_eq!(handles(&requests, what), expected, "{what}");
    }
    let loads = requests.iter().filter(|r| r["do"] == "load").count();
    assert_eq!(loads, 1, "they read one load");
}

fn compared(measured: Measured) -> Comparison {
    let machine = Machine {
        device: bench("", Fault::None).0.monitor.device().clone(),
        python: None,
        build: bench("", Fault::None).0.build,
        command: Vec::new(),
    };
    let began = "2026-01-01T00:00:00Z".to_string();
    comparison(measured, 0.01, Duration::from_secs(1), began, machine).unwrap()
}

#[test]
fn what_an_arm_chose_is_kept_and_shown() {
    let (measured, _) = compare("triton-tuned", "python", 2);
    let comparison = compared(measured.unwrap());
    let [a, b] = [&comparison.session.a, &comparison.session.b];
    assert_eq!(a.choice.as_ref().unwrap().counts(), (2, 1));
    assert_eq!(b.choice, None);
    let text = comparison.text().unwrap();
    let words =
        "A ran tile 2, more [1]: the fastest of the 1 among 2 candidates that pass the check.\n";
    assert!(text.contains(words), "{text}");
    assert!(!text.contains("B ran"), "{text}");
    let json = serde_json::to_string(&comparison).unwrap();
    let read: Comparison = serde_json::from_str(&json).unwrap();
    assert_eq!(read, comparison);
    let mut other = read;
    let choice = other.session.a.choice.as_mut().unwrap();
    choice.config = choice.candidates[0].config.clone();
    assert_eq!(other.check().unwrap_err().field, "session.a.choice.config");
}

#[test]
fn a_second_handle_that_runs_something_else_is_refused() {
    let (measured, _) = compare("triton-tuned", "triton-tuned", 2);
    let comparison = compared(measured.unwrap());
    assert!(comparison.text().unwrap().contains("B ran tile 2"));
    let (measured, _) = compare("triton-tuned", "triton-tuned", 4);
    let error = format!("{:#}", measured.unwrap_err());
    for part in [
        "triton-tuned: found another handle",
        "4",
        "as the first one chose",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}
