//! A report made elsewhere, as one summary: kernel time, launches, rows.

use crate::attribute::{self, Expected, Times};
use crate::{csv, sqlite};
use mage_evidence::Invalid;
use mage_evidence::artifact::{Kernel, launches};
use serde::Serialize;
use std::path::Path;

/// The largest file that is read as text, in bytes.
const MAX_TEXT: u64 = 1 << 30;

/// How a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// By its first bytes and its name.
    Guess,
    /// As the text of `nsys stats -f csv`.
    Csv,
}

/// What a report says of its kernels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `sqlite`, `cuda_gpu_trace` or `cuda_gpu_kern_sum`.
    pub source: String,
    /// Calls that the report holds, as given.
    pub iterations: u32,
    /// Sum of all durations over the iterations, in microseconds.
    pub kernel_time_us: f64,
    /// Time an iteration during which at least one kernel ran, in microseconds, where starts are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel_union_us: Option<f64>,
    /// Kernels an iteration.
    pub launches: u32,
    /// Streams that kernels ran on, where they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<usize>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// One row a launch, or a kernel in a `cuda_gpu_kern_sum`.
    pub rows: Vec<Row>,
}

/// One row of a summary. What the report does not say exactly is absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The kernel's name.
    pub name: String,
    /// Launches that the row stands for.
    pub count: u64,
    /// Duration of all of them in nanoseconds.
    pub total_ns: u64,
    /// Start in nanoseconds after the first kernel's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// Blocks in x, y, z.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grid: Option<[u32; 3]>,
    /// Threads a block in x, y, z.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<[u32; 3]>,
    /// Registers a thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registers: Option<u32>,
    /// Static shared memory a block in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_shared_bytes: Option<u32>,
    /// Dynamic shared memory a block in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_shared_bytes: Option<u32>,
    /// Stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// Iteration whose range it was launched in, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
}

/// Reads the report in `path` as one of `iterations` calls.
///
/// # Errors
/// [`Invalid`] naming the file: not a report, damaged, or of kernels that do not divide into equal
/// iterations.
pub fn read(
    path: &Path,
    format: Format,
    iterations: u32,
    allowed_outside: &[String],
) -> Result<Summary, Invalid> {
    let summary = if is_sqlite(path, format) {
        let report = sqlite::read(path)?;
        from_sqlite(&report, iterations, allowed_outside)
    } else {
        let bytes = text_of(path)?;
        from_csv(&bytes, iterations)
    };
    summary.map_err(|invalid| invalid.in_file(path))
}

fn is_sqlite(path: &Path, format: Format) -> bool {
    let mut start = [0; sqlite::MAGIC.len()];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    let named = path
        .extension()
        .is_some_and(|extension| extension == "sqlite" || extension == "db");
    format == Format::Guess && (named || read.is_ok() && start == *sqlite::MAGIC)
}

fn text_of(path: &Path) -> Result<Vec<u8>, Invalid> {
    let wrong = |found: String, expected: &str| Invalid::new("", found, expected).in_file(path);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if ["nsys-rep", "qdrep", "qdstrm"].contains(&extension) {
        return Err(wrong(
            format!("a raw report (.{extension})"),
            "an SQLite export or CSV text",
        )
        .help("run `nsys export --type sqlite` on it first"));
    }
    let read = || -> std::io::Result<Vec<u8>> {
        let file = std::fs::File::open(path)?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_TEXT + 1), &mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| wrong(error.to_string(), "a file that can be read"))?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(wrong(
            format!("more than {MAX_TEXT} bytes"),
            "the text of one capture",
        ));
    }
    Ok(bytes)
}

/// The summary of an SQLite export's rows.
///
/// # Errors
/// [`Invalid`] as [`attribute::attribute`].
pub fn from_sqlite(
    report: &sqlite::Report,
    iterations: u32,
    allowed_outside: &[String],
) -> Result<Summary, Invalid> {
    let expected = Expected {
        iterations,
        case: None,
        ranges_required: false,
        allowed_outside,
    };
    let found = attribute::attribute(report, &expected)?;
    let rows = found
        .kernels
        .into_iter()
        .map(|kernel| Row {
            name: kernel.name,
            count: 1,
            total_ns: kernel.duration_ns,
            start_ns: Some(kernel.start_ns),
            grid: Some(kernel.grid),
            block: Some(kernel.block),
            registers: Some(kernel.registers),
            static_shared_bytes: Some(kernel.static_shared_bytes),
            dynamic_shared_bytes: Some(kernel.dynamic_shared_bytes),
            stream: Some(kernel.stream),
            iteration: kernel.iteration,
        })
        .collect();
    Ok(Summary {
        source: "sqlite".to_string(),
        iterations,
        kernel_time_us: per_iteration_us(found.times.sum_ns, iterations),
        kernel_union_us: Some(per_iteration_us(found.times.union_ns, iterations)),
        launches: found.launches,
        streams: Some(found.times.streams),
        notes: found.notes,
        rows,
    })
}

