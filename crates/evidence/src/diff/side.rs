//! One side of a comparison: a namespace's evidence, another program's, or published values.

use crate::error::Invalid;
use crate::operation::Operation;
use crate::profiles::{self, Profiles};
use crate::published::{Published, Values};
use crate::results::{self, Results};
use crate::store::{self, StoreError};
use crate::summary::Resources;
use crate::{implementation, stats};
use std::collections::BTreeSet;
use std::path::Path;

/// One side.
#[derive(Debug, Clone)]
pub struct Side {
    name: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Evidence(Box<(Results, Profiles)>),
    Published(Box<Published>),
}

/// Event spans of one case, one number a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    /// Median of the samples of each round, in microseconds; for published values their one mean.
    pub rounds_us: Vec<f64>,
    /// Mean of all samples, in microseconds.
    pub mean_us: f64,
    /// Step of the clock in microseconds, where there are samples.
    pub tick_us: Option<f64>,
    /// NVML's reasons for clocks that were held down before a round.
    pub throttled: Vec<String>,
}

/// Kernels of one case.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernels {
    /// Kernel time of each capture, in microseconds.
    pub captures_us: Vec<f64>,
    /// Launches an operation.
    pub launches: u32,
    /// What the operation's only kernel asks for; none where there are several, or where it is not known.
    pub resources: Option<Resources>,
    /// Name, grid, block, registers and shared bytes of each distinct launch; empty where not known.
    pub launched: BTreeSet<String>,
}

impl Side {
    /// Reads and checks the two evidence files of a directory.
    ///
    /// # Errors
    /// [`StoreError`] naming the file and the field.
    pub fn read(name: &str, directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(results::FILE);
        let results: Results = store::read_json(&path)?;
        results.check().map_err(|e| e.in_file(&path))?;
        let path = directory.join(profiles::FILE);
        let profiles: Profiles = store::read_json(&path)?;
        profiles.check().map_err(|e| e.in_file(&path))?;
        Ok(Self::of(name, results, profiles))
    }

