//! The numbers that tables and figures show, derived from evidence in one place.

use crate::error::Invalid;
use crate::operation::Operation;
use crate::profiles::Profiles;
use crate::published::Published;
use crate::results::{OperationResults, Results};
use crate::{implementation, stats};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// One namespace, reduced to what is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Namespace.
    pub namespace: String,
    /// GPU name.
    pub gpu: String,
    /// Operations in the order of the evidence.
    pub operations: Vec<OperationSummary>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationSummary {
    /// Which operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// Implementations in the order in which they are shown.
    pub implementations: IndexMap<String, CaseSummary>,
}

/// One operation in one implementation. Times in microseconds; `None` where it was not measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseSummary {
    /// Kernel variant that ran, for `rust`.
    pub kernel: Option<String>,
    /// SHA-256 of its PTX object, where the evidence has it.
    pub object_sha256: Option<String>,
    /// Event spans.
    pub event: Option<Span>,
    /// Kernel time.
    pub kernel_time: Option<KernelTime>,
}

/// Event spans of one case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Mean of all samples.
    pub mean_us: f64,
    /// Smallest of the round means.
    pub min_us: f64,
    /// Largest of the round means.
    pub max_us: f64,
    /// Median of all samples, where there are samples.
    pub median_us: Option<f64>,
}

/// Kernel time of one case over its captures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelTime {
    /// Mean over captures.
    pub mean_us: f64,
    /// Smallest capture.
    pub min_us: f64,
    /// Largest capture.
    pub max_us: f64,
    /// Interval of the typical capture, low and high; none where there are too few captures.
    pub interval_us: Option<(f64, f64)>,
    /// Number of captures.
    pub captures: usize,
    /// Kernel launches an operation.
    pub launches: u32,
    /// Resources of the operation's only kernel; `None` where it has several or they are not known.
    pub resources: Option<Resources>,
}

/// What one kernel asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Blocks.
    pub blocks: u64,
    /// Registers a thread.
    pub registers: u32,
    /// Shared memory a block in bytes.
    pub shared_bytes: u32,
}

/// Whether every kernel time is of enough captures for an interval: their own scatter is then seen.
pub fn several_captures(operations: &[OperationSummary]) -> bool {
    let cases = operations.iter().flat_map(|op| op.implementations.values());
    cases
        .filter_map(|case| case.kernel_time)
        .all(|time| time.interval_us.is_some())
}

impl Summary {
    /// Reduces checked evidence. Every case of `results` is there; one without captures has no kernel
    /// time.
    ///
    /// # Errors
    /// [`Invalid`] where the evidence does not pass its own check or the captures of one case differ in
    /// their launches.
    pub fn of(results: &Results, profiles: Option<&Profiles>) -> Result<Self, Invalid> {
        results.check()?;
        if let Some(profiles) = profiles {
            profiles.check()?;
        }
        let names = results.implementations();
        let objects = objects(results);
        let operations = results
            .results
            .iter()
            .map(|op| OperationSummary::of(op, profiles, &names, &objects))
            .collect::<Result<_, Invalid>>()?;
        let namespace = results
            .provenance
            .as_ref()
            .map_or_else(|| results.experiment_id.clone(), |p| p.namespace.clone());
        Ok(Self {
            namespace,
            gpu: results.gpu.clone(),
            operations,
        })
    }

    /// The published values in the same form.
    pub fn of_published(published: &Published) -> Self {
        let operations = published
            .rows
            .iter()
            .map(|row| {
                let mut names: Vec<String> = row.measurements.keys().cloned().collect();
                implementation::sort(&mut names);
                let implementations = names
                    .into_iter()
                    .map(|name| {
                        let v = row.measurements[&name];
                        let case = CaseSummary {
                            kernel: None,
                            object_sha256: None,
                            event: Some(Span {
                                mean_us: v.event,
                                min_us: v.event_min,
                                max_us: v.event_max,
                                median_us: None,
                            }),
                            kernel_time: Some(KernelTime {
                                mean_us: v.kernel,
                                min_us: v.kernel,
                                max_us: v.kernel,
                                interval_us: None,
                                captures: 1,
                                launches: v.launches,
                                resources: None,
                            }),
                        };
                        (name, case)
                    })
                    .collect();
                OperationSummary {
                    operation: row.op,
                    dims: row.dims.clone(),
                    implementations,
                }
            })
            .collect();
        Self {
            namespace: published.namespace.clone(),
            gpu: published.gpu.clone(),
            operations,
        }
    }

