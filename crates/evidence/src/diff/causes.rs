//! What changed between two sides, and what is byte for byte the same.

use super::Side;
use crate::results::{Provenance, Results};
use std::collections::{BTreeMap, BTreeSet};

/// Every cause that the evidence records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Causes {
    /// Single facts, in the order in which they are shown.
    pub facts: Vec<Fact>,
    /// Groups of files.
    pub files: Vec<Files>,
}

/// One fact on both sides; none where a side does not record it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub what: String,
    /// Of which operation, case or package; empty for what there is one of.
    pub of: String,
    /// On side A.
    pub a: Option<String>,
    /// On side B.
    pub b: Option<String>,
}

impl Fact {
    fn new(what: &str, a: Option<String>, b: Option<String>) -> Self {
        Self {
            what: what.into(),
            of: String::new(),
            a,
            b,
        }
    }

    fn of(mut self, of: &str) -> Self {
        self.of = of.into();
        self
    }

    /// What it is, and of what.
    pub fn label(&self) -> String {
        match self.of.is_empty() {
            true => self.what.clone(),
            false => format!("{} of {}", self.what, self.of),
        }
    }

    /// Whether it is recorded and the same on both sides.
    pub fn is_same(&self) -> bool {
        self.a.is_some() && self.a == self.b
    }

    /// Whether it is recorded on both sides and differs.
    pub fn is_changed(&self) -> bool {
        self.a.is_some() && self.b.is_some() && self.a != self.b
    }
}

/// A group of files, by their SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// Which group.
    pub what: &'static str,
    /// How many are byte for byte the same.
    pub same: usize,
    /// Those that differ.
    pub changed: Vec<String>,
    /// Those of side A alone.
    pub only_a: Vec<String>,
    /// Those of side B alone.
    pub only_b: Vec<String>,
}

impl Files {
    /// Compares two lists of hashes by name.
    pub fn between(
        what: &'static str,
        a: &BTreeMap<String, String>,
        b: &BTreeMap<String, String>,
    ) -> Self {
        let (same, changed): (Vec<_>, Vec<_>) = a
            .iter()
            .filter(|(name, _)| b.contains_key(*name))
            .partition(|(name, hash)| b.get(*name) == Some(hash));
        let only = |of: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
            of.keys()
                .filter(|name| !other.contains_key(*name))
                .cloned()
                .collect()
        };
        Self {
            what,
            same: same.len(),
            changed: changed.into_iter().map(|(name, _)| name.clone()).collect(),
            only_a: only(a, b),
            only_b: only(b, a),
        }
    }

    /// Whether every file is on both sides and the same.
    pub fn is_same(&self) -> bool {
        self.same > 0 && self.changed.is_empty() && self.only_a.is_empty() && self.only_b.is_empty()
    }
}

/// Groups of sources, by the paths that they begin with; the first that fits.
const GROUPS: [(&str, &[&str]); 5] = [
    ("kernel sources", &["crates/kernels/device/"]),
    (
        "kernel compiler, flags and objects (lock file)",
        &["crates/kernels/ptx/"],
    ),
    ("PyTorch and Triton worker", &["crates/harness/python/"]),
    (
        "harness sources",
        &[
            "crates/harness/",
            "crates/kernels/",
            "crates/evidence/",
            "crates/workspace/",
        ],
    ),
    ("profiler sources", &["crates/profile/"]),
];
const REST: &str = "other sources";
const LOCK: &str = "Cargo.lock";

impl Causes {
    /// Everything recorded on either side.
    pub fn between(a: &Side, b: &Side) -> Self {
        let mut facts = vec![Fact::new("GPU", Some(a.gpu().into()), Some(b.gpu().into()))];
        facts.extend(environment(a.results(), b.results()));
        facts.extend(protocol(a, b));
        facts.extend(cases(a, b));
        let files = match (a.results(), b.results()) {
            (Some(of_a), Some(of_b)) => groups(of_a, of_b),
            _ => Vec::new(),
        };
        Self { facts, files }
    }

    /// One fact by its label.
    pub fn fact(&self, label: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.label() == label)
    }

    /// One group of files by its name.
    pub fn group(&self, what: &str) -> Option<&Files> {
        self.files.iter().find(|files| files.what == what)
    }
}

