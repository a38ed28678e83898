//! Kernel rows from the text of `nsys stats -f csv`, for the reports `cuda_gpu_trace` (one row a launch)
//! and `cuda_gpu_kern_sum` with or without grid and block columns (one row a kernel).
//!
//! Columns are found by name, times are read by the unit in the heading, and only the lines that `nsys`
//! is known to print before a table are passed over. Shared memory is printed in rounded megabytes:
//! exact bytes are only in the SQLite export, so rounded ones are left out.

use crate::sqlite::MAX_DURATION_NS;
use crate::text;
use csv::StringRecord;
use mage_evidence::Invalid;
use std::fmt;

/// Which report of `nsys stats` the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One row a launch.
    Trace,
    /// One row a kernel.
    Summary,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trace => "cuda_gpu_trace",
            Self::Summary => "cuda_gpu_kern_sum",
        })
    }
}

/// One row, in nanoseconds, bytes and counts; what the text does not say exactly is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The kernel's name.
    pub name: String,
    /// Launches that the row stands for: 1 in a trace.
    pub count: u64,
    /// Duration of all of them in nanoseconds.
    pub total_ns: u64,
    /// Start in nanoseconds on the report's clock, in a trace.
    pub start_ns: Option<u64>,
    /// Blocks in x, y, z.
    pub grid: Option<[u32; 3]>,
    /// Threads a block in x, y, z.
    pub block: Option<[u32; 3]>,
    /// Registers a thread.
    pub registers: Option<u32>,
    /// Static shared memory a block in bytes.
    pub static_shared_bytes: Option<u32>,
    /// Dynamic shared memory a block in bytes.
    pub dynamic_shared_bytes: Option<u32>,
    /// Stream.
    pub stream: Option<u32>,
}

/// A whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Which report it is.
    pub kind: Kind,
    /// Its rows in the text's order; at least one.
    pub rows: Vec<Row>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Reads the text of one report.
///
/// # Errors
/// [`Invalid`] where the text is not UTF-8, holds no known table, ends inside a line, or has a row that
/// does not fit its heading.
pub fn parse(bytes: &[u8]) -> Result<Table, Invalid> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Invalid::new(
            "",
            format!("bytes that are not UTF-8 ({error})"),
            "the text of nsys stats",
        )
        .help("redirect the output in UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut notes = Vec::new();
    let (line, body) = skip_preamble(text, &mut notes)?;
    whole(body)?;
    let mut reader = csv::ReaderBuilder::new()
        .flexible(true)
        .from_reader(body.as_bytes());
    let heading = reader.headers().map_err(|e| unreadable(&e, line))?.clone();
    let columns = Columns::new(&heading, line)?;
    let mut rows = Vec::new();
    let mut memory_operations = 0u64;
    for record in reader.records() {
        let record = record.map_err(|e| unreadable(&e, line))?;
        let at = record.position().map_or(0, csv::Position::line) + line - 1;
        let cells = Cells {
            record: &record,
            columns: &columns,
            line: at,
        };
        cells.check_width(heading.len())?;
        match cells.row()? {
            Some(row) => rows.push(row),
            None => memory_operations += 1,
        }
    }
    if rows.is_empty() {
        return Err(
            Invalid::new("", "a heading without kernels", "at least one kernel")
                .help("the capture range never opened, or no kernel ran in it"),
        );
    }
    if memory_operations > 0 {
        notes.push(format!(
            "{memory_operations} copies and fills; they are no kernels and not in the kernel time"
        ));
    }
    notes.extend(columns.notes(&rows));
    Ok(Table {
        kind: columns.kind,
        rows,
        notes,
    })
}

/// Passes over what `nsys stats` prints before a table; gives the number of the heading's line and the
/// text from there on.
fn skip_preamble<'t>(text: &'t str, notes: &mut Vec<String>) -> Result<(u64, &'t str), Invalid> {
    const KNOWN: [&str; 10] = [
        "Generating SQLite file",
        "Exporting data to SQLite",
        "Processing ",
        "Exporting [",
        "Using ",
        "NOTICE:",
        "It is assumed file was previously exported from",
        "Consider using --force-export",
        "Importing [",
        "Loaded ",
    ];
    let mut rest = text;
    let mut number = 1;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = line.trim();
        if trimmed.contains("Existing SQLite export found") && trimmed.starts_with("WARNING") {
            return Err(
                at_line(number, trimmed, "a table made from the report itself")
                    .help("run nsys stats again with --force-export=true"),
            );
        }
        if trimmed.contains("Existing SQLite export found") {
            notes.push("nsys stats read an SQLite export that was there already: it may be of another capture".into());
        }
        let said = ["SKIPPED", "ERROR", "FATAL", "WARNING"];
        if said.iter().any(|word| trimmed.starts_with(word)) {
            return Err(at_line(number, trimmed, "a table of kernels")
                .help("the capture range never opened, or no kernel ran in it: capture again"));
        }
        if !trimmed.is_empty() && !KNOWN.iter().any(|known| trimmed.starts_with(known)) {
            return Ok((number, rest));
        }
        rest = after;
        number += 1;
    }
    Err(Invalid::new(
        "",
        "no table",
        "the heading of cuda_gpu_trace or cuda_gpu_kern_sum",
    )
    .help("write the text with `nsys stats -r cuda_gpu_trace -f csv`"))
}

