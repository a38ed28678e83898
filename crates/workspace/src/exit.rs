//! Exit codes, the same in every program: 0 what was asked for is done, or holds.

use mage_evidence::error::Invalid;
use mage_evidence::store::StoreError;
use std::error::Error;

/// It failed, a policy is not met, or what is committed is stale.
pub const FAILED: u8 = 1;
/// The command line asks for something that there is not: an unknown name, a number out of its range.
pub const USAGE: u8 = 2;
/// There is nothing to judge or to measure with: evidence, artifacts or a report that is missing or invalid, no GPU, no
/// profiler.
pub const NOTHING: u8 = 3;
/// Interrupted, as shells give it for SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Whether this error is a refusal of the command line, of which the field is a flag. It looks at no source.
pub fn is_usage(error: &(dyn Error + 'static)) -> bool {
    let invalid = match error.downcast_ref::<StoreError>() {
        Some(StoreError::Invalid(invalid)) => Some(invalid),
        _ => error.downcast_ref::<Invalid>(),
    };
    invalid.is_some_and(|invalid| invalid.file.is_none() && invalid.field.starts_with("--"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_flag_is_usage_and_a_refused_file_is_not() {
        let flag = Invalid::new("--ops", "x", "y");
        assert!(is_usage(&flag) && is_usage(&StoreError::from(flag.clone())));
        let field = Invalid::new("ops", "x", "y");
        assert!(!is_usage(&field) && !is_usage(&StoreError::from(field)));
        assert!(!is_usage(&flag.in_file("run.json".as_ref())));
        assert!(!is_usage(&std::fmt::Error));
    }
}