type Read = fn(&Results) -> Option<String>;

fn provenance(results: &Results) -> Option<&Provenance> {
    results.provenance.as_ref()
}

fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}

fn environment(a: Option<&Results>, b: Option<&Results>) -> Vec<Fact> {
    let fields: [(&str, Read); 17] = [
        ("driver", |r| Some(provenance(r)?.device.driver.clone())),
        ("CUDA of the driver", |r| {
            Some(provenance(r)?.device.cuda_driver.clone())
        }),
        ("GPU limits", |r| {
            let d = &provenance(r)?.device;
            Some(format!(
                "{} multiprocessors, {} bytes of memory, SM to {} MHz, memory to {} MHz",
                d.multiprocessors, d.memory_bytes, d.max_sm_clock_mhz, d.max_memory_clock_mhz
            ))
        }),
        ("processor", |r| Some(provenance(r)?.host.processor.clone())),
        ("platform", |r| Some(r.platform.clone())),
        ("Python", |r| r.python.clone()),
        ("PyTorch", |r| r.torch.clone()),
        ("Triton", |r| r.triton.clone()),
        ("CUDA of PyTorch", |r| r.cuda.clone()),
        ("TF32 switches", |r| {
            let tf32 = provenance(r)?.tf32.as_ref()?;
            Some(format!(
                "matmul {}, cudnn {}, precision {}",
                tf32.matmul_allow_tf32, tf32.cudnn_allow_tf32, tf32.float32_matmul_precision
            ))
        }),
        ("precision", |r| Some(r.precision.clone())),
        ("what a span is", |r| Some(r.timing.clone())),
        ("measuring program", |r| Some(short(&r.binary_sha256))),
        ("lock file", |r| {
            let hash = provenance(r)
                .map(|p| &p.lock_file_sha256)
                .or_else(|| r.source_sha256.get(LOCK))?;
            Some(short(hash))
        }),
        ("source tree", |r| {
            let tree = &provenance(r)?.tree;
            Some(format!(
                "{}{}",
                format!("{:?}", tree.state).to_lowercase(),
                tree.commit
                    .as_deref()
                    .map(|c| format!(", commit {}", short(c)))
                    .unwrap_or_default()
            ))
        }),
        ("experiment", |r| Some(provenance(r)?.experiment.clone())),
        ("schema version", |r| r.schema_version.clone()),
    ];
    let mut facts: Vec<Fact> = fields
        .into_iter()
        .map(|(what, read)| Fact::new(what, a.and_then(read), b.and_then(read)))
        .collect();
    let packages = |side: Option<&Results>| -> BTreeMap<String, String> {
        side.and_then(provenance)
            .map(|p| p.python_packages.clone())
            .unwrap_or_default()
    };
    let (of_a, of_b) = (packages(a), packages(b));
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    // PyTorch and Triton stand above.
    for name in names {
        let fact = Fact::new(
            "package version",
            of_a.get(name).cloned(),
            of_b.get(name).cloned(),
        )
        .of(name);
        if !["torch", "triton"].contains(&name.as_str()) {
            facts.push(fact);
        }
    }
    facts
}

fn protocol(a: &Side, b: &Side) -> Vec<Fact> {
    let rounds = |side: &Side| {
        side.results().map(|r| {
            format!(
                "{} rounds of {} calls after {}",
                r.rounds, r.iterations_per_round, r.warmup_per_round
            )
        })
    };
    let captures = |side: &Side| {
        let profiles = side.profiles()?;
        let first = profiles.captures.first()?;
        let cases: BTreeSet<_> = profiles
            .captures
            .iter()
            .map(|c| (c.operation, &c.language))
            .collect();
        let each = profiles.captures.len() / cases.len().max(1);
        Some(format!(
            "{each} a case, of {} calls",
            first.requested_iterations
        ))
    };
    let profiler = |side: &Side| {
        let profiles = side.profiles()?;
        let line = match &profiles.provenance {
            Some(provenance) => &provenance.profiler,
            None => &profiles.backend,
        };
        Some(line.trim().to_string())
    };
    [
        ("rounds", rounds(a), rounds(b)),
        ("captures", captures(a), captures(b)),
        ("profiler", profiler(a), profiler(b)),
    ]
    .into_iter()
    .map(|(what, a, b)| Fact::new(what, a, b))
    .collect()
}