fn at_line(number: u64, found: &str, expected: &str) -> Invalid {
    Invalid::new(
        format!("line {number}"),
        format!("{:?}", text::short(found, 160)),
        expected,
    )
}

/// Refuses a text that was cut: inside a line or inside quotes.
fn whole(body: &str) -> Result<(), Invalid> {
    let cut = if !body.ends_with('\n') {
        "a last line without its end"
    } else if !body
        .bytes()
        .filter(|&b| b == b'"')
        .count()
        .is_multiple_of(2)
    {
        "a quote that is never closed"
    } else {
        return Ok(());
    };
    Err(Invalid::new("", cut, "a whole table").help("write the text again"))
}

fn unreadable(error: &csv::Error, line: u64) -> Invalid {
    Invalid::new(
        format!("table at line {line}"),
        text::short(&error.to_string(), 160),
        "CSV",
    )
}

/// A column: its place, its heading, and the unit in it.
#[derive(Debug, Clone)]
struct Column {
    place: usize,
    heading: String,
    unit: String,
}

/// The columns that are read.
struct Columns {
    kind: Kind,
    name: Column,
    /// Total Time or Duration.
    time: Column,
    scale: u64,
    instances: Option<Column>,
    average: Option<(Column, u64)>,
    start: Option<(Column, u64)>,
    /// One column "x y z" each, or three.
    grid: Vec<Column>,
    block: Vec<Column>,
    registers: Option<Column>,
    static_shared: Option<Column>,
    dynamic_shared: Option<Column>,
    stream: Option<Column>,
}

impl Columns {
    fn new(heading: &StringRecord, line: u64) -> Result<Self, Invalid> {
        let all: Vec<(String, Column)> = heading
            .iter()
            .enumerate()
            .map(|(place, heading)| {
                let (base, unit) = split_unit(heading);
                let column = Column {
                    place,
                    heading: text::short(heading.trim(), 60),
                    unit,
                };
                (base, column)
            })
            .collect();
        let find = |names: &[&str]| -> Result<Option<Column>, Invalid> {
            let mut found = all
                .iter()
                .filter(|(base, _)| names.contains(&base.as_str()));
            let first = found.next().map(|(_, column)| column.clone());
            match found.next() {
                Some((_, second)) => Err(at_line(
                    line,
                    &format!("two columns {}", second.heading),
                    "each column once",
                )),
                None => Ok(first),
            }
        };
        let unknown = || {
            at_line(
                line,
                &heading.iter().collect::<Vec<_>>().join(","),
                "the heading of cuda_gpu_trace or cuda_gpu_kern_sum",
            )
            .help("write the text with `nsys stats -r cuda_gpu_trace -f csv`")
        };
        let name = find(&["name"])?.ok_or_else(unknown)?;
        let (kind, time, instances) = match (
            find(&["duration"])?,
            find(&["total time"])?,
            find(&["instances"])?,
        ) {
            (Some(duration), None, None) => (Kind::Trace, duration, None),
            (None, Some(total), Some(instances)) => (Kind::Summary, total, Some(instances)),
            _ => return Err(unknown()),
        };
        // Other reports have these headings too, and count things that are no kernels.
        if kind == Kind::Trace && (find(&["start"])?.is_none() || find(&["grdx"])?.is_none())
            || find(&["category", "operation", "range", "style"])?.is_some()
        {
            return Err(unknown());
        }
        let scale = |column: &Column| {
            scale_of(&column.unit)
                .ok_or_else(|| at_line(line, &column.heading, "a time in (ns), (us), (ms) or (s)"))
        };
        let scaled = |column: Option<Column>| -> Result<Option<(Column, u64)>, Invalid> {
            column
                .map(|column| Ok((column.clone(), scale(&column)?)))
                .transpose()
        };
        let axes = |joined: &str, each: [&str; 3]| -> Result<Vec<Column>, Invalid> {
            if let Some(column) = find(&[joined])? {
                return Ok(vec![column]);
            }
            let mut columns = Vec::new();
            for axis in each {
                columns.extend(find(&[axis])?);
            }
            match columns.len() {
                0 | 3 => Ok(columns),
                _ => Err(unknown()),
            }
        };
        Ok(Self {
            kind,
            scale: scale(&time)?,
            average: scaled(find(&["avg", "average"])?)?,
            start: match kind {
                Kind::Trace => scaled(find(&["start"])?)?,
                Kind::Summary => None,
            },
            grid: axes("gridxyz", ["grdx", "grdy", "grdz"])?,
            block: axes("blockxyz", ["blkx", "blky", "blkz"])?,
            registers: find(&["reg/trd"])?,
            static_shared: find(&["stcsmem"])?,
            dynamic_shared: find(&["dymsmem"])?,
            stream: find(&["strm"])?,
            name,
            time,
            instances,
        })
    }