/// The summary of the text of `nsys stats -f csv`.
///
/// # Errors
/// [`Invalid`] as [`csv::parse`], and where a kernel does not divide into equal iterations.
pub fn from_csv(bytes: &[u8], iterations: u32) -> Result<Summary, Invalid> {
    let mut table = csv::parse(bytes)?;
    table.rows.sort_by_key(|row| row.start_ns);
    let mut counts: Vec<(&csv::Row, u64)> = Vec::new();
    let (mut kernels, mut sum_ns) = (0u64, 0u64);
    for row in &table.rows {
        let same = |known: &csv::Row| {
            (&known.name, known.grid, known.block, known.registers)
                == (&row.name, row.grid, row.block, row.registers)
        };
        match counts.iter_mut().find(|(known, _)| same(known)) {
            Some((_, count)) => *count += row.count,
            None => counts.push((row, row.count)),
        }
        kernels += row.count;
        sum_ns = sum_ns.checked_add(row.total_ns).ok_or_else(|| {
            Invalid::new(
                "rows",
                "times that add up to more than 2^64 ns",
                "times of one capture",
            )
        })?;
    }
    let launches = launches(usize::try_from(kernels).unwrap_or(usize::MAX), iterations)?;
    if let Some((row, count)) = counts
        .iter()
        .find(|(_, count)| !count.is_multiple_of(u64::from(iterations)))
    {
        return Err(Invalid::new(
            "rows",
            format!(
                "{:?} {count} times in {iterations} iterations",
                crate::text::short(&row.name, 120)
            ),
            "the same kernels in every iteration",
        )
        .help(
            "see that --iterations is what was captured, and that nothing else ran in the capture",
        ));
    }
    let times = trace_times(&table)?;
    let mut notes = table.notes;
    notes.push("CSV has no ranges and no calls: kernels are counted, not attributed".into());
    notes.extend(times.and_then(|times| times.note(iterations)));
    let first = table.rows.first().and_then(|row| row.start_ns).unwrap_or(0);
    let rows = table
        .rows
        .into_iter()
        .map(|row| Row {
            name: row.name,
            count: row.count,
            total_ns: row.total_ns,
            start_ns: row.start_ns.map(|start| start - first),
            grid: row.grid,
            block: row.block,
            registers: row.registers,
            static_shared_bytes: row.static_shared_bytes,
            dynamic_shared_bytes: row.dynamic_shared_bytes,
            stream: row.stream,
            iteration: None,
        })
        .collect();
    Ok(Summary {
        source: table.kind.to_string(),
        iterations,
        kernel_time_us: per_iteration_us(sum_ns, iterations),
        kernel_union_us: times.map(|times| per_iteration_us(times.union_ns, iterations)),
        launches,
        streams: times.map(|times| times.streams),
        notes,
        rows,
    })
}

/// Sum, union and streams, where every row has a start.
fn trace_times(table: &csv::Table) -> Result<Option<Times>, Invalid> {
    let kernels: Option<Vec<Kernel>> = table
        .rows
        .iter()
        .map(|row| {
            Some(Kernel {
                name: String::new(),
                start_ns: row.start_ns?,
                duration_ns: row.total_ns,
                grid: [1; 3],
                block: [1; 3],
                registers: 0,
                static_shared_bytes: 0,
                dynamic_shared_bytes: 0,
                stream: row.stream?,
                iteration: None,
            })
        })
        .collect();
    let Some(kernels) = kernels else {
        return Ok(None);
    };
    let streams: std::collections::HashSet<u32> = kernels.iter().map(|k| k.stream).collect();
    attribute::times(&kernels, streams.len()).map(Some)
}

fn per_iteration_us(ns: u64, iterations: u32) -> f64 {
    ns as f64 / 1000.0 / f64::from(iterations)
}
