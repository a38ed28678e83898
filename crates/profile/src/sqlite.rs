//! Raw rows of an Nsight Systems SQLite export.
//!
//! Tables are created only when they have rows, and both tables and columns change between versions: each
//! one is looked up in the database's own schema, and what is not there is an error that names it. The
//! file may come from anywhere, so views and virtual tables are not read and sizes are bounded.

use crate::text;
use mage_evidence::Invalid;
use mage_evidence::artifact::Kernel;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// First bytes of every SQLite database.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// The longest kernel that is believed, in nanoseconds: one hour.
pub(crate) const MAX_DURATION_NS: u64 = 3_600_000_000_000;
/// The most rows that are read of one table.
const MAX_ROWS: usize = 20_000_000;

const KERNELS: &str = "CUPTI_ACTIVITY_KIND_KERNEL";
const CALLS: &str = "CUPTI_ACTIVITY_KIND_RUNTIME";
const RANGES: &str = "NVTX_EVENTS";
const STRINGS: &str = "StringIds";
const DIAGNOSTICS: &str = "DIAGNOSTIC_EVENT";
/// `Error` in ENUM_DIAGNOSTIC_SEVERITY_LEVEL.
const SEVERITY_ERROR: i64 = 3;
const GRAPHS: &str = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
const MEMORY: [&str; 2] = ["CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"];

/// What one export holds, in its own terms.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Kernels in order of start.
    pub kernels: Vec<KernelRow>,
    /// Calls of the CUDA API; none where they were not traced.
    pub calls: Option<Vec<Call>>,
    /// NVTX ranges; none where no NVTX data was recorded at all.
    pub ranges: Option<Vec<Range>>,
    /// What the profiler said of the capture.
    pub diagnostics: Vec<Diagnostic>,
    /// Graph launches whose kernels were not traced one by one.
    pub graph_traces: u64,
    /// Copies and fills; they are no kernels.
    pub memory_operations: u64,
    /// Version of the export's schema, where it says one.
    pub schema_version: Option<String>,
    /// Version of the GPU driver, where it says one.
    pub driver: Option<String>,
}

/// What the profiler said of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its words.
    pub text: String,
    /// Whether it calls it an error, not information or a warning.
    pub is_error: bool,
}

/// One kernel with what its attribution needs.
#[derive(Debug, Clone)]
pub struct KernelRow {
    /// The launch; its iteration is not known yet.
    pub kernel: Kernel,
    /// Which call launched it.
    pub correlation: Option<i64>,
    /// The process, as Nsight numbers it.
    pub process: Option<i64>,
    /// Device and context.
    pub place: (i64, i64),
    /// Whether a graph launched it.
    pub in_graph: bool,
}

/// One call of the CUDA API.
#[derive(Debug, Clone)]
pub struct Call {
    /// Start in nanoseconds on the report's clock.
    pub start: i64,
    /// Its name, `cudaLaunchKernel_v7000`.
    pub name: String,
    /// Links it to kernels.
    pub correlation: Option<i64>,
    /// The thread, as Nsight numbers it.
    pub thread: Option<i64>,
    /// What it returned; 0 is success.
    pub returned: i64,
}

/// One NVTX range.
#[derive(Debug, Clone)]
pub struct Range {
    /// Its text.
    pub text: String,
    /// Start in nanoseconds on the report's clock.
    pub start: i64,
    /// End in nanoseconds; none where it was open when the capture ended.
    pub end: Option<i64>,
    /// The thread, as Nsight numbers it.
    pub thread: Option<i64>,
}

/// Reads the rows of an export.
///
/// # Errors
/// [`Invalid`] where the file is no database, is damaged, has no kernel table, or holds a row that
/// cannot be.
pub fn read(path: &Path) -> Result<Report, Invalid> {
    read_tables(path).map_err(|invalid| invalid.in_file(path))
}

fn read_tables(path: &Path) -> Result<Report, Invalid> {
    let connection = open(path)?;
    let database = Database::new(&connection)?;
    let strings = database.strings()?;
    Ok(Report {
        kernels: database.kernels(&strings)?,
        calls: database.calls(&strings)?,
        ranges: database.ranges(&strings)?,
        diagnostics: database.diagnostics()?,
        graph_traces: database.count(GRAPHS)?,
        memory_operations: database.count(MEMORY[0])? + database.count(MEMORY[1])?,
        schema_version: database.schema_version(),
        driver: database.driver(),
    })
}

