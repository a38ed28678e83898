//! `xtask kernels`: builds every variant's PTX object, or checks that the committed ones are what the source
//! gives. Writing and checking share one path: what a build gives is a set of files, which is either written
//! or compared.

use anyhow::{Context, Result, bail, ensure};
use mage_evidence::hash::sha256_hex;
use mage_evidence::store;
use mage_kernels::objects::{Compiler, Lock, LockedObject, file_name};
use mage_kernels::variants::{Target, VARIANTS, Variant};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The device crate, relative to the workspace.
const DEVICE: &str = "crates/kernels/device";
/// Where the objects are committed, relative to the workspace.
const PTX: &str = "crates/kernels/ptx";
const LOCK: &str = "kernels.lock.json";
const LIST: &str = "objects.rs";

/// Flags for every crate of the build, `core` included, on top of the target of an object
/// (`-Ctarget-cpu=<target>`). A panic is one trap, with no message and no path.
const RUSTC_FLAGS: [&str; 2] = ["-Zunstable-options", "-Cpanic=immediate-abort"];
const CARGO_FLAGS: [&str; 6] = [
    "-Zbuild-std=core",
    "--release",
    "--lib",
    "--target=nvptx64-nvidia-cuda",
    "--locked",
    "--offline",
];

const INSTALL: &str = "On Debian: apt-get install rustc-web rust-web-src. With rustup: a toolchain with the \
    component rust-src. MAGE_DEVICE_RUSTC names a compiler elsewhere.";

/// Files of [`PTX`] by name.
type Files = BTreeMap<String, Vec<u8>>;

/// Builds all objects under `root`, the workspace, and writes those that changed; with `check`, compares them
/// instead. Where no compiler is at hand that made the committed objects, a check compares the hashes of
/// sources and objects with the lock, and says that it did no more.
///
/// # Errors
/// No compiler, a build that fails, or, with `check`, every file that is not what it should be.
pub fn run(root: &Path, check: bool) -> Result<()> {
    let compiler = find_compiler()?;
    if !check {
        let (rustc, compiler) = compiler.map_err(|tried| {
            anyhow::anyhow!(
                "no compiler for nvptx64 that has the source of `core`:\n{tried}{INSTALL}"
            )
        })?;
        let built = build(root, &rustc, &compiler)?;
        return write(&root.join(PTX), &built);
    }

    let lock: Lock = store::read_json(&root.join(PTX).join(LOCK))?;
    compare_hashes(root, &lock)?;
    match compiler {
        Ok((rustc, compiler)) if compiler == lock.compiler => {
            let built = build(root, &rustc, &compiler)?;
            compare_files(&root.join(PTX), &built)?;
            mage_workspace::outln!(
                "{} objects rebuilt with {}, LLVM {}: each as committed, byte for byte",
                VARIANTS.len(),
                compiler.rustc,
                compiler.llvm
            );
        }
        other => {
            let found = match other {
                Ok((rustc, found)) => format!(
                    "{} is {}, LLVM {}\n",
                    rustc.display(),
                    found.rustc,
                    found.llvm
                ),
                Err(tried) => tried,
            };
            mage_workspace::outln!(
                "Sources and objects have the hashes of {PTX}/{LOCK}. The objects were NOT rebuilt and \
                 compared: that takes {}, LLVM {}, with the source of `core`.\n{found}{INSTALL}",
                lock.compiler.rustc,
                lock.compiler.llvm
            );
        }
    }
    Ok(())
}

/// The compiler that `xtask kernels` would use, in words.
///
/// # Errors
/// None is at hand: what was tried and what to install.
pub fn compiler() -> Result<String> {
    match find_compiler()? {
        Ok((rustc, found)) => Ok(format!(
            "{} ({}, LLVM {})",
            rustc.display(),
            found.rustc,
            found.llvm
        )),
        Err(tried) => bail!("{tried}{INSTALL}"),
    }
}

