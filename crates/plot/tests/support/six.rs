//! A namespace as the peers' will be: six implementations of which some do not run everything, counters of all of
//! them, and a ladder of dozens of variants.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "test data")]

use crate::support::{Root, evidence, same, values};
use mage_evidence::counters::{self, Counters};
use mage_evidence::ladder::{self, KernelTime, Ladder, Status, Step};
use mage_evidence::operation::Operation;
use mage_evidence::store;

pub const NAMES: [&str; 6] = [
    "python",
    "torch-compile",
    "triton",
    "triton-tuned",
    "cusparse",
    "rust",
];
pub const NO_ROUTINE: &str = "cuSPARSE has no routine for it: it computes neighbor alone";
pub const TOO_WIDE: &str =
    "none of 42 configurations passes: element 17: found 1.0009, expected 1.0";

/// The namespace `mage-002` of a root that has everything.
pub fn root() -> Root {
    let root = Root::with_everything();
    let times = [18.2, 14.1, 19.0, 10.1, 25.0, 10.3];
    let all = NAMES.iter().zip(times).enumerate().map(|(i, (name, us))| {
        let span = us + 6.0 + 9.0 * ((i % 3) as f64);
        (name.to_string(), values(span, us, 1 + (i as u32 % 2) * 2))
    });
    let mut cases = same(&all.collect());
    for case in &mut cases {
        if case.op != Operation::Neighbor {
            case.values.shift_remove("cusparse");
        }
    }
    cases[0].values.shift_remove("triton-tuned");
    let mut evidence = evidence("mage-002", "mage-002", "NVIDIA H200", &cases, 3);
    for op in &mut evidence.results.results {
        if op.op != Operation::Neighbor {
            op.unavailable.insert("cusparse".into(), NO_ROUTINE.into());
        }
    }
    let first = &mut evidence.results.results[0].unavailable;
    first.insert("triton-tuned".into(), TOO_WIDE.into());
    root.store("mage-002", &evidence);
    store_counters(&root);
    store_ladder(&root);
    root
}

/// Counters of the six: those that the fixture lacks are where its PyTorch, Triton and Rust are.
fn store_counters(root: &Root) {
    let path = root.results_file("mage-002").with_file_name(counters::FILE);
    let mut counters: Counters = store::read_json(&path).unwrap();
    let cases = std::mem::take(&mut counters.cases);
    for case in cases {
        let also = match case.implementation.as_str() {
            "python" => Some("torch-compile"),
            "triton" => Some("triton-tuned"),
            "rust" if case.operation == Operation::Neighbor => Some("cusparse"),
            _ => None,
        };
        let other = also.map(|name| {
            let mut other = case.clone();
            other.implementation = name.to_string();
            other.variant = None;
            other
        });
        counters.cases.push(case);
        counters.cases.extend(other);
    }
    counters.check().unwrap();
    store::write_json(&path, &counters).unwrap();
}

/// The fixture's ladder with two dozen more steps an operation, each from the one before.
fn store_ladder(root: &Root) {
    let path = root.results_file("mage-002").with_file_name(ladder::FILE);
    let mut ladder: Ladder = store::read_json(&path).unwrap();
    for op in &mut ladder.operations {
        let template = op.steps[1].clone();
        let us = template.kernel_time.as_ref().unwrap().captures_us.clone();
        for i in 0..24_u32 {
            let mut step: Step = template.clone();
            let parent = op.steps.last().unwrap().variant.id.clone();
            step.variant.id = format!("{}_{i:02}", template.variant.id);
            step.variant.parent = Some(parent);
            step.variant.status = match i % 4 {
                0 | 2 => Status::Retained,
                1 => Status::Rejected,
                _ => Status::Open,
            };
            step.variant.changed =
                "Rows are read by sixteen bytes a lane, two ahead of their use, and the \
                last block of a row takes what does not divide."
                    .to_string();
            let factor = 0.985_f64.powi(i as i32) * if i % 4 == 1 { 1.1 } else { 1.0 };
            let times = us.iter().map(|us| us * factor).collect();
            step.kernel_time = Some(KernelTime::of(times, 1).unwrap());
            op.steps.push(step);
        }
        let again = op.again.as_ref().map(|a| a.captures_us.clone());
        let times: Vec<_> = op.steps.iter().map(Step::times).collect();
        let of = again.as_ref().map(|us| (op.variant.as_str(), &us[..]));
        let judged = ladder::judge(&times, of, &op.throttled).unwrap();
        for (step, judged) in op.steps.iter_mut().zip(judged.steps) {
            step.to_parent = judged.to_parent;
            step.cause = judged.cause;
            step.limits = judged.limits;
        }
    }
    ladder.check().unwrap();
    store::write_json(&path, &ladder).unwrap();
}
