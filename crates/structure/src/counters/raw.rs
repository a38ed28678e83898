//! The counters of one launch, whole numbers with their instances, from the table that `ncu` prints.

use super::metrics::Group;
use mage_evidence::Invalid;
use mage_profile::ncu;

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
    let rows = ncu::rows(text)?;
    let [launch] = rows.as_slice() else {
        let found = format!("{} launches", rows.len());
        return Err(Invalid::new("", found, "one").help("run ncu with --launch-count 1"));
    };
    let metrics = group.metrics.iter().map(|name| {
        let cell = launch.cell(name)?;
        metric(name, &cell.unit, &cell.text, group.instances)
    });
    let name = &launch.name;
    let kernel = name.split('(').next().unwrap_or(name).trim();
    Ok(Reading {
        kernel: kernel.to_owned(),
        grid: launch.grid,
        block: launch.block,
        metrics: metrics.collect::<Result<_, _>>()?,
    })
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
