//! What `ncu --csv --page raw` prints of one launch. A wide table: a row of names, a row of units, one row a
//! launch; lines of `ncu` itself and of the program may stand around it.

use super::metrics::Group;
use mage_evidence::Invalid;

/// Largest text that is read, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// One launch and its counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Name of the kernel, without parameters.
    pub kernel: String,
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// The counters of the group, in its order.
    pub metrics: Vec<Metric>,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its unit, as `ncu` words it; empty where it has none.
    pub unit: String,
    /// Its value.
    pub value: u64,
    /// The values of its instances, by name and sorted, where they are wanted.
    pub instances: Vec<(String, u64)>,
}

/// Reads the one launch that the text must hold.
///
/// # Errors
/// [`Invalid`] naming the column: no table, another number of launches than one, a counter of the group that
/// is missing, has no whole number or a unit other than the base.
pub fn read(text: &str, group: &Group) -> Result<Reading, Invalid> {
    if text.len() > MAX_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(Invalid::new("", found, format!("at most {MAX_BYTES}")));
    }
    let rows = rows(text)?;
    let [names, units, launches @ ..] = rows.as_slice() else {
        return Err(no_table(text));
    };
    let [launch] = launches else {
        let found = format!("{} launches", launches.len());
        return Err(Invalid::new("", found, "one").help("run ncu with --launch-count 1"));
    };
    let column = |name: &str| -> Result<(&str, &str), Invalid> {
        let mut found = names.iter().enumerate().filter(|(_, n)| *n == name);
        let (Some((at, _)), None) = (found.next(), found.next()) else {
            let known = names.join(", ");
            return Err(Invalid::new(
                name,
                format!("the columns {known}"),
                "this column, once",
            ));
        };
        Ok((units[at].as_str(), launch[at].as_str()))
    };
    let metrics = group.metrics.iter().map(|name| {
        let (unit, value) = column(name)?;
        metric(name, unit, value, group.instances)
    });
    let name = column("Kernel Name")?.1;
    let kernel = name.split('(').next().unwrap_or(name).trim();
    Ok(Reading {
        kernel: kernel.to_owned(),
        grid: extent("Grid Size", column("Grid Size")?.1)?,
        block: extent("Block Size", column("Block Size")?.1)?,
        metrics: metrics.collect::<Result<_, _>>()?,
    })
}

/// Rows of the table, all of one length.
fn rows(text: &str) -> Result<Vec<Vec<String>>, Invalid> {
    // ncu quotes every field: what does not begin with a quote is not of the table.
    let start = text.lines().position(|line| line.starts_with("\"ID\","));
    let Some(start) = start else {
        return Err(no_table(text));
    };
    let lines: Vec<&str> = text
        .lines()
        .skip(start)
        .filter(|line| line.starts_with('"'))
        .collect();
    let table = lines.join("\n");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(table.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record =
            record.map_err(|error| Invalid::new("", error, "rows as long as the first"))?;
        rows.push(record.iter().map(str::to_owned).collect());
    }
    Ok(rows)
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

/// `123` or `1,234 (BAR: 4; FFMA: 1230)`.
fn metric(name: &str, unit: &str, text: &str, instances: bool) -> Result<Metric, Invalid> {
    let refused = |expected: &str| {
        let shown: String = text.chars().take(80).collect();
        Invalid::new(name, format!("{shown:?}"), expected)
    };
    let scaled = |unit: &str| {
        let mut letters = unit.chars();
        let prefix = letters.next().is_some_and(|c| "KMGT".contains(c));
        prefix && letters.next().is_some_and(char::is_lowercase)
    };
    if scaled(unit) {
        return Err(
            Invalid::new(name, format!("the unit {unit:?}"), "a base unit")
                .help("run ncu with --print-units base"),
        );
    }
    let (total, listed) = match text.split_once(" (") {
        Some((total, rest)) => {
            let listed = rest.strip_suffix(')');
            (
                total,
                Some(listed.ok_or_else(|| refused("a closing parenthesis"))?),
            )
        }
        None => (text, None),
    };
    let value = whole(total).ok_or_else(|| refused("a whole number"))?;
    let mut found = Vec::new();
    if instances {
        let listed = listed.ok_or_else(|| {
            refused("instances in parentheses")
                .help("run ncu with --print-metric-instances details")
        })?;
        for item in listed.split("; ").filter(|item| !item.is_empty()) {
            let pair = item.rsplit_once(": ").and_then(|(instance, value)| {
                let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                let good = !instance.is_empty() && instance.chars().all(plain);
                good.then_some((instance.to_owned(), whole(value)?))
            });
            found.push(pair.ok_or_else(|| refused("instances as `NAME: whole number`"))?);
        }
        found.sort();
        if found.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(refused("each instance once"));
        }
        let sum = found
            .iter()
            .try_fold(0u64, |sum, (_, value)| sum.checked_add(*value));
        if sum != Some(value) {
            return Err(refused("instances that add up to the total"));
        }
    }
    Ok(Metric {
        name: name.to_owned(),
        unit: unit.to_owned(),
        value,
        instances: found,
    })
}

/// A whole number, with separators of thousands or a fraction of zero.
fn whole(text: &str) -> Option<u64> {
    let text = text.trim();
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = text.chars().filter(|&c| c != ',').collect();
    let good = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (good && fraction.bytes().all(|b| b == b'0'))
        .then(|| digits.parse().ok())
        .flatten()
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
