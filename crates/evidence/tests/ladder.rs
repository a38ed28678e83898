//! The ladder's schema against a hand-made file: what it gives, and every way in which it is refused.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::ladder::{Ladder, Status};
use mage_evidence::operation::Operation;
use mage_evidence::store;
use serde_json::{Value, json};
use std::path::Path;

fn text() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/comparison-ladder.json");
    store::read_text(&path).unwrap()
}

fn ladder() -> Ladder {
    serde_json::from_str(&text()).unwrap()
}

#[test]
fn the_file_is_checked_and_written_back_as_it_was() {
    let ladder = ladder();
    ladder.check().unwrap();
    assert_eq!(store::to_json(&ladder).unwrap(), text());
    assert!(ladder.operation(Operation::LayerNorm).is_none());
}

/// By hand, from the times in the file.
#[test]
fn ratios_are_those_of_the_captures() {
    let ladder = ladder();
    let gelu = ladder.operation(Operation::Gelu).unwrap();
    let once = gelu.step("bias_gelu_once").unwrap();
    let change = once.to_parent.as_ref().unwrap();
    let by_hand = ((5.6f64 / 5.2) * (5.62 / 5.22) * (5.61 / 5.19)).cbrt();
    assert!((change.ratio - by_hand).abs() < 1e-6, "{change:?}");
    assert_eq!((change.verdict.as_str(), &change.why), ("slower", &None));
    assert_eq!(
        once.cause.as_deref(),
        Some("slower than bias_gelu_quad, and bias_gelu_full, which is retained, takes less time")
    );
    let share = &gelu.step("bias_gelu_full").unwrap().limits[0];
    let by_hand = ((4.31f64 / 4.43) * (4.3 / 4.44) * (4.32 / 4.45)).cbrt();
    assert!((share.share - by_hand).abs() < 1e-6);
    assert_eq!(
        (share.twin.as_str(), share.of.as_str()),
        ("copy_full", "bias_gelu_full")
    );
    let own: Vec<&str> = gelu
        .step("bias_gelu")
        .unwrap()
        .limits
        .iter()
        .map(|l| &l.twin[..])
        .collect();
    assert_eq!(own, ["copy_one"]);
}

/// A kernel without twins of its own is held against those of what it was made from, the tightest first.
#[test]
fn a_limit_is_looked_for_along_the_line() {
    let ladder = ladder();
    let triangle = ladder.operation(Operation::Triangle).unwrap();
    let limits = &triangle.step("triangle_box").unwrap().limits;
    let twins: Vec<_> = limits.iter().map(|l| (&l.twin[..], &l.of[..])).collect();
    assert_eq!(
        twins,
        [
            ("multiply_ring", "triangle_ring"),
            ("copy_ring", "triangle_ring")
        ]
    );
    assert!(limits[0].share > limits[1].share);
    let ring = triangle.step("triangle_ring").unwrap();
    assert_eq!(ring.variant.status, Status::Rejected);
    assert!(ring.limits.is_empty(), "for retained kernels alone");
    let neighbor = ladder.operation(Operation::Neighbor).unwrap();
    assert!(neighbor.steps.iter().all(|step| step.limits.is_empty()));
}