    /// Reads published values.
    ///
    /// # Errors
    /// As [`Published::read`].
    pub fn read_published(name: &str, path: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            name: name.into(),
            source: Source::Published(Box::new(Published::read(path)?)),
        })
    }

    /// From evidence that has passed its checks.
    pub fn of(name: &str, results: Results, profiles: Profiles) -> Self {
        Self {
            name: name.into(),
            source: Source::Evidence(Box::new((results, profiles))),
        }
    }

    /// The name that it was asked for by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether both hold the same numbers and records, whatever they are called.
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (Source::Evidence(a), Source::Evidence(b)) => a == b,
            (Source::Published(a), Source::Published(b)) => a == b,
            _ => false,
        }
    }

    /// Name, GPU and date.
    pub fn words(&self) -> String {
        match self.results() {
            Some(results) => {
                let date = results.utc.split('T').next().unwrap_or(&results.utc);
                format!("{}, {}, {date}", self.name, results.gpu)
            }
            None => format!("{}, {}", self.name, self.gpu()),
        }
    }

    /// The results file, where the side is evidence.
    pub fn results(&self) -> Option<&Results> {
        match &self.source {
            Source::Evidence(both) => Some(&both.0),
            Source::Published(_) => None,
        }
    }

    /// The profiles file, where the side is evidence.
    pub fn profiles(&self) -> Option<&Profiles> {
        match &self.source {
            Source::Evidence(both) => Some(&both.1),
            Source::Published(_) => None,
        }
    }

    /// The experiment, for commands that measure it again.
    pub fn experiment(&self) -> &str {
        match &self.source {
            Source::Evidence(both) => both.0.provenance.as_ref().map_or_else(
                || both.0.experiment_id.trim_end_matches("-comparison"),
                |provenance| &provenance.experiment,
            ),
            Source::Published(published) => &published.namespace,
        }
    }

    /// The GPU's name.
    pub fn gpu(&self) -> &str {
        match &self.source {
            Source::Evidence(both) => &both.0.gpu,
            Source::Published(published) => &published.gpu,
        }
    }

    /// Driver version, where it was recorded.
    pub fn driver(&self) -> Option<&str> {
        Some(&self.results()?.provenance.as_ref()?.device.driver)
    }

    /// Operations with their dims, in order.
    pub fn operations(&self) -> Vec<(Operation, &[u32])> {
        match &self.source {
            Source::Evidence(both) => both
                .0
                .results
                .iter()
                .map(|op| (op.op, op.dims.as_slice()))
                .collect(),
            Source::Published(published) => published
                .rows
                .iter()
                .map(|row| (row.op, row.dims.as_slice()))
                .collect(),
        }
    }

    /// Dims of an operation.
    pub fn dims(&self, operation: Operation) -> Option<&[u32]> {
        self.operations()
            .into_iter()
            .find_map(|(op, dims)| (op == operation).then_some(dims))
    }

    /// All implementations, in the order in which they are shown.
    pub fn implementations(&self) -> Vec<String> {
        match &self.source {
            Source::Evidence(both) => both.0.implementations(),
            Source::Published(published) => {
                let mut names: Vec<String> = Vec::new();
                for name in published
                    .rows
                    .iter()
                    .flat_map(|row| row.measurements.keys())
                {
                    if !names.contains(name) {
                        names.push(name.clone());
                    }
                }
                implementation::sort(&mut names);
                names
            }
        }
    }

    /// The kernel variant of a case, where it was recorded.
    pub fn variant(&self, operation: Operation, implementation: &str) -> Option<&str> {
        let op = self.results()?.results.iter().find(|r| r.op == operation)?;
        op.rounds
            .first()?
            .implementations
            .get(implementation)?
            .kernel
            .as_deref()
    }

    /// Whether the case was measured at all.
    pub fn has(&self, operation: Operation, implementation: &str) -> bool {
        match &self.source {
            Source::Evidence(both) => both.0.results.iter().any(|r| {
                r.op == operation
                    && r.rounds
                        .iter()
                        .any(|round| round.implementations.contains_key(implementation))
            }),
            Source::Published(_) => self.published(operation, implementation).is_some(),
        }
    }

    /// Event spans of a case.
    ///
    /// # Errors
    /// [`Invalid`] on samples that have no median.
    pub fn spans(
        &self,
        operation: Operation,
        implementation: &str,
    ) -> Result<Option<Spans>, Invalid> {
        let Some(results) = self.results() else {
            return Ok(self.published(operation, implementation).map(|v| Spans {
                rounds_us: vec![v.event],
                mean_us: v.event,
                tick_us: None,
                throttled: Vec::new(),
            }));
        };
        let Some(op) = results.results.iter().find(|r| r.op == operation) else {
            return Ok(None);
        };
        let mut all = Vec::new();
        let mut rounds_us = Vec::new();
        let mut throttled = BTreeSet::new();
        for round in &op.rounds {
            throttled.extend(round.gpu_state.throttling());
            if let Some(case) = round.implementations.get(implementation) {
                rounds_us.push(stats::median(&case.samples_us)?);
                all.extend_from_slice(&case.samples_us);
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        Ok(Some(Spans {
            rounds_us,
            mean_us: stats::mean(&all)?,
            tick_us: Some(stats::tick(&all)),
            throttled: throttled.into_iter().collect(),
        }))
    }

    /// Kernels of a case. Captures of one case that differ in their launches are an error of the evidence.
    ///
    /// # Errors
    /// [`Invalid`] naming the case.
    pub fn kernels(
        &self,
        operation: Operation,
        implementation: &str,
    ) -> Result<Option<Kernels>, Invalid> {
        let Some(profiles) = self.profiles() else {
            return Ok(self.published(operation, implementation).map(|v| Kernels {
                captures_us: vec![v.kernel],
                launches: v.launches,
                resources: None,
                launched: BTreeSet::new(),
            }));
        };
        let captures: Vec<_> = profiles.case(operation, implementation).collect();
        let Some(first) = captures.first() else {
            return Ok(None);
        };
        if let Some(other) = captures.iter().find(|c| c.launches != first.launches) {
            return Err(Invalid::new(
                format!("captures of {operation} {implementation}"),
                format!("{} and {} launches", first.launches, other.launches),
                "the same number in each capture",
            ));
        }
        let launched = captures
            .iter()
            .flat_map(|c| &c.kernel_metrics)
            .map(|row| {
                format!(
                    "{} grid {} block {} registers {} shared {}",
                    row.kernel_name,
                    row.grid_size,
                    row.block_size,
                    row.registers_per_thread,
                    row.shared_mem_bytes
                )
            })
            .collect();
        Ok(Some(Kernels {
            captures_us: captures.iter().map(|c| c.kernel_time()).collect(),
            launches: first.launches,
            resources: first.resources(),
            launched,
        }))
    }

    fn published(&self, operation: Operation, implementation: &str) -> Option<Values> {
        match &self.source {
            Source::Evidence(_) => None,
            Source::Published(published) => published
                .rows
                .iter()
                .find(|row| row.op == operation)?
                .measurements
                .get(implementation)
                .copied(),
        }
    }
}