    fn notes(&self, rows: &[Row]) -> Vec<String> {
        let mut notes = Vec::new();
        if self.scale > 1 {
            notes.push(format!(
                "times are printed in {}: what is below their last digit is rounded off",
                self.time.unit
            ));
        }
        let rounded = [&self.static_shared, &self.dynamic_shared]
            .into_iter()
            .flatten()
            .any(|column| column.unit != "B");
        if rounded && rows.iter().any(|row| row.dynamic_shared_bytes.is_none()) {
            notes.push("shared memory is printed in rounded units: import the SQLite export for exact bytes".into());
        }
        notes
    }
}

/// `Total Time (ns)` as `total time` and `ns`.
fn split_unit(heading: &str) -> (String, String) {
    let heading = heading.trim();
    let (base, unit) = match heading.strip_suffix(')').and_then(|h| h.rsplit_once('(')) {
        Some((base, unit)) => (base, unit.trim()),
        None => (heading, ""),
    };
    let words: Vec<&str> = base.split_whitespace().collect();
    (words.join(" ").to_lowercase(), unit.to_string())
}

/// Nanoseconds in one of `unit`.
fn scale_of(unit: &str) -> Option<u64> {
    match unit {
        "ns" | "nsec" => Some(1),
        "us" | "usec" | "\u{b5}s" | "\u{3bc}s" => Some(1_000),
        "ms" | "msec" => Some(1_000_000),
        "s" | "sec" => Some(1_000_000_000),
        _ => None,
    }
}

/// One row's cells, with the words for what is wrong with them.
struct Cells<'a> {
    record: &'a StringRecord,
    columns: &'a Columns,
    line: u64,
}