/// A compiler for the device crate and what it calls itself, or a line for each one tried and why it will not
/// do.
///
/// # Errors
/// MAGE_DEVICE_RUSTC names a compiler that will not do.
fn find_compiler() -> Result<Result<(PathBuf, Compiler), String>> {
    if let Some(named) = std::env::var_os("MAGE_DEVICE_RUSTC").filter(|named| !named.is_empty()) {
        let rustc = PathBuf::from(named);
        let compiler = probe(&rustc)
            .with_context(|| format!("MAGE_DEVICE_RUSTC = {}. {INSTALL}", rustc.display()))?;
        return Ok(Ok((rustc, compiler)));
    }
    let mut tried = String::new();
    for rustc in ["/usr/bin/rustc", "rustc"].map(PathBuf::from) {
        match probe(&rustc) {
            Ok(compiler) => return Ok(Ok((rustc, compiler))),
            Err(reason) => writeln!(tried, "{}: {reason:#}", rustc.display())?,
        }
    }
    Ok(Err(tried))
}

/// What a compiler prints, if it succeeds.
fn ask(rustc: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new(rustc).args(arguments).output()?;
    ensure!(
        output.status.success(),
        "`{}` fails: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// Where a compiler has the source of `core`, if it has it.
fn library(rustc: &Path) -> Result<PathBuf> {
    let sysroot = ask(rustc, &["--print=sysroot"])?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library"))
}

/// What a compiler calls itself, if it can build the device crate.
fn probe(rustc: &Path) -> Result<Compiler> {
    let version = ask(rustc, &["--version", "--verbose"])?;
    let llvm = version
        .lines()
        .find_map(|line| line.strip_prefix("LLVM version: "));
    let compiler = Compiler {
        rustc: version.lines().next().unwrap_or_default().to_owned(),
        llvm: llvm.context("names no version of LLVM")?.to_owned(),
    };
    let cpus = ask(
        rustc,
        &["--print=target-cpus", "--target=nvptx64-nvidia-cuda"],
    )?;
    for target in Target::ALL.map(Target::name) {
        let known = cpus.split_whitespace().any(|cpu| cpu == target);
        ensure!(known, "has no nvptx64 backend for {target}");
    }
    let core = library(rustc)?.join("core/src/lib.rs");
    ensure!(
        core.is_file(),
        "has no source of `core` at {}",
        core.display()
    );
    Ok(compiler)
}

/// Builds every object; gives the whole content of the directory [`PTX`].
fn build(root: &Path, rustc: &Path, compiler: &Compiler) -> Result<Files> {
    let mut lock = Lock {
        compiler: compiler.clone(),
        rustc_flags: RUSTC_FLAGS.map(String::from).to_vec(),
        cargo_flags: CARGO_FLAGS.map(String::from).to_vec(),
        sources: BTreeMap::new(),
        objects: BTreeMap::new(),
    };
    for path in common_sources(root)? {
        lock.sources.insert(path.clone(), hash_file(root, &path)?);
    }

    eprintln!(
        "building {} objects with {}",
        VARIANTS.len(),
        compiler.rustc
    );
    let sources = sources(rustc)?;
    let mut files = Files::new();
    for variant in VARIANTS {
        let ptx = compile(root, rustc, &sources, variant)?;
        let ptx = with_version(&with_bounds(&ptx, variant)?)
            .with_context(|| format!("the object of {}", variant.id))?;
        let source = variant_source(variant.id);
        let locked = LockedObject {
            target: variant.target.name().to_owned(),
            source_sha256: hash_file(root, &source)?,
            source,
            sha256: sha256_hex(ptx.as_bytes()),
        };
        let name = file_name(variant.id, variant.target.name());
        lock.objects.insert(name.clone(), locked);
        files.insert(name, ptx.into_bytes());
    }
    let lock_json = serde_json::to_string_pretty(&lock)? + "\n";
    files.insert(LOCK.to_owned(), lock_json.into_bytes());
    files.insert(LIST.to_owned(), list().into_bytes());
    Ok(files)
}

/// Settings that have cargo take what `core` is locked with beside itself, none of which is built, from where the compiler
/// ships it; none where it ships none, and cargo looks into its cache.
fn sources(rustc: &Path) -> Result<Vec<String>> {
    let vendor = library(rustc)?.join("vendor");
    if !vendor.is_dir() {
        return Ok(Vec::new());
    }
    let directory = vendor
        .to_str()
        .with_context(|| format!("{}: found a path that is no UTF-8", vendor.display()))?;
    Ok(vec![
        "source.crates-io.replace-with='library'".to_owned(),
        format!("source.library.directory={directory:?}"),
    ])
}

/// The PTX of one variant, as the compiler gives it, with the settings of [`sources`].
fn compile(root: &Path, rustc: &Path, sources: &[String], variant: &Variant) -> Result<String> {
    let (id, target) = (variant.id, variant.target.name());
    let target_dir = root.join("target/device");
    let asm = target_dir.join(format!("{id}.{target}.s"));
    let cpu = format!("-Ctarget-cpu={target}");
    let flags = [&RUSTC_FLAGS[..], &[&cpu]].concat();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // The flags below are all that counts, whatever the environment of the caller holds.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if [
            "CARGO_PROFILE_",
            "CARGO_BUILD_",
            "CARGO_TARGET_",
            "CARGO_UNSTABLE_",
        ]
        .iter()
        .any(|prefix| text.starts_with(prefix))
        {
            cargo.env_remove(name);
        }
    }
    for setting in sources {
        cargo.args(["--config", setting]);
    }
    cargo
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .env("RUSTC", rustc)
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root.join(DEVICE))
        .args(["rustc", "--quiet", "--target-dir"])
        .arg(&target_dir)
        .args(CARGO_FLAGS)
        .arg("--")
        .arg(format!("--cfg=variant=\"{id}\""))
        .arg(format!("--emit=asm={}", asm.display()));
    let status = cargo.status().context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo fails on {DEVICE} for {id}: {status}"
    );
    Ok(store::read_text(&asm)?)
}

