//! What the executor counted against what the hardware counted, quantity by quantity. Exact where both mean the
//! same; every difference has an explanation, kept as data in `explanations.toml`.

use super::metrics::{self, QUANTITIES};
use super::stored::Stored;
use crate::report::Entry;
use mage_evidence::Invalid;
use mage_kernels::{objects, variants};
use serde::{Deserialize, Serialize};

/// Where the explanations stand, relative to the workspace.
pub const EXPLANATIONS: &str = "crates/structure/explanations.toml";

/// A stored run against the counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Name of the run below `artifacts/`.
    pub run: String,
    /// When it was read, UTC.
    pub utc: String,
    /// Product name of the GPU.
    pub device: String,
    /// Its driver.
    pub driver: String,
    /// Version line of Nsight Compute.
    pub ncu: String,
    /// Each variant of the report.
    pub variants: Vec<Compared>,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// The variant.
    pub variant: String,
    /// Why it is not compared, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Each quantity that was read.
    pub rows: Vec<Row>,
}

/// One quantity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Which, [`metrics::find`].
    pub quantity: String,
    /// The counter, with its instance.
    pub metric: String,
    /// What the executor counted.
    pub counted: u64,
    /// What the hardware counted.
    pub counter: u64,
    /// Why they differ, where they do and somebody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl Row {
    /// Whether both counted the same.
    pub fn equal(&self) -> bool {
        self.counted == self.counter
    }
}

impl Comparison {
    /// Rows that differ and that nobody explained, as `variant: quantity`.
    pub fn unexplained(&self) -> Vec<String> {
        let rows = self.variants.iter().flat_map(|compared| {
            let open = |row: &&Row| !row.equal() && row.because.is_none();
            let of = |row: &Row| format!("{}: {}", compared.variant, row.quantity);
            compared.rows.iter().filter(open).map(of)
        });
        rows.collect()
    }
}

/// One explanation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    run: String,
    quantity: String,
    variants: Vec<String>,
    because: String,
}

impl Explanation {
    /// The run that it is of.
    pub fn run(&self) -> &str {
        &self.run
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Explanations {
    #[serde(default)]
    explanation: Vec<Explanation>,
}

/// Reads explanations.
///
/// # Errors
/// [`Invalid`] naming the line, or the field of one that names no quantity, no variant or no reason.
pub fn explanations(text: &str) -> Result<Vec<Explanation>, Invalid> {
    let all: Explanations = toml::from_str(text).map_err(|error| {
        Invalid::new("", error.to_string().trim_end(), "tables [[explanation]]")
    })?;
    for (i, explanation) in all.explanation.iter().enumerate() {
        let refused = |field: &str, found: &str, expected: &str| {
            Err(Invalid::new(
                format!("explanation[{i}].{field}"),
                format!("{found:?}"),
                expected,
            ))
        };
        if metrics::find(&explanation.quantity).is_none() {
            let known: Vec<&str> = QUANTITIES.iter().map(|quantity| quantity.id).collect();
            let known = format!("one of {}", known.join(", "));
            return refused("quantity", &explanation.quantity, &known);
        }
        if explanation.because.trim().is_empty() {
            return refused("because", &explanation.because, "a reason");
        }
        if explanation.variants.is_empty() {
            return refused("variants", "", "at least one variant");
        }
        if let Some(unknown) = explanation
            .variants
            .iter()
            .find(|id| variants::find(id).is_none())
        {
            return refused("variants", unknown, "known variants");
        }
    }
    Ok(all.explanation)
}

/// Holds a stored run against the entries of a report.
///
/// # Errors
/// [`Invalid`]: an explanation of a row of this run that is equal, or that two explanations share.
pub fn compare(
    stored: &Stored,
    entries: &[Entry],
    explanations: &[Explanation],
) -> Result<Comparison, Invalid> {
    let variants = entries.iter().map(|entry| compared(stored, entry));
    let mut comparison = Comparison {
        run: stored.name.clone(),
        utc: stored.run.utc.clone(),
        device: stored.run.device.name.clone(),
        driver: stored.run.device.driver.clone(),
        ncu: stored.run.ncu.clone(),
        variants: variants.collect(),
    };
    for (i, explanation) in explanations.iter().enumerate() {
        if explanation.run != stored.name {
            continue;
        }
        for variant in &explanation.variants {
            // A report of one operation has not all variants.
            let found = comparison
                .variants
                .iter_mut()
                .find(|c| c.variant == *variant);
            let Some(compared) = found.filter(|compared| compared.left_out.is_none()) else {
                continue;
            };
            let of = |row: &&mut Row| row.quantity == explanation.quantity;
            let refused = |found: &str| {
                let which = format!("{variant}: {}", explanation.quantity);
                Invalid::new(
                    format!("explanation[{i}]"),
                    format!("{which}, {found}"),
                    "a difference without an explanation",
                )
            };
            match compared.rows.iter_mut().find(of) {
                None => return Err(refused("which was not read")),
                Some(row) if row.equal() => return Err(refused("which is equal")),
                Some(row) if row.because.is_some() => return Err(refused("which has one")),
                Some(row) => row.because = Some(explanation.because.trim().to_owned()),
            }
        }
    }
    Ok(comparison)
}

fn compared(stored: &Stored, entry: &Entry) -> Compared {
    let left_out = |reason: &str| Compared {
        variant: entry.variant.clone(),
        left_out: Some(reason.to_owned()),
        rows: Vec::new(),
    };
    let launches = &stored.run.launches;
    let launch = launches
        .iter()
        .find(|launch| launch.variant == entry.variant);
    let (Some(launch), Some(counters)) = (launch, stored.counters.get(&entry.variant)) else {
        return left_out("it was not run");
    };
    if launch.dims != entry.structure.dims {
        return left_out("it was run at other dims");
    }
    let object = objects::ptx(&entry.variant);
    let same = object.is_some_and(|object| {
        stored.run.objects_sha256.get(&object.file_name()) == Some(&object.sha256())
    });
    if !same {
        return left_out("its object has changed since");
    }
    let rows = QUANTITIES.iter().filter_map(|quantity| {
        // An opcode that was never executed is not listed, where opcodes were.
        let total = *counters.get(quantity.metric)?;
        let (metric, counter) = match quantity.instance {
            None => (quantity.metric.to_owned(), total),
            Some(instance) => {
                let name = format!("{}[{instance}]", quantity.metric);
                let value = counters.get(&name).copied().unwrap_or(0);
                (name, value)
            }
        };
        Some(Row {
            quantity: quantity.id.to_owned(),
            metric,
            counted: (quantity.counted)(entry),
            counter,
            because: None,
        })
    });
    Compared {
        variant: entry.variant.clone(),
        left_out: None,
        rows: rows.collect(),
    }
}
