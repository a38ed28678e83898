//! What ptxas makes of each object: registers, shared bytes, stack and spills, pinned in `ptx/resources.json`.
//! A change of a pinned number is made on purpose, in the commit that causes it: run with
//! `MAGE_PIN_RESOURCES=1` to pin what is found.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows the tests but not their helpers"
)]

use mage_kernels::objects::{Object, objects};
use mage_kernels::resources::{Pins, Resources};
use mage_kernels::variants::{VARIANTS, Variant};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The device that the numbers are for, an H100 or H200; objects that no other device runs name it themselves.
const ARCH: &str = "sm_90";
const PINS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ptx/resources.json");

#[test]
fn objects_take_the_pinned_resources() {
    let Some(ptxas) = find_ptxas() else {
        say(
            "SKIPPED: there is no ptxas. `pip install nvidia-cuda-nvcc==13.0.88` into .venv, or name one \
             in MAGE_PTXAS; neither needs a GPU.",
        );
        return;
    };
    let version = version(&ptxas);
    let found: BTreeMap<String, Resources> = objects()
        .iter()
        .flat_map(|object| resources(&ptxas, object))
        .collect();
    for entry in VARIANTS.iter().flat_map(Variant::entries) {
        assert_eq!(
            found[entry.id].shared_bytes, entry.static_shared_bytes,
            "shared bytes of {}, table of variants",
            entry.id
        );
    }

    if std::env::var_os("MAGE_PIN_RESOURCES").is_some() {
        let pins = Pins {
            ptxas: version,
            arch: ARCH.to_owned(),
            objects: found,
        };
        let text = serde_json::to_string_pretty(&pins).unwrap() + "\n";
        std::fs::write(PINS, text).unwrap();
        return;
    }

    let mut pins: Pins = serde_json::from_str(&std::fs::read_to_string(PINS).unwrap()).unwrap();
    assert_eq!(pins.arch, ARCH, "{PINS}");
    if pins.ptxas != version {
        say(&format!(
            "registers NOT compared: they are pinned for ptxas {}, and {} is {version}",
            pins.ptxas,
            ptxas.display()
        ));
        for (id, pinned) in &mut pins.objects {
            if let Some(found) = found.get(id) {
                pinned.registers_per_thread = found.registers_per_thread;
            }
        }
    }
    assert_eq!(
        found, pins.objects,
        "left: found by ptxas {version}, right: pinned in {PINS}; MAGE_PIN_RESOURCES=1 pins what is found"
    );
}

/// Writes past the capture of the test harness, so that a skipped comparison is seen.
fn say(message: &str) {
    let _ = writeln!(std::io::stderr(), "resources: {message}");
}

/// `MAGE_PTXAS`, else ptxas on the path, else the one of the package nvidia-cuda-nvcc in the workspace's .venv.
fn find_ptxas() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("MAGE_PTXAS").filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|directory| directory.join("ptxas"));
    let venv = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/lib");
    let in_venv = children(&venv)
        .into_iter()
        .flat_map(|python| children(&python.join("site-packages/nvidia")))
        .map(|package| package.join("bin/ptxas"));
    on_path.chain(in_venv).find(|ptxas| ptxas.is_file())
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = directory.read_dir() else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Standard output and error of a ptxas that succeeds.
fn ask(ptxas: &Path, arguments: &[&str]) -> String {
    let output = Command::new(ptxas)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", ptxas.display()));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    assert!(
        output.status.success(),
        "{} {arguments:?}:\n{text}",
        ptxas.display()
    );
    text
}

/// `13.0.88` of `Cuda compilation tools, release 13.0, V13.0.88`.
fn version(ptxas: &Path) -> String {
    let text = ask(ptxas, &["--version"]);
    let version = text.split_whitespace().find_map(|word| {
        word.strip_prefix('V')
            .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    });
    version
        .unwrap_or_else(|| panic!("no version in {text}"))
        .to_owned()
}

/// What each entry of the object takes.
fn resources(ptxas: &Path, object: &Object) -> Vec<(String, Resources)> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(object.file_name());
    let cubin = directory.path().join("out.cubin");
    std::fs::write(&source, object.ptx).unwrap();
    let arch = match object.target.ends_with('a') {
        true => format!("-arch={}", object.target),
        false => format!("-arch={ARCH}"),
    };
    let (source, cubin) = (source.to_str().unwrap(), cubin.to_str().unwrap());
    let text = ask(ptxas, &["-v", &arch, source, "-o", cubin]);
    for complaint in ["serialized", "warning", "ignored"] {
        assert!(!text.contains(complaint), "{}:\n{text}", object.variant);
    }
    let entries = text.split("Compiling entry function '").skip(1);
    entries
        .map(|entry| {
            let (name, said) = entry.split_once('\'').unwrap();
            (name.to_owned(), parse(said))
        })
        .collect()
}

/// Reads what `ptxas -v` says of one entry. It names only what an entry has.
fn parse(text: &str) -> Resources {
    let before = |unit: &str| -> Option<u32> {
        let (head, _) = text.split_once(unit)?;
        head.split_whitespace().next_back()?.parse().ok()
    };
    let always = |unit| before(unit).unwrap_or_else(|| panic!("no{unit} in:\n{text}"));
    Resources {
        registers_per_thread: always(" registers"),
        shared_bytes: before(" bytes smem").unwrap_or(0),
        stack_bytes: always(" bytes stack frame"),
        spill_bytes: always(" bytes spill stores") + always(" bytes spill loads"),
    }
}

#[test]
fn the_words_of_ptxas_are_understood() {
    let text = "ptxas info    : 0 bytes gmem\n\
        ptxas info    : Function properties for tiled_matmul\n    \
        8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
        ptxas info    : Used 32 registers, used 1 barriers, 2048 bytes smem, 388 bytes cmem[0]\n";
    let expected = Resources {
        registers_per_thread: 32,
        shared_bytes: 2048,
        stack_bytes: 8,
        spill_bytes: 16,
    };
    assert_eq!(parse(text), expected);
    assert_eq!(
        parse(&text.replace(", 2048 bytes smem", "")).shared_bytes,
        0
    );
}