/// Instructions that need a later version of PTX than the compiler states, which is the oldest that knows the target.
const LATER: [(&str, &str); 1] = [("st.async.", "8.1")];

/// States the version of PTX that the instructions need.
fn with_version(ptx: &str) -> Result<String> {
    let (head, rest) = ptx
        .split_once("\n.version ")
        .context("states no version of PTX")?;
    let (stated, rest) = rest.split_once('\n').context("ends in its version")?;
    let needed = LATER.iter().filter(|(text, _)| rest.contains(text));
    // As text: no version of PTX up to now has two digits on either side of the point.
    let version = needed.fold(stated, |version, (_, needed)| version.max(needed));
    Ok(format!("{head}\n.version {version}\n{rest}"))
}

/// Writes the bounds of a block and the size of a cluster, for which the compiler has no attribute, between the
/// head and the body of each entry.
fn with_bounds(ptx: &str, variant: &Variant) -> Result<String> {
    let (found, expected) = (ptx.matches(".entry").count(), variant.entries().count());
    ensure!(
        found == expected,
        "has {found} entries, expected {expected}"
    );
    ensure!(
        !ptx.contains(".func"),
        "has a function that was not inlined"
    );
    let mut ptx = ptx.to_owned();
    for entry in variant.entries() {
        let head = format!(".visible .entry {}(", entry.id);
        let start = ptx
            .find(&head)
            .with_context(|| format!("has no {head:?}"))?;
        let body = ptx[start..]
            .find("\n{")
            .with_context(|| format!("has no body after {head:?}"))?;
        let [x, y, z] = entry.block;
        let resident = match entry.resident_blocks {
            0 => String::new(),
            blocks => format!("\n.minnctapersm {blocks}"),
        };
        let cluster = match entry.cluster {
            1 => String::new(),
            blocks => format!("\n.explicitcluster\n.reqnctapercluster {blocks}, 1, 1"),
        };
        let bounds = format!("\n.maxntid {x}, {y}, {z}{resident}{cluster}");
        ptx.insert_str(start + body, &bounds);
    }
    Ok(ptx)
}

