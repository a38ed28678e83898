//! Values published elsewhere, without samples: the original note's tables.

use crate::error::Invalid;
use crate::operation::Operation;
use crate::store::{self, StoreError};
use indexmap::IndexMap;
use serde::Deserialize;
use std::path::Path;

/// The published values of one run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Published {
    /// Its namespace in the original project.
    pub namespace: String,
    /// Where the values come from.
    pub source: String,
    /// GPU name.
    pub gpu: String,
    /// Rounds.
    pub rounds: u32,
    /// Samples of each case, all rounds together.
    pub samples_per_case: u32,
    /// One row an operation.
    pub rows: Vec<Row>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Row {
    /// Which operation.
    pub op: Operation,
    /// Its label.
    pub label: String,
    /// Its dims.
    pub dims: Vec<u32>,
    /// Values by implementation.
    pub measurements: IndexMap<String, Values>,
}

/// Microseconds an operation.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Values {
    /// Mean of all event spans.
    pub event: f64,
    /// Smallest of the round means.
    pub event_min: f64,
    /// Largest of the round means.
    pub event_max: f64,
    /// Kernel time.
    pub kernel: f64,
    /// Kernel launches.
    pub launches: u32,
}

impl Published {
    /// Reads and checks a file of published values.
    ///
    /// # Errors
    /// [`StoreError`] naming the file and the field.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let published: Self = store::read_json(path)?;
        for (i, row) in published.rows.iter().enumerate() {
            for (name, v) in &row.measurements {
                let positive = [v.event, v.event_min, v.event_max, v.kernel]
                    .iter()
                    .all(|t| t.is_finite() && *t > 0.0);
                if !positive || v.launches == 0 {
                    return Err(Invalid::new(
                        format!("rows[{i}].measurements.{name}"),
                        format!("{v:?}"),
                        "finite times above 0 and at least one launch",
                    )
                    .in_file(path)
                    .into());
                }
            }
        }
        Ok(published)
    }
}
