//! The wide table of `ncu --csv --page raw`: a row of names, a row of units, one row a launch. Lines of `ncu` itself
//! and of the program may stand around it.

use mage_evidence::Invalid;
use std::collections::BTreeMap;

/// Largest text that is read, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// One launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Name of the kernel, as `ncu` prints it.
    pub name: String,
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// All columns by name.
    pub cells: BTreeMap<String, Cell>,
}

/// A value with its unit, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Unit; empty where there is none.
    pub unit: String,
    /// Value.
    pub text: String,
}

impl Row {
    /// A column.
    ///
    /// # Errors
    /// [`Invalid`] naming it, where it is not there.
    pub fn cell(&self, name: &str) -> Result<&Cell, Invalid> {
        self.cells.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.cells.keys().map(String::as_str).collect();
            let found = format!("the columns {}", known.join(", "));
            Invalid::new(name, found, "this column, once")
        })
    }
}

/// Reads the launches of the table, in order; none where it has names and units alone.
///
/// # Errors
/// [`Invalid`] naming the column: no table, rows that are cut short, a column that stands twice, no kernel name or
/// launch shape.
pub fn rows(text: &str) -> Result<Vec<Row>, Invalid> {
    if text.len() > MAX_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(Invalid::new("", found, format!("at most {MAX_BYTES}")));
    }
    let records = records(text)?;
    let [names, units, launches @ ..] = records.as_slice() else {
        return Err(no_table(text));
    };
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            let found = format!("the columns {}", names.join(", "));
            return Err(Invalid::new(name, found, "this column, once"));
        }
    }
    launches
        .iter()
        .map(|launch| {
            let cells = names.iter().zip(units.iter().zip(launch));
            let cells: BTreeMap<String, Cell> = cells
                .map(|(name, (unit, text))| {
                    let (unit, text) = (unit.clone(), text.clone());
                    (name.clone(), Cell { unit, text })
                })
                .collect();
            let mut row = Row {
                name: String::new(),
                grid: [0; 3],
                block: [0; 3],
                cells,
            };
            row.name = row.cell("Kernel Name")?.text.trim().to_owned();
            if row.name.is_empty() {
                return Err(Invalid::new("Kernel Name", "nothing", "a name"));
            }
            row.grid = extent("Grid Size", &row.cell("Grid Size")?.text)?;
            row.block = extent("Block Size", &row.cell("Block Size")?.text)?;
            Ok(row)
        })
        .collect()
}

/// Records of the table, all of one length.
fn records(text: &str) -> Result<Vec<Vec<String>>, Invalid> {
    // ncu quotes every field: what does not begin with a quote is not of the table.
    let start = text.lines().position(|line| line.starts_with("\"ID\","));
    let Some(start) = start else {
        return Err(no_table(text));
    };
    let lines: Vec<&str> = text
        .lines()
        .skip(start)
        .filter(|line| line.starts_with('"'))
        .map(str::trim_end)
        .collect();
    // A field that is cut short has lost its closing quote, and would pass for a shorter number.
    if let Some(cut) = lines.iter().find(|line| !line.ends_with('"')) {
        let end: String = cut.chars().rev().take(40).collect();
        let end: String = end.chars().rev().collect();
        return Err(
            Invalid::new("", format!("a row that ends in {end:?}"), "a closing quote")
                .help("the table was cut short: run ncu again"),
        );
    }
    let table = lines.join("\n");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(table.as_bytes());
    reader
        .records()
        .map(|record| match record {
            Ok(record) => Ok(record.iter().map(str::to_owned).collect()),
            Err(error) => Err(Invalid::new("", error, "rows as long as the first")),
        })
        .collect()
}

fn no_table(text: &str) -> Invalid {
    let error = text.lines().find(|line| line.starts_with("==ERROR=="));
    let found = error.or_else(|| text.lines().next()).unwrap_or("nothing");
    let found: String = found.chars().take(200).collect();
    Invalid::new(
        "",
        format!("{found:?}"),
        "a table of names, units and one launch",
    )
    .help("run ncu with --csv --page raw")
}

/// `(64, 64, 1)`.
fn extent(column: &str, text: &str) -> Result<[u32; 3], Invalid> {
    let inner = text
        .trim()
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'));
    let parts: Option<Vec<u32>> =
        inner.and_then(|inner| inner.split(',').map(|n| n.trim().parse().ok()).collect());
    parts
        .and_then(|parts| parts.try_into().ok())
        .ok_or_else(|| {
            Invalid::new(
                column,
                format!("{text:?}"),
                "three extents, as `(64, 64, 1)`",
            )
        })
}
