//! Which times of an operation are the shortest: the least, and all that are level with it.
//!
//! Two implementations are two processes, and a time can differ between two of the same code. What the committed
//! calibration saw of that is the bound: within it of the least, a time is level with it, and nobody wins.

use crate::data::{Data, Series};
use mage_evidence::diff::Quantity;
pub use mage_evidence::diff::is_level;
use mage_evidence::summary::{CaseSummary, OperationSummary, several_captures};

/// How far above the least a time of `data` is still level with it, as a part of 1.
pub fn bound(data: &Data, quantity: Quantity) -> f64 {
    quantity.level(several_captures(&data.summary.operations))
}

/// Mean time of a case.
pub fn mean_us(case: &CaseSummary, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::KernelTime => case.kernel_time.map(|k| k.mean_us),
        Quantity::EventSpan => case.event.map(|e| e.mean_us),
    }
}

/// The shortest times of an operation, from the least on; none where fewer than two implementations have one.
pub fn shortest<'a>(
    data: &'a Data,
    op: &OperationSummary,
    quantity: Quantity,
) -> Option<Vec<(&'a Series, f64)>> {
    let of = |series: &'a Series| {
        let case = op.implementations.get(&series.name)?;
        Some((series, mean_us(case, quantity)?))
    };
    let mut found: Vec<_> = data.series.iter().filter_map(of).collect();
    if found.len() < 2 {
        return None;
    }
    // Stable: equal times keep the order in which they are shown.
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, bound) = (found[0].1, bound(data, quantity));
    found.retain(|(_, us)| is_level(*us, least, bound));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_belongs_to_what_is_level() {
        assert!(is_level(10.0, 10.0, 0.0));
        assert!(is_level(10.3, 10.0, 0.03));
        assert!(!is_level(10.31, 10.0, 0.03));
    }
}