/// The Rust source that embeds the objects.
fn list() -> String {
    let mut text = String::from("// Written by `cargo xtask kernels`.\n&[\n");
    for variant in VARIANTS {
        let (id, target) = (variant.id, variant.target.name());
        let file = file_name(id, target);
        text += &format!(
            "    Object {{ variant: {id:?}, target: {target:?}, ptx: include_str!({file:?}) }},\n"
        );
    }
    text + "]\n"
}

/// What goes into every object: all of the device crate but the kernels. Relative to the workspace, with `/`.
fn common_sources(root: &Path) -> Result<Vec<String>> {
    let mut found = vec![
        format!("{DEVICE}/Cargo.lock"),
        format!("{DEVICE}/Cargo.toml"),
        format!("{DEVICE}/src/lib.rs"),
        format!("{DEVICE}/src/variants/mod.rs"),
    ];
    let mut directories = ["gpu", "parts"]
        .map(|name| format!("{DEVICE}/src/{name}"))
        .to_vec();
    while let Some(directory) = directories.pop() {
        let path = root.join(&directory);
        let entries = path
            .read_dir()
            .with_context(|| format!("cannot list {}", path.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = format!("{directory}/{}", entry.file_name().to_string_lossy());
            match entry.file_type()?.is_dir() {
                true => directories.push(name),
                false if name.ends_with(".rs") => found.push(name),
                false => {}
            }
        }
    }
    Ok(found)
}

fn variant_source(id: &str) -> String {
    format!("{DEVICE}/src/variants/{id}.rs")
}

fn hash_file(root: &Path, path: &str) -> Result<String> {
    Ok(sha256_hex(&store::read_bytes(&root.join(path))?))
}

/// Compares the sources and objects on disk, and the flags, with the lock.
fn compare_hashes(root: &Path, lock: &Lock) -> Result<()> {
    let mut expected: BTreeMap<String, &str> = BTreeMap::new();
    for (path, hash) in &lock.sources {
        expected.insert(path.clone(), hash);
    }
    for (name, object) in &lock.objects {
        expected.insert(object.source.clone(), &object.source_sha256);
        expected.insert(format!("{PTX}/{name}"), &object.sha256);
    }
    let mut wrong = String::new();
    for (path, expected) in &expected {
        let found = match root.join(path).is_file() {
            true => hash_file(root, path)?,
            false => "no such file".to_owned(),
        };
        if found != *expected {
            writeln!(wrong, "{path}: found {found}, expected {expected}")?;
        }
    }
    let mut needed = common_sources(root)?;
    needed.extend(VARIANTS.iter().map(|variant| variant_source(variant.id)));
    let objects = ptx_files(&root.join(PTX))?;
    needed.extend(objects.iter().map(|name| format!("{PTX}/{name}")));
    for path in needed {
        if !expected.contains_key(&path) {
            writeln!(wrong, "{path}: not in {PTX}/{LOCK}")?;
        }
    }
    if lock.rustc_flags != RUSTC_FLAGS || lock.cargo_flags != CARGO_FLAGS {
        writeln!(wrong, "the build flags: not those of {PTX}/{LOCK}")?;
    }
    if !wrong.is_empty() {
        bail!("the objects are not those of the source:\n{wrong}Run `cargo xtask kernels`.");
    }
    Ok(())
}

/// Names of the PTX files in `directory`, sorted.
fn ptx_files(directory: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = directory
        .read_dir()
        .with_context(|| format!("cannot list {}", directory.display()))?;
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ptx") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn write(directory: &Path, built: &Files) -> Result<()> {
    for (name, content) in built {
        let path = directory.join(name);
        if std::fs::read(&path).ok().as_ref() != Some(content) {
            store::write_bytes(&path, content)?;
            mage_workspace::outln!("{PTX}/{name}: written");
        }
    }
    for name in ptx_files(directory)? {
        if built.contains_key(&name) {
            continue;
        }
        std::fs::remove_file(directory.join(&name))
            .with_context(|| format!("cannot remove {PTX}/{name}"))?;
        mage_workspace::outln!("{PTX}/{name}: removed, no variant has it");
    }
    mage_workspace::outln!("{} objects are what the source gives", VARIANTS.len());
    Ok(())
}

fn compare_files(directory: &Path, built: &Files) -> Result<()> {
    let mut wrong = String::new();
    for (name, content) in built {
        let found = store::read_bytes(&directory.join(name))?;
        if found != *content {
            let (found, expected) = (sha256_hex(&found), sha256_hex(content));
            writeln!(wrong, "{PTX}/{name}: found {found}, rebuilt {expected}")?;
        }
    }
    if !wrong.is_empty() {
        bail!(
            "the committed objects differ from those rebuilt:\n{wrong}Run `cargo xtask kernels`."
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant() -> &'static Variant {
        &VARIANTS[0]
    }

    #[test]
    fn bounds_stand_between_head_and_body() {
        let ptx = ".visible .entry tiled_matmul(\n\t.param .u64 p\n)\n{\n\tret;\n}\n";
        assert_eq!(
            with_bounds(ptx, variant()).unwrap(),
            ".visible .entry tiled_matmul(\n\t.param .u64 p\n)\n.maxntid 16, 16, 1\n{\n\tret;\n}\n"
        );
    }

    #[test]
    fn the_version_is_what_the_instructions_need() {
        let with = |body| with_version(&format!("//\n\n.version 8.0\n.target sm_90a\n{body}\n"));
        let needs =
            |version, body: &str| format!("//\n\n.version {version}\n.target sm_90a\n{body}\n");
        for (version, body) in [("8.0", "ret;"), ("8.1", "st.async.weak")] {
            assert_eq!(with(body).unwrap(), needs(version, body));
        }
        let later = with_version("\n.version 8.5\nst.async.weak\n");
        assert!(later.unwrap().starts_with("\n.version 8.5\n"));
        assert!(with_version("ret;\n").is_err());
    }

    #[test]
    fn an_object_with_a_function_is_refused() {
        let entry = ".visible .entry tiled_matmul(\n)\n{\n}\n";
        let error = with_bounds(&format!(".func helper()\n{{\n}}\n{entry}"), variant());
        assert!(error.unwrap_err().to_string().contains("not inlined"));
        let error = with_bounds(&format!("{entry}{entry}"), variant());
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("has 2 entries, expected 1")
        );
    }

    #[test]
    fn a_write_is_what_a_check_accepts_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let built = Files::from([("a.sm_80.ptx".to_owned(), b"a".to_vec())]);
        std::fs::write(directory.path().join("gone.sm_80.ptx"), "").unwrap();
        write(directory.path(), &built).unwrap();
        assert!(!directory.path().join("gone.sm_80.ptx").exists());
        compare_files(directory.path(), &built).unwrap();

        std::fs::write(directory.path().join("a.sm_80.ptx"), "b").unwrap();
        let error = compare_files(directory.path(), &built).unwrap_err();
        assert!(error.to_string().contains("a.sm_80.ptx: found "), "{error}");
    }

    #[test]
    fn a_changed_source_is_named_with_both_hashes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut lock: Lock = store::read_json(&root.join(PTX).join(LOCK)).unwrap();
        compare_hashes(&root, &lock).unwrap();
        let gpu = format!("{DEVICE}/src/gpu/mod.rs");
        lock.sources.insert(gpu.clone(), "0".repeat(64));
        lock.sources.remove(&format!("{DEVICE}/src/lib.rs"));
        let error = compare_hashes(&root, &lock).unwrap_err().to_string();
        assert!(error.contains(&format!("{gpu}: found ")) && error.contains(&"0".repeat(64)));
        assert!(error.contains("src/lib.rs: not in"), "{error}");
        assert!(error.ends_with("Run `cargo xtask kernels`."));
    }
}