    /// One operation.
    pub fn operation(&self, operation: Operation) -> Option<&OperationSummary> {
        self.operations.iter().find(|op| op.operation == operation)
    }

    /// One case.
    pub fn case(&self, operation: Operation, implementation: &str) -> Option<&CaseSummary> {
        self.operation(operation)?
            .implementations
            .get(implementation)
    }
}

/// SHA-256 of each PTX object by its variant; objects are named `<variant>.<target>.ptx`.
fn objects(results: &Results) -> BTreeMap<String, String> {
    let provenance = results.provenance.as_ref();
    let named = provenance.into_iter().flat_map(|p| &p.objects_sha256);
    named
        .filter_map(|(file, digest)| Some((file.split('.').next()?.to_string(), digest.clone())))
        .collect()
}

impl CaseSummary {
    /// Whether the same kernel ran as in `other`: the same variant from the same object, where the evidence
    /// has objects. `None` where it does not say which kernel ran.
    pub fn same_kernel(&self, other: &Self) -> Option<bool> {
        let same_variant = self.kernel.as_ref()? == other.kernel.as_ref()?;
        Some(same_variant && self.object_sha256 == other.object_sha256)
    }
}

impl OperationSummary {
    fn of(
        results: &OperationResults,
        profiles: Option<&Profiles>,
        names: &[String],
        objects: &BTreeMap<String, String>,
    ) -> Result<Self, Invalid> {
        let mut implementations = IndexMap::new();
        for name in names {
            let cases: Vec<_> = results
                .rounds
                .iter()
                .filter_map(|round| round.implementations.get(name))
                .collect();
            if cases.is_empty() {
                continue;
            }
            let all: Vec<f64> = cases
                .iter()
                .flat_map(|c| c.samples_us.iter().copied())
                .collect();
            let means = cases
                .iter()
                .map(|c| stats::mean(&c.samples_us))
                .collect::<Result<Vec<_>, _>>()?;
            let (min_us, max_us) = stats::range(&means)?;
            let kernel = cases[0].kernel.clone();
            let case = CaseSummary {
                object_sha256: kernel.as_deref().and_then(|k| objects.get(k).cloned()),
                kernel,
                event: Some(Span {
                    mean_us: stats::mean(&all)?,
                    min_us,
                    max_us,
                    median_us: Some(stats::median(&all)?),
                }),
                kernel_time: profiles
                    .map(|p| KernelTime::of(p, results.op, name))
                    .transpose()?
                    .flatten(),
            };
            implementations.insert(name.clone(), case);
        }
        Ok(Self {
            operation: results.op,
            dims: results.dims.clone(),
            implementations,
        })
    }
}

impl KernelTime {
    fn of(profiles: &Profiles, op: Operation, name: &str) -> Result<Option<Self>, Invalid> {
        let captures: Vec<_> = profiles.case(op, name).collect();
        let Some(first) = captures.first() else {
            return Ok(None);
        };
        if let Some(other) = captures.iter().find(|c| c.launches != first.launches) {
            return Err(Invalid::new(
                format!("captures of {op} {name}"),
                format!("{} and {} launches", first.launches, other.launches),
                "the same number in each capture",
            ));
        }
        let times: Vec<f64> = captures.iter().map(|c| c.kernel_time()).collect();
        let (min_us, max_us) = stats::range(&times)?;
        Ok(Some(Self {
            mean_us: stats::mean(&times)?,
            min_us,
            max_us,
            interval_us: stats::interval(&times, stats::Unit::Capture)?.ok(),
            captures: captures.len(),
            launches: first.launches,
            resources: first.resources(),
        }))
    }
}