impl Cells<'_> {
    fn check_width(&self, expected: usize) -> Result<(), Invalid> {
        let found = self.record.len();
        if found == expected {
            return Ok(());
        }
        Err(Invalid::new(
            format!("line {}", self.line),
            format!("{found} cells"),
            format!("{expected}, as in the heading"),
        )
        .help(
            "the text was cut, or holds more than one table: write it again, one report at a time",
        ))
    }

    /// The row, or none where it is a copy or a fill.
    fn row(&self) -> Result<Option<Row>, Invalid> {
        let c = self.columns;
        let name = self.cell(&c.name);
        if c.kind == Kind::Trace
            && name.starts_with("[CUDA mem")
            && self.cell(&c.grid[0]).is_empty()
        {
            return Ok(None);
        }
        if name.is_empty() {
            return Err(self.wrong(&c.name, "a kernel's name"));
        }
        let total_ns = self.time(&c.time, c.scale)?;
        let count = match &c.instances {
            Some(column) => self.number(column, 1, u64::from(u32::MAX))?,
            None => 1,
        };
        let limit = MAX_DURATION_NS.saturating_mul(count);
        if !(count..=limit).contains(&total_ns) {
            return Err(self.wrong(&c.time, "at least 1 ns and at most an hour a launch"));
        }
        if let (Kind::Summary, Some((column, scale))) = (c.kind, &c.average) {
            self.check_average(column, *scale, count, total_ns)?;
        }
        Ok(Some(Row {
            name: name.to_string(),
            count,
            total_ns,
            start_ns: match &c.start {
                Some((column, scale)) => Some(self.time(column, *scale)?),
                None => None,
            },
            grid: self.axes(&c.grid)?,
            block: self.axes(&c.block)?,
            registers: self.optional(&c.registers)?,
            static_shared_bytes: self.bytes(&c.static_shared)?,
            dynamic_shared_bytes: self.bytes(&c.dynamic_shared)?,
            stream: self.optional(&c.stream)?,
        }))
    }

    fn cell(&self, column: &Column) -> &str {
        self.record.get(column.place).unwrap_or_default()
    }

    fn wrong(&self, column: &Column, expected: &str) -> Invalid {
        Invalid::new(
            format!("line {}, {}", self.line, column.heading),
            format!("{:?}", text::short(self.cell(column), 80)),
            expected,
        )
    }

    fn number(&self, column: &Column, low: u64, high: u64) -> Result<u64, Invalid> {
        let value = digits(self.cell(column).trim()).filter(|n| (low..=high).contains(n));
        value.ok_or_else(|| self.wrong(column, &format!("a whole number, {low} to {high}")))
    }

    fn small(&self, column: &Column, low: u64) -> Result<u32, Invalid> {
        let value = self.number(column, low, u64::from(u32::MAX))?;
        u32::try_from(value).map_err(|_| self.wrong(column, "a smaller number"))
    }

    fn optional(&self, column: &Option<Column>) -> Result<Option<u32>, Invalid> {
        column
            .as_ref()
            .map(|column| self.small(column, 0))
            .transpose()
    }

    /// Shared memory; only bytes are exact.
    fn bytes(&self, column: &Option<Column>) -> Result<Option<u32>, Invalid> {
        match column {
            Some(column) if column.unit == "B" => self.small(column, 0).map(Some),
            _ => Ok(None),
        }
    }

    /// A time in nanoseconds, rounded where the text is finer.
    fn time(&self, column: &Column, scale: u64) -> Result<u64, Invalid> {
        decimal(self.cell(column).trim(), scale)
            .ok_or_else(|| self.wrong(column, "a time as digits, at most 2^63 ns"))
    }

    fn axes(&self, columns: &[Column]) -> Result<Option<[u32; 3]>, Invalid> {
        match columns {
            [joined] => {
                let words: Vec<&str> = self.cell(joined).split_whitespace().collect();
                let axis = |i: usize| {
                    let value = words.get(i).and_then(|word| digits(word))?;
                    u32::try_from(value).ok().filter(|value| *value > 0)
                };
                match (words.len(), axis(0), axis(1), axis(2)) {
                    (3, Some(x), Some(y), Some(z)) => Ok(Some([x, y, z])),
                    _ => Err(self.wrong(joined, "three whole numbers of at least 1")),
                }
            }
            [x, y, z] => Ok(Some([
                self.small(x, 1)?,
                self.small(y, 1)?,
                self.small(z, 1)?,
            ])),
            _ => Ok(None),
        }
    }

    /// The average times the instances is the total, but for what printing rounds off.
    fn check_average(
        &self,
        column: &Column,
        scale: u64,
        count: u64,
        total_ns: u64,
    ) -> Result<(), Invalid> {
        let text = self.cell(column).trim();
        let decimals = text.split_once('.').map_or(0, |(_, after)| after.len());
        let step = scale as f64 / 10f64.powi(decimals.min(20) as i32);
        let average = decimal(text, scale)
            .and_then(|_| text.parse::<f64>().ok())
            .ok_or_else(|| self.wrong(column, "a time as digits"))?;
        let expected = average * scale as f64 * count as f64;
        let slack = step * count as f64 + self.columns.scale as f64;
        if (expected - total_ns as f64).abs() > slack {
            return Err(self.wrong(
                column,
                &format!(
                    "{} {}, the total over the instances",
                    total_ns as f64 / count as f64 / scale as f64,
                    column.unit
                ),
            ));
        }
        Ok(())
    }
}

/// ASCII digits alone.
fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// `12.5` of a unit of `scale` nanoseconds, as nanoseconds, half a nanosecond rounded up.
fn decimal(text: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = digits(whole)?.checked_mul(scale)?;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Beyond eighteen digits nothing is left of a nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    let unit = 10u128.pow(fraction.len() as u32);
    let part = (u128::from(digits(fraction)?) * u128::from(scale) * 2 + unit) / (unit * 2);
    let total = whole.checked_add(u64::try_from(part).ok()?)?;
    (total <= i64::MAX as u64).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_in_every_unit() {
        for (text, scale, ns) in [
            ("7000", 1, 7000),
            ("7.000", 1_000, 7000),
            ("0.007", 1_000_000, 7000),
            ("0.000007000", 1_000_000_000, 7000),
            ("55504.5", 1, 55505),
            ("0.0004", 1_000, 0),
        ] {
            assert_eq!(decimal(text, scale), Some(ns), "{text}");
        }
        for bad in [
            "",
            "-1",
            "1,000",
            "1e3",
            "nan",
            "1.",
            ".5",
            "0x1",
            "9223372036854775808",
            "99999999999999999999",
        ] {
            assert_eq!(decimal(bad, 1), None, "{bad}");
        }
    }
}