/// Opens read-only and untrusting: nothing is created beside the file, and no function or module that
/// the file names is run.
fn open(path: &Path) -> Result<Connection, Invalid> {
    let mut start = [0; MAGIC.len()];
    let read = std::fs::File::open(path)
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut start));
    match read {
        Ok(()) if start == *MAGIC => {}
        Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
            return Err(Invalid::new("", error, "a file that can be read"));
        }
        _ => {
            return Err(
                Invalid::new("", "no SQLite header", "an SQLite database").help(
                    "make one with `nsys export --type sqlite` from the .nsys-rep that the capture left",
                ),
            );
        }
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path), flags).map_err(damaged)?;
    let prepare = || {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 64 << 20)?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    match prepare() {
        Ok(verdict) if verdict == "ok" => Ok(connection),
        Ok(verdict) => {
            Err(
                Invalid::new("", text::short(&verdict, 200), "a database that is whole")
                    .help("export the report again"),
            )
        }
        Err(error) => Err(damaged(error)),
    }
}

/// The file as a URI that says it does not change: SQLite then leaves no journal beside it.
fn uri(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut uri = "file:".to_string();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

fn damaged(error: rusqlite::Error) -> Invalid {
    Invalid::new(
        "",
        text::short(&error.to_string(), 200),
        "a database that can be read",
    )
    .help("export the report again")
}

struct Database<'c> {
    connection: &'c Connection,
    /// Real tables only.
    tables: Vec<String>,
}

