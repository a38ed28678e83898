//! The built code objects: one PTX file a variant, embedded in the program, and the lock file that says what
//! each was made from. `cargo xtask kernels` writes both.

use mage_evidence::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The code of one variant.
#[derive(Debug)]
pub struct Object {
    /// Id of the variant, and the name of the entry of its last launch.
    pub variant: &'static str,
    /// The architecture that it is compiled for, which decides the devices that run it
    /// ([`Target`](crate::variants::Target)).
    pub target: &'static str,
    /// PTX, which the driver compiles for the device at hand.
    pub ptx: &'static str,
}

impl Object {
    /// Name of the file under `crates/kernels/ptx`.
    pub fn file_name(&self) -> String {
        file_name(self.variant, self.target)
    }

    /// SHA-256 of the PTX.
    pub fn sha256(&self) -> String {
        sha256_hex(self.ptx.as_bytes())
    }
}

/// Name of the file under `crates/kernels/ptx` that holds a variant's object for a target.
pub fn file_name(variant: &str, target: &str) -> String {
    format!("{variant}.{target}.ptx")
}

static OBJECTS: &[Object] = include!("../ptx/objects.rs");

/// Every object, in the order of the table of variants.
pub fn objects() -> &'static [Object] {
    OBJECTS
}

/// The object of a variant.
pub fn ptx(variant: &str) -> Option<&'static Object> {
    OBJECTS.iter().find(|object| object.variant == variant)
}

/// `kernels.lock.json`: what the objects were made from. Paths are relative to the workspace, with `/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// The compiler of all objects.
    pub compiler: Compiler,
    /// Flags for every crate of the build, `core` included, on top of `-Ctarget-cpu`.
    pub rustc_flags: Vec<String>,
    /// Further arguments of cargo.
    pub cargo_flags: Vec<String>,
    /// SHA-256 of each source file that goes into every object.
    pub sources: BTreeMap<String, String>,
    /// Each object, by its file name.
    pub objects: BTreeMap<String, LockedObject>,
}

/// A compiler as it names itself; two that name themselves alike give the same objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiler {
    /// The first line of `rustc --version --verbose`.
    pub rustc: String,
    /// Its version of LLVM.
    pub llvm: String,
}

/// One object of the [`Lock`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedObject {
    /// The architecture that it is compiled for: `-Ctarget-cpu`.
    pub target: String,
    /// The source file that goes into no other object.
    pub source: String,
    /// SHA-256 of that file.
    pub source_sha256: String,
    /// SHA-256 of the object.
    pub sha256: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants::{Status, VARIANTS};

    /// The lock file, as text.
    const LOCK_JSON: &str = include_str!("../ptx/kernels.lock.json");

    #[test]
    fn every_variant_has_an_object_as_locked() {
        let lock: Lock = serde_json::from_str(LOCK_JSON).unwrap();
        assert_eq!(lock.objects.len(), objects().len());
        assert_eq!(objects().len(), VARIANTS.len());
        for variant in VARIANTS {
            let object = ptx(variant.id).unwrap();
            let locked = &lock.objects[&object.file_name()];
            assert_eq!(locked.sha256, object.sha256(), "{}", variant.id);
            assert_eq!(locked.target, object.target);
            assert_eq!(object.target, variant.target.name());
        }
    }

    #[test]
    fn an_object_is_its_entries_of_their_blocks_and_shared_memory() {
        for variant in VARIANTS {
            let ptx = ptx(variant.id).unwrap().ptx;
            assert_eq!(ptx.matches(".entry").count(), variant.entries().count());
            for entry in variant.entries() {
                let head = format!(".visible .entry {}(\n", entry.id);
                let (_, from) = ptx
                    .split_once(&head)
                    .unwrap_or_else(|| panic!("no {head:?}"));
                let [x, y, z] = entry.block;
                let cluster = match entry.cluster {
                    1 => String::new(),
                    blocks => format!(".explicitcluster\n.reqnctapercluster {blocks}, 1, 1\n"),
                };
                let resident = match entry.resident_blocks {
                    0 => String::new(),
                    blocks => format!(".minnctapersm {blocks}\n"),
                };
                let bounds = format!("\n.maxntid {x}, {y}, {z}\n{resident}{cluster}{{\n");
                let (parameters, _) = from.split_once("{\n").unwrap();
                let parameters = format!("{parameters}{{\n");
                assert!(parameters.ends_with(&bounds), "{}: no {bounds:?}", entry.id);
            }
            assert_eq!(
                shared_bytes(ptx),
                variant
                    .entries()
                    .map(|entry| entry.static_shared_bytes)
                    .sum::<u32>(),
                "{}",
                variant.id
            );
            let dynamic = ptx.contains("\n.extern .shared ");
            assert_eq!(dynamic, variant.dynamic_shared_bytes > 0, "{}", variant.id);
            for forbidden in [
                ".func", ".local", "call", "trap", "/home", "/usr", "/root", ".rs",
            ] {
                assert!(!ptx.contains(forbidden), "{} has {forbidden:?}", variant.id);
            }
        }
    }

    /// Bytes of the `.shared` arrays that the PTX declares.
    fn shared_bytes(ptx: &str) -> u32 {
        ptx.lines()
            .filter(|line| line.starts_with(".shared"))
            .map(|line| {
                let (_, length) = line.rsplit_once('[').unwrap();
                length.trim_end_matches("];").parse::<u32>().unwrap()
            })
            .sum()
    }

    #[test]
    fn the_accesses_are_those_that_the_kernels_claim() {
        let has = |id, instruction| ptx(id).unwrap().ptx.contains(instruction);
        for id in ["layer_norm_warp", "layer_norm_tile"] {
            assert!(has(id, "ld.global.v4.") && has(id, "st.global.v4."), "{id}");
            assert!(has(id, "shfl.sync.down.b32") && !has(id, "bar"), "{id}");
        }
        for id in ["tiled_matmul_registers", "tiled_matmul_8x4"] {
            assert!(has(id, "ld.global.v4.") && has(id, "st.global.v4."), "{id}");
            assert!(has(id, "st.shared.v4.f32"), "{id}");
        }
        for id in ["triangle_tf32", "triangle_wide", "triangle_sector"] {
            assert!(has(id, "mma.sync.aligned.m16n8k8"), "{id}");
            assert!(has(id, "cp.async.cg.shared.global"), "{id}");
        }
        for variant in VARIANTS.iter().filter(|v| v.status != Status::Twin) {
            let (fma, mma) = (has(variant.id, "fma.rn.f32"), has(variant.id, "mma.sync."));
            assert!(fma || mma, "{}", variant.id);
        }
    }
}