/// Each tampering, and what the refusal must say.
#[test]
fn what_the_times_do_not_give_is_refused() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, &[&str]); 17] = [
        (|v| v["schema_version"] = json!("2.0"), &["schema_version"]),
        (
            |v| v["experiment_id"] = json!("x"),
            &["experiment_id", "limit-000-ladder"],
        ),
        (
            |v| v["captures"] = json!(4),
            &[
                "steps[0] (tiled_matmul).kernel_time.captures_us",
                "expected 4",
            ],
        ),
        (|v| v["turns"] = json!(0), &["turns"]),
        (|v| v["operations"] = json!([]), &["operations: found none"]),
        (
            |v| v["operations"][1]["operation"] = json!("matmul"),
            &["operations[1]: found matmul twice"],
        ),
        (
            |v| v["operations"][0]["dims"] = json!([1024, 1024]),
            &["operations[0].dims"],
        ),
        (
            |v| v["operations"][0]["variant"] = json!("other"),
            &["operations[0].variant"],
        ),
        (
            |v| v["operations"][0]["steps"][1]["variant"]["parent"] = json!("matmul_split"),
            &["matmul_registers", "parent", "stands before it"],
        ),
        (
            |v| v["operations"][0]["steps"][1]["variant"]["id"] = json!("tiled_matmul"),
            &["id: found one twice"],
        ),
        (
            |v| v["operations"][0]["steps"][0]["kernel_time"]["mean_us"] = json!(270.3),
            &[
                "steps[0] (tiled_matmul).kernel_time",
                "computed from the captures' times",
            ],
        ),
        (
            |v| v["operations"][0]["steps"][1]["to_parent"]["verdict"] = json!("slower"),
            &["steps[1] (matmul_registers).to_parent", "faster"],
        ),
        (
            |v| v["operations"][1]["steps"][3]["limits"][0]["share"] = json!(0.99),
            &["steps[3] (bias_gelu_full).limits"],
        ),
        (
            |v| v["operations"][0]["again"]["floor_percent"] = json!(0.1),
            &["operations[0].again"],
        ),
        (
            |v| v["operations"][0]["steps"][0]["check"]["checked_elements"] = json!(7),
            &["check.checked_elements", "the whole output"],
        ),
        (
            |v| {
                drop(
                    v["operations"][0]["steps"][0]
                        .as_object_mut()
                        .unwrap()
                        .shift_remove("check"),
                )
            },
            &["steps[0] (tiled_matmul).check: found no check"],
        ),
        (
            |v| {
                v["operations"][0]["steps"][4]["kernel_time"] =
                    v["operations"][0]["steps"][3]["kernel_time"].clone()
            },
            &["steps[4] (matmul_ring).kernel_time: found a time"],
        ),
    ];
    for (edit, expected) in cases {
        let mut value: Value = serde_json::from_str(&text()).unwrap();
        edit(&mut value);
        let ladder: Ladder = serde_json::from_value(value).unwrap();
        let error = ladder.check().unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn the_page_tells_every_step_and_what_became_of_it() {
    let page = ladder().markdown();
    for expected in [
        "# The ladder of limit-000\n",
        "## Bias + GELU, 4096 x 768\n",
        "6 variants: 2 retained, 2 rejected, 0 open, 2 twins. The experiment runs `bias_gelu_full`, 4.44 us where `bias_gelu` takes 8.91. `copy_full` takes 4.31 us: 97.1% of the limit (96.5% to 97.6%).",
        "`multiply_ring`, the twin of `triangle_ring`, from which it was made, takes 4.41 us: 83.2% of the limit",
        "| `bias_gelu_once` | `bias_gelu_quad` | rejected | 5.61 | 5.60 to 5.62 | +7.8% | 60 | 192 | 0 | 6.0e-6 | slower |\n",
        "| `matmul_ring` | `matmul_split` | rejected | - | - | - | - | - | - | - | check failed |\n",
        "- Rejected: slower than bias_gelu_quad, and bias_gelu_full, which is retained, takes less time.\n",
        "- Measured: not timed, for its output fails the check: element 5 at [0, 5]: found NaN",
        "- `matmul_large`: matmul_large takes m a multiple of 2048, not 1024\n",
        "No twin stands on its line",
        "Noise floor: 0.6%.",
    ] {
        assert!(page.contains(expected), "{expected}\n{page}");
    }
    for step in ladder().operations.iter().flat_map(|o| &o.steps) {
        let place = page.find(&format!("\n**`{}`**", step.variant.id)).unwrap();
        let told = page[place..].split("\n**`").nth(1).unwrap();
        assert!(told.contains(&step.variant.changed) && told.contains(&step.variant.expected));
    }
}