/// A column that is read: its name, and whether the table must have it.
type Column = (&'static str, bool);

impl<'c> Database<'c> {
    fn new(connection: &'c Connection) -> Result<Self, Invalid> {
        let tables = || {
            connection
                .prepare(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND upper(ltrim(sql)) NOT LIKE 'CREATE VIRTUAL%' ORDER BY name",
                )?
                .query_map([], |row| row.get(0))?
                .collect::<Result<Vec<String>, _>>()
        };
        Ok(Self {
            connection,
            tables: tables().map_err(damaged)?,
        })
    }

    fn has(&self, table: &str) -> bool {
        self.tables.iter().any(|name| name == table)
    }

    /// Calls `each` with the values of `columns` of every row, in `order`; absent optional columns are
    /// NULL.
    fn rows(
        &self,
        table: &'static str,
        columns: &[Column],
        order: &str,
        mut each: impl FnMut(&Fields<'_, '_>) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let known = self.columns(table)?;
        let mut selected = Vec::new();
        for (column, required) in columns {
            if known.iter().any(|name| name == column) {
                selected.push(format!("\"{column}\""));
            } else if *required {
                return Err(Invalid::new(
                    table,
                    format!("columns {}", text::short(&known.join(", "), 800)),
                    format!("a column {column}"),
                )
                .help("this version of Nsight Systems exports another schema; say which"));
            } else {
                selected.push("NULL".to_string());
            }
        }
        let query = format!("SELECT {} FROM \"{table}\" {order}", selected.join(", "));
        let mut statement = self.connection.prepare(&query).map_err(damaged)?;
        let mut rows = statement.query([]).map_err(damaged)?;
        let mut number = 0;
        while let Some(row) = rows.next().map_err(damaged)? {
            each(&Fields {
                table,
                number,
                row,
                columns,
            })?;
            number += 1;
            if number > MAX_ROWS {
                return Err(Invalid::new(
                    table,
                    format!("more than {MAX_ROWS} rows"),
                    "fewer",
                ));
            }
        }
        Ok(())
    }

    fn columns(&self, table: &str) -> Result<Vec<String>, Invalid> {
        let columns = || {
            self.connection
                .prepare("SELECT name FROM pragma_table_info(?1)")?
                .query_map([table], |row| row.get(0))?
                .collect::<Result<Vec<String>, _>>()
        };
        columns().map_err(damaged)
    }

    fn strings(&self) -> Result<HashMap<i64, String>, Invalid> {
        let mut strings = HashMap::new();
        if !self.has(STRINGS) {
            return Ok(strings);
        }
        self.rows(STRINGS, &[("id", true), ("value", true)], "", |fields| {
            let (Some(id), Some(value)) = (fields.integer(0)?, fields.text(1)?) else {
                return Ok(());
            };
            match strings.insert(id, value.clone()) {
                Some(before) if before != value => Err(fields.wrong(
                    0,
                    format!(
                        "{id} for {:?} and {:?}",
                        text::short(&before, 80),
                        text::short(&value, 80)
                    ),
                    "one string an id",
                )),
                _ => Ok(()),
            }
        })?;
        Ok(strings)
    }

    fn kernels(&self, strings: &HashMap<i64, String>) -> Result<Vec<KernelRow>, Invalid> {
        if !self.has(KERNELS) {
            return Err(self.no_kernels());
        }
        let columns = [
            ("start", true),
            ("end", true),
            ("demangledName", true),
            ("gridX", true),
            ("gridY", true),
            ("gridZ", true),
            ("blockX", true),
            ("blockY", true),
            ("blockZ", true),
            ("registersPerThread", true),
            ("staticSharedMemory", true),
            ("dynamicSharedMemory", true),
            ("streamId", true),
            ("correlationId", false),
            ("globalPid", false),
            ("deviceId", false),
            ("contextId", false),
            ("graphNodeId", false),
        ];
        let mut starts: Vec<i64> = Vec::new();
        let mut kernels = Vec::new();
        self.rows(KERNELS, &columns, "ORDER BY \"start\", \"end\"", |f| {
            let (start, duration_ns) = f.span(0, 1)?;
            let id = f.required(2)?;
            let name = strings
                .get(&id)
                .filter(|name| !name.is_empty())
                .ok_or_else(|| {
                    f.wrong(
                        2,
                        format!("{id}, which {STRINGS} does not name"),
                        "a kernel's name",
                    )
                })?;
            starts.push(start);
            kernels.push(KernelRow {
                kernel: Kernel {
                    name: name.clone(),
                    start_ns: 0,
                    duration_ns,
                    grid: [f.count(3)?, f.count(4)?, f.count(5)?],
                    block: [f.count(6)?, f.count(7)?, f.count(8)?],
                    registers: f.unsigned(9)?,
                    static_shared_bytes: f.unsigned(10)?,
                    dynamic_shared_bytes: f.unsigned(11)?,
                    stream: f.unsigned(12)?,
                    iteration: None,
                },
                correlation: f.integer(13)?,
                process: f.integer(14)?,
                place: (
                    f.integer(15)?.unwrap_or_default(),
                    f.integer(16)?.unwrap_or_default(),
                ),
                in_graph: f.integer(17)?.is_some_and(|node| node != 0),
            });
            Ok(())
        })?;
        let Some(&first) = starts.first() else {
            return Err(self.no_kernels());
        };
        for (row, start) in kernels.iter_mut().zip(starts) {
            row.kernel.start_ns = start.abs_diff(first);
        }
        Ok(kernels)
    }

    fn no_kernels(&self) -> Invalid {
        let renamed: Vec<&str> = self
            .tables
            .iter()
            .map(String::as_str)
            .filter(|name| *name != KERNELS && name.to_uppercase().contains("KERNEL"))
            .filter(|name| !name.to_uppercase().starts_with("ENUM_"))
            .collect();
        let tables = text::list(self.tables.iter().map(String::as_str));
        if self.has(KERNELS) {
            Invalid::new(KERNELS, "no rows", "at least one kernel")
                .help("the capture range held no kernel: see that the calls run between cuProfilerStart and cuProfilerStop")
        } else if renamed.is_empty() {
            Invalid::new(
                KERNELS,
                format!("no kernel table (tables: {tables})"),
                "rows of kernels",
            )
            .help("the capture range never opened, or no kernel ran in it: see that cuProfilerStart is called and that the program uses the GPU")
        } else {
            Invalid::new(
                KERNELS,
                format!(
                    "no such table, but {} (tables: {tables})",
                    text::list(renamed)
                ),
                "the kernel table under this name",
            )
            .help("this version of Nsight Systems exports another schema; say which")
        }
    }

    fn calls(&self, strings: &HashMap<i64, String>) -> Result<Option<Vec<Call>>, Invalid> {
        if !self.has(CALLS) {
            return Ok(None);
        }
        let columns = [
            ("start", true),
            ("nameId", true),
            ("correlationId", true),
            ("globalTid", false),
            ("returnValue", false),
        ];
        let mut calls = Vec::new();
        self.rows(CALLS, &columns, "ORDER BY \"start\"", |f| {
            calls.push(Call {
                start: f.required(0)?,
                name: strings.get(&f.required(1)?).cloned().unwrap_or_default(),
                correlation: f.integer(2)?,
                thread: f.integer(3)?,
                returned: f.integer(4)?.unwrap_or_default(),
            });
            Ok(())
        })?;
        Ok(Some(calls))
    }

    fn ranges(&self, strings: &HashMap<i64, String>) -> Result<Option<Vec<Range>>, Invalid> {
        if !self.has(RANGES) {
            return Ok(None);
        }
        let columns = [
            ("start", true),
            ("end", true),
            ("text", false),
            ("textId", false),
            ("globalTid", false),
        ];
        let mut ranges = Vec::new();
        self.rows(RANGES, &columns, "ORDER BY \"start\"", |f| {
            // Marks, domains and names of threads share the table.
            let text = match (f.text(2)?, f.integer(3)?) {
                (Some(text), _) => Some(text),
                (None, Some(id)) => strings.get(&id).cloned(),
                (None, None) => None,
            };
            if let Some(text) = text {
                ranges.push(Range {
                    text,
                    start: f.required(0)?,
                    end: f.integer(1)?,
                    thread: f.integer(4)?,
                });
            }
            Ok(())
        })?;
        Ok(Some(ranges))
    }

    fn diagnostics(&self) -> Result<Vec<Diagnostic>, Invalid> {
        let mut diagnostics = Vec::new();
        if self.has(DIAGNOSTICS) {
            let columns = [("text", true), ("severity", false)];
            self.rows(DIAGNOSTICS, &columns, "", |fields| {
                let is_error = fields.integer(1)? == Some(SEVERITY_ERROR);
                diagnostics.extend(fields.text(0)?.map(|text| Diagnostic { text, is_error }));
                Ok(())
            })?;
        }
        Ok(diagnostics)
    }

    fn count(&self, table: &'static str) -> Result<u64, Invalid> {
        if !self.has(table) {
            return Ok(0);
        }
        let query = format!("SELECT count(*) FROM \"{table}\"");
        let count: i64 = self
            .connection
            .query_row(&query, [], |row| row.get(0))
            .map_err(damaged)?;
        Ok(count.unsigned_abs())
    }

    /// What a table of names and values says for names like `pattern`. It is not what numbers rest on,
    /// so a table that is absent or different says nothing.
    fn facts(&self, table: &str, pattern: &str) -> Vec<(String, String)> {
        let query = format!(
            "SELECT name, CAST(value AS TEXT) FROM \"{table}\" WHERE name LIKE ?1 AND value IS NOT NULL ORDER BY name"
        );
        let facts = || {
            self.connection
                .prepare(&query)?
                .query_map([pattern], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<Result<Vec<(String, String)>, _>>()
        };
        match self.has(table) {
            true => facts().unwrap_or_default(),
            false => Vec::new(),
        }
    }

    fn schema_version(&self) -> Option<String> {
        let facts = self.facts("META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION");
        facts.first().map(|(_, value)| text::short(value, 40))
    }

    /// Driver versions among the facts of the system; their names there differ between versions.
    fn driver(&self) -> Option<String> {
        let words: Vec<String> = self
            .facts("TARGET_INFO_SYSTEM_ENV", "%DriverVersion")
            .iter()
            .map(|(name, value)| text::short(&format!("{name} {value}"), 60))
            .collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// One row's values, with the words for what is wrong with them.
struct Fields<'r, 's> {
    table: &'static str,
    number: usize,
    row: &'r Row<'s>,
    columns: &'r [Column],
}

impl Fields<'_, '_> {
    fn wrong(&self, column: usize, found: impl std::fmt::Display, expected: &str) -> Invalid {
        let name = self.columns[column].0;
        Invalid::new(
            format!("{}[{}].{name}", self.table, self.number),
            found,
            expected,
        )
    }

    fn value(&self, column: usize) -> Result<ValueRef<'_>, Invalid> {
        self.row.get_ref(column).map_err(damaged)
    }

    fn integer(&self, column: usize) -> Result<Option<i64>, Invalid> {
        match self.value(column)? {
            ValueRef::Integer(value) => Ok(Some(value)),
            ValueRef::Null => Ok(None),
            other => Err(self.wrong(column, other.data_type(), "an integer")),
        }
    }

    fn required(&self, column: usize) -> Result<i64, Invalid> {
        self.integer(column)?
            .ok_or_else(|| self.wrong(column, "nothing", "an integer"))
    }

    fn unsigned(&self, column: usize) -> Result<u32, Invalid> {
        let value = self.required(column)?;
        u32::try_from(value).map_err(|_| self.wrong(column, value, "0 to 4294967295"))
    }

    fn count(&self, column: usize) -> Result<u32, Invalid> {
        match self.unsigned(column)? {
            0 => Err(self.wrong(column, 0, "at least 1")),
            value => Ok(value),
        }
    }

    fn text(&self, column: usize) -> Result<Option<String>, Invalid> {
        match self.value(column)? {
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_string())),
                Err(_) => Err(self.wrong(column, "bytes that are not UTF-8", "text")),
            },
            ValueRef::Null => Ok(None),
            other => Err(self.wrong(column, other.data_type(), "text")),
        }
    }

    /// Start and duration of the time between two columns.
    fn span(&self, start: usize, end: usize) -> Result<(i64, u64), Invalid> {
        let (from, to) = (self.required(start)?, self.required(end)?);
        let duration = to.checked_sub(from).and_then(|ns| u64::try_from(ns).ok());
        match duration {
            Some(ns) if (1..=MAX_DURATION_NS).contains(&ns) => Ok((from, ns)),
            _ => Err(self.wrong(
                end,
                format!("{to} after a start at {from}"),
                "an end after the start, by at most an hour",
            )),
        }
    }
}