/// Dims, inputs and variant of each operation that is on both sides.
fn cases(a: &Side, b: &Side) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (op, dims) in a.operations() {
        let Some(other) = b.dims(op) else { continue };
        let (of_a, of_b) = (Some(format!("{dims:?}")), Some(format!("{other:?}")));
        facts.push(Fact::new("dims", of_a, of_b).of(op.name()));
        let [of_a, of_b] = [a, b].map(|side| inputs(side, op).map(|hash| short(&hash)));
        facts.push(Fact::new("inputs", of_a, of_b).of(op.name()));
        let names: BTreeSet<String> = [a, b]
            .iter()
            .flat_map(|side| side.implementations())
            .collect();
        for name in names {
            let (of_a, of_b) = (a.variant(op, &name), b.variant(op, &name));
            if of_a.is_some() || of_b.is_some() {
                let [of_a, of_b] = [of_a, of_b].map(|variant| variant.map(str::to_string));
                facts.push(Fact::new("variant", of_a, of_b).of(&format!("{op} {name}")));
            }
        }
    }
    facts
}

/// One hash for all inputs of an operation, where they were recorded.
pub(super) fn inputs(side: &Side, op: crate::operation::Operation) -> Option<String> {
    let results = side.results()?;
    let hashes = &results
        .results
        .iter()
        .find(|r| r.op == op)?
        .input_hashes
        .sha256;
    (!hashes.is_empty()).then(|| {
        crate::hash::sha256_of_named(
            hashes
                .iter()
                .map(|(name, hash)| (name.as_str(), hash.as_bytes())),
        )
    })
}

fn groups(a: &Results, b: &Results) -> Vec<Files> {
    let of_group = |results: &Results, group: &str| -> BTreeMap<String, String> {
        results
            .source_sha256
            .iter()
            .filter(|(path, _)| *path != LOCK && group_of(path) == group)
            .map(|(path, hash)| (path.clone(), hash.clone()))
            .collect()
    };
    let objects = |results: &Results| -> BTreeMap<String, String> {
        provenance(results)
            .map(|p| p.objects_sha256.clone())
            .unwrap_or_default()
    };
    let mut files = vec![Files::between("PTX objects", &objects(a), &objects(b))];
    for group in GROUPS.map(|(group, _)| group).into_iter().chain([REST]) {
        files.push(Files::between(
            group,
            &of_group(a, group),
            &of_group(b, group),
        ));
    }
    let empty = |f: &Files| {
        f.same == 0 && f.changed.is_empty() && f.only_a.is_empty() && f.only_b.is_empty()
    };
    files.retain(|f| !empty(f));
    files
}

fn group_of(path: &str) -> &'static str {
    GROUPS
        .iter()
        .find(|(_, places)| places.iter().any(|place| path.starts_with(place)))
        .map_or(REST, |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_hash_and_by_side() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs
                .iter()
                .map(|(name, hash)| ((*name).into(), (*hash).into()))
                .collect()
        };
        let files = Files::between(
            "x",
            &map(&[("same", "1"), ("other", "1"), ("gone", "1")]),
            &map(&[("same", "1"), ("other", "2"), ("new", "1")]),
        );
        assert_eq!(files.same, 1);
        assert_eq!(files.changed, ["other"]);
        assert_eq!((files.only_a.len(), files.only_b.len()), (1, 1));
        assert!(!files.is_same());
    }

    #[test]
    fn the_first_group_that_fits_has_the_file() {
        for (path, expected) in [
            (
                "crates/kernels/device/src/variants/triangle.rs",
                "kernel sources",
            ),
            (
                "crates/harness/python/mage_worker/serve.py",
                "PyTorch and Triton worker",
            ),
            ("crates/kernels/src/launch/timer.rs", "harness sources"),
            ("crates/plot/src/lib.rs", REST),
            ("examples/oxide/comparison.py", REST),
        ] {
            assert_eq!(group_of(path), expected, "{path}");
        }
    }
}
