//! Counters as the profiler leaves them: names, units and numbers of one call of each case. Nothing is derived.
//!
//! `artifacts/<ns>-kernels-ncu/` holds `counters.json` ([`Session`]), `probes.json` ([`Probes`]) and
//! `counters/<operation>-<implementation>.json` ([`Call`]).

use super::Limit;
use crate::artifact::{Build, Device, check_schema};
use crate::error::Invalid;
use crate::kernel;
use crate::operation::Operation;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Schema of [`Session`].
pub const SESSION_SCHEMA: &str = "mage.counters/1";
/// Schema of [`Probes`].
pub const PROBES_SCHEMA: &str = "mage.probes/1";
/// Schema of [`Call`].
pub const CALL_SCHEMA: &str = "mage.call/1";
/// File of [`Session`].
pub const SESSION_FILE: &str = "counters.json";
/// File of [`Probes`].
pub const PROBES_FILE: &str = "probes.json";
/// Directory of the [`Call`]s.
pub const CALLS: &str = "counters";

/// Everything that holds for all launches of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// [`SESSION_SCHEMA`].
    pub schema: String,
    /// Where the evidence goes.
    pub namespace: String,
    /// Which experiment was profiled.
    pub experiment: String,
    /// SHA-256 of its spec.
    pub experiment_sha256: String,
    /// Start, RFC 3339, UTC.
    pub started: String,
    /// End, RFC 3339, UTC.
    pub finished: String,
    /// The command line, program name first.
    pub command: Vec<String>,
    /// Options of the profiler, as for every launch.
    pub options: Vec<String>,
    /// Calls before the one that is read.
    pub warmup: u32,
    /// Implementations, in order.
    pub implementations: Vec<String>,
    /// Counters that the profiler did not know or could not read here, with what it said.
    pub refused: BTreeMap<String, String>,
    /// Cases, `<operation>-<implementation>`, that the namespace had no capture of: whether their kernels are those that
    /// were measured was not looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unproved: Vec<String>,
    /// The profiler, `Version 2025.3.1.0 ...`.
    pub profiler: String,
    /// The GPU.
    pub device: Device,
    /// What was built, from what (the profiler program's own).
    pub build: Build,
    /// SHA-256 of the program that launched the kernels.
    pub target_sha256: String,
    /// SHA-256 of each of its PTX objects, by file name.
    pub objects_sha256: BTreeMap<String, String>,
}

/// The launches that measured the device's limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    /// [`PROBES_SCHEMA`].
    pub schema: String,
    /// In the order in which they ran.
    pub probes: Vec<ProbeLaunch>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeLaunch {
    /// Which limit.
    pub limit: Limit,
    /// Kernel variant.
    pub variant: String,
    /// Dims that it was launched for.
    pub dims: Vec<u32>,
    /// What was read.
    pub launch: Launch,
}

/// What `mage-harness limits` says of itself: the device, its program and the launches that it will make.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The GPU.
    pub device: Device,
    /// SHA-256 of each PTX object of the program, by file name.
    pub objects_sha256: BTreeMap<String, String>,
    /// The launches, in order.
    pub probes: Vec<PlannedProbe>,
}

/// One launch that `mage-harness limits` makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedProbe {
    /// Which limit.
    pub limit: Limit,
    /// Kernel variant.
    pub variant: String,
    /// Dims.
    pub dims: Vec<u32>,
}

/// One call of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// [`CALL_SCHEMA`].
    pub schema: String,
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// Which implementation.
    pub implementation: String,
    /// The kernel variant that ran, for `rust`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Kernels in order of launch.
    pub kernels: Vec<Launch>,
}

/// One launch and its counters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Name of the kernel.
    pub name: String,
    /// Blocks in x, y, z.
    pub grid: [u32; 3],
    /// Threads a block in x, y, z.
    pub block: [u32; 3],
    /// Counters by name.
    pub metrics: BTreeMap<String, Metric>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Metric {
    /// It was read.
    Read {
        /// Base unit, as the profiler words it; empty for a plain number.
        unit: String,
        /// Value in that unit.
        value: f64,
    },
    /// It was not.
    Absent {
        /// Why.
        absent: String,
    },
}

impl Session {
    /// Refuses an unknown schema.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, SESSION_SCHEMA)
    }
}

impl Probes {
    /// Refuses an unknown schema and launches of other kernels than said.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, PROBES_SCHEMA)?;
        for (i, probe) in self.probes.iter().enumerate() {
            let under = |e: Invalid| e.under(&format!("probes[{i}].launch"));
            probe.launch.check().map_err(under)?;
            if probe.launch.name != probe.variant {
                let found = format!("{:?}", probe.launch.name);
                let expected = format!("the variant's, {:?}", probe.variant);
                return Err(under(Invalid::new("name", found, expected)));
            }
        }
        Ok(())
    }
}

impl Call {
    /// Refuses an unknown schema, dims that do not fit, no kernels, numbers that no counter gives and, for `rust`,
    /// another kernel than the variant's.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_schema(&self.schema, CALL_SCHEMA)?;
        self.operation.check_dims(&self.dims)?;
        if self.kernels.is_empty() {
            return Err(Invalid::new("kernels", "none", "at least one"));
        }
        for (i, kernel) in self.kernels.iter().enumerate() {
            let under = |e: Invalid| e.under(&format!("kernels[{i}]"));
            kernel.check().map_err(under)?;
        }
        let names = self.kernels.iter().map(|kernel| kernel.name.as_str());
        match &self.variant {
            Some(variant) => kernel::check(names, variant, "kernels", "name"),
            None => Ok(()),
        }
    }
}

impl Launch {
    fn check(&self) -> Result<(), Invalid> {
        for (name, metric) in &self.metrics {
            let field = format!("metrics.{name}");
            match metric {
                Metric::Read { value, .. } if !(value.is_finite() && *value >= 0.0) => {
                    return Err(Invalid::new(field, value, "a finite number, at least 0"));
                }
                Metric::Absent { absent } if absent.trim().is_empty() => {
                    return Err(Invalid::new(field, "absent", "absent, with a reason"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
