//! Counters as they are kept: `artifacts/<name>/<variant>.csv`, plain rows without a trace of the machine, and
//! `run.json`, which says what read them.

use super::measure::file_name;
use super::metrics::GROUPS;
use super::raw::{self, Metric};
use anyhow::Context;
use mage_evidence::artifact::{Device, SourceTree};
use mage_evidence::experiment::check_name;
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::Operation;
use mage_evidence::{Invalid, store};
use mage_workspace::NewDirectory;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Version of the schema of `run.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// Directories below `artifacts/` that hold counters begin with this.
const PREFIX: &str = "structure-";

/// The file with the hashes of all others.
pub const SUMS: &str = "SHA256SUMS";

const HEAD: &str = "metric,unit,value";

/// What read the counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// When, UTC.
    pub utc: String,
    /// The experiment whose dims and inputs were run.
    pub experiment: String,
    /// Version line of Nsight Compute.
    pub ncu: String,
    /// The GPU.
    pub device: Device,
    /// State of the source tree.
    pub tree: SourceTree,
    /// SHA-256 of each PTX object of the harness, by file name.
    pub objects_sha256: BTreeMap<String, String>,
    /// SHA-256 of the harness, which launched the kernels.
    pub harness_sha256: String,
    /// Each variant.
    pub launches: Vec<Launch>,
}

/// The launch of one variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The variant.
    pub variant: String,
    /// What it computes.
    pub operation: Operation,
    /// At which dims.
    pub dims: Vec<u32>,
    /// The groups of counters, each from a launch of its own.
    pub readings: Vec<Read>,
    /// What is kept of them; nothing before the import.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
}

/// One run of Nsight Compute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The group of counters.
    pub group: String,
    /// The command line; paths outside the tree by their last part.
    pub command: Vec<String>,
    /// Why there is nothing, where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// What is kept of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// Name of the file beside `run.json`.
    pub file: String,
    /// Its SHA-256.
    pub sha256: String,
}

impl Run {
    /// Its file.
    pub const FILE: &str = "run.json";

    /// Reads `directory/run.json`.
    ///
    /// # Errors
    /// Names the file and the field.
    pub fn read(directory: &Path) -> anyhow::Result<Self> {
        let path = directory.join(Self::FILE);
        let run: Self = store::read_json(&path)?;
        run.check().map_err(|invalid| invalid.in_file(&path))?;
        Ok(run)
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.schema_version != SCHEMA_VERSION {
            let expected = SCHEMA_VERSION.to_string();
            return Err(Invalid::new(
                "schema_version",
                self.schema_version,
                expected,
            ));
        }
        for (i, launch) in self.launches.iter().enumerate() {
            let field = format!("launches[{i}].variant");
            let known = mage_kernels::variants::find(&launch.variant);
            let Some(variant) = known else {
                return Err(Invalid::new(
                    field,
                    format!("{:?}", launch.variant),
                    "a known variant",
                ));
            };
            if variant.operation != launch.operation {
                let expected = format!("a variant of {}", launch.operation);
                return Err(Invalid::new(
                    field,
                    format!("{:?}", launch.variant),
                    expected,
                ));
            }
            if self.launches[..i]
                .iter()
                .any(|l| l.variant == launch.variant)
            {
                return Err(Invalid::new(
                    field,
                    format!("{:?} again", launch.variant),
                    "each once",
                ));
            }
            variant.takes(&launch.dims).map_err(|reason| {
                Invalid::new(format!("launches[{i}].dims"), reason, "dims that it takes")
            })?;
        }
        Ok(())
    }
}

/// A stored run with its counters.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// Name of the directory below `artifacts/`.
    pub name: String,
    /// What read them.
    pub run: Run,
    /// Counters by variant; of an instance, `metric[instance]`.
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Every stored run below `root`, by name.
///
/// # Errors
/// Names the file and the field that is not as it should be.
pub fn all(root: &Path) -> anyhow::Result<Vec<Stored>> {
    let artifacts = root.join("artifacts");
    let names = mage_workspace::stored(root, PREFIX)?;
    names
        .iter()
        .map(|name| read(&artifacts.join(name), name))
        .collect()
}

/// Reads a stored run.
///
/// # Errors
/// Names the file and the field that is not as it should be.
pub fn read(directory: &Path, name: &str) -> anyhow::Result<Stored> {
    let run = Run::read(directory)?;
    let mut counters = BTreeMap::new();
    for (i, launch) in run.launches.iter().enumerate() {
        let field = |name: &str| format!("launches[{i}].{name}");
        let in_run = |invalid: Invalid| invalid.in_file(&directory.join(Run::FILE));
        let kept = launch.kept.as_ref().ok_or_else(|| {
            let help = "run `cargo xtask counters import`";
            in_run(Invalid::new(field("kept"), "nothing", "what was kept of the launch").help(help))
        })?;
        let expected = format!("{}.csv", launch.variant);
        if kept.file != expected {
            return Err(in_run(Invalid::new(field("kept.file"), &kept.file, expected)).into());
        }
        let path = directory.join(&kept.file);
        let text = store::read_text(&path)?;
        let found = sha256_hex(text.as_bytes());
        if found != kept.sha256 {
            let invalid = Invalid::new("SHA-256", found, kept.sha256.as_str());
            return Err(invalid.in_file(&path).into());
        }
        let rows = parse(&text).map_err(|invalid| invalid.in_file(&path))?;
        counters.insert(launch.variant.clone(), rows);
    }
    Ok(Stored {
        name: name.to_owned(),
        run,
        counters,
    })
}

/// `structure-h200` of `NVIDIA H200`.
pub fn default_name(device: &str) -> String {
    let words = device
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty() && !["NVIDIA", "GeForce"].contains(word));
    let words: Vec<String> = words.map(str::to_ascii_lowercase).collect();
    format!("{PREFIX}{}", words.join("-"))
}

/// Takes the counters out of what [`super::measure`] left in `source` and keeps them as `artifacts/<name>`.
///
/// # Errors
/// Names the file and the column that is not as it should be: also another kernel or launch shape than the
/// variant's. A stored run of this name is never overwritten.
pub fn import(root: &Path, source: &Path, name: Option<&str>) -> anyhow::Result<PathBuf> {
    let mut run = Run::read(source)?;
    let name = name.map_or_else(|| default_name(&run.device.name), str::to_owned);
    check_name(&name).map_err(|invalid| invalid.under("--name"))?;
    if !name.starts_with(PREFIX) {
        let expected = format!("a name that begins with {PREFIX}");
        return Err(Invalid::new("--name", format!("{name:?}"), expected).into());
    }
    let directory = NewDirectory::create(&root.join("artifacts").join(name))?;
    let kept = keep(&mut run, source, directory.path());
    if let Err(error) = kept {
        mage_workspace::discard(directory)?;
        return Err(error);
    }
    store::write_json(&directory.path().join(Run::FILE), &run)?;
    store::write_bytes(
        &directory.path().join(SUMS),
        sums(directory.path(), &run)?.as_bytes(),
    )?;
    Ok(directory.publish()?)
}

/// The hash of every file, as `sha256sum` writes and checks it: so no byte changes unseen.
fn sums(directory: &Path, run: &Run) -> anyhow::Result<String> {
    let kept = run
        .launches
        .iter()
        .filter_map(|launch| launch.kept.as_ref());
    let mut files: Vec<&str> = kept.map(|kept| kept.file.as_str()).collect();
    files.push(Run::FILE);
    files.sort_unstable();
    let mut text = String::new();
    for file in files {
        let hash = sha256_hex(&store::read_bytes(&directory.join(file))?);
        let _ = writeln!(text, "{hash}  {file}");
    }
    Ok(text)
}

fn keep(run: &mut Run, source: &Path, target: &Path) -> anyhow::Result<()> {
    for launch in &mut run.launches {
        let variant = mage_kernels::variants::find(&launch.variant).context("checked above")?;
        let shape = variant.launch(&launch.dims);
        let mut metrics = Vec::new();
        for read in launch.readings.iter().filter(|read| read.failed.is_none()) {
            let group = GROUPS.iter().find(|group| group.name == read.group);
            let group = group.ok_or_else(|| {
                Invalid::new(
                    "readings.group",
                    format!("{:?}", read.group),
                    "a known group",
                )
                .in_file(&source.join(Run::FILE))
            })?;
            let path = source.join(file_name(&launch.variant, group));
            let text = store::read_text(&path)?;
            let reading = raw::read(&text, group).map_err(|invalid| invalid.in_file(&path))?;
            let same = |column: &str, found: String, expected: String| match found == expected {
                true => Ok(()),
                false => Err(Invalid::new(column, found, expected).in_file(&path)),
            };
            same("Kernel Name", reading.kernel, launch.variant.clone())?;
            same(
                "Grid Size",
                format!("{:?}", reading.grid),
                format!("{:?}", shape.grid),
            )?;
            same(
                "Block Size",
                format!("{:?}", reading.block),
                format!("{:?}", shape.block),
            )?;
            metrics.extend(reading.metrics);
        }
        let text = format(&metrics);
        let file = format!("{}.csv", launch.variant);
        store::write_bytes(&target.join(&file), text.as_bytes())?;
        launch.kept = Some(Kept {
            grid: shape.grid,
            block: shape.block,
            sha256: sha256_hex(text.as_bytes()),
            file,
        });
    }
    Ok(())
}

/// Counters as rows of [`HEAD`].
fn format(metrics: &[Metric]) -> String {
    let mut text = format!("{HEAD}\n");
    for metric in metrics {
        // Units are words without a comma; whatever else stands there is not kept.
        let plain = |c: &char| c.is_ascii_alphanumeric() || "_/%".contains(*c);
        let unit: String = metric.unit.chars().filter(plain).collect();
        let _ = writeln!(text, "{},{unit},{}", metric.name, metric.value);
        for (instance, value) in &metric.instances {
            let _ = writeln!(text, "{}[{instance}],{unit},{value}", metric.name);
        }
    }
    text
}

/// The counters of a kept file.
fn parse(text: &str) -> Result<BTreeMap<String, u64>, Invalid> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    if head != HEAD {
        return Err(Invalid::new("line 1", format!("{head:?}"), HEAD));
    }
    let mut counters = BTreeMap::new();
    for (i, line) in lines.enumerate() {
        let refused =
            |expected: &str| Invalid::new(format!("line {}", i + 2), format!("{line:?}"), expected);
        let fields: Vec<&str> = line.split(',').collect();
        let [metric, _, value] = fields.as_slice() else {
            return Err(refused("metric, unit, value"));
        };
        let value = value
            .parse()
            .map_err(|_| refused("a whole number as value"))?;
        if metric.is_empty() || counters.insert((*metric).to_owned(), value).is_some() {
            return Err(refused("each metric once"));
        }
    }
    Ok(counters)
}
