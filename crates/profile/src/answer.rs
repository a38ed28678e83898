//! The line of JSON with which the target says that it finished, and what ran.

use crate::text;
use mage_evidence::experiment::check_name;

/// The kernel variant that the target names; needed of `rust`, where there are several.
///
/// # Errors
/// What there was instead.
pub(crate) fn variant(stdout: &str, implementation: &str) -> Result<Option<String>, String> {
    let answer = stdout
        .lines()
        .rev()
        .filter_map(|line| line.get(line.find('{')?..))
        .find_map(|json| {
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(json).ok()
        });
    let found = match answer {
        None => "none".to_string(),
        Some(answer) => match answer.get("kernel") {
            Some(serde_json::Value::String(kernel)) if check_name(kernel).is_ok() => {
                return Ok(Some(kernel.clone()));
            }
            None if implementation != "rust" => return Ok(None),
            other => format!("kernel {other:?}"),
        },
    };
    Err(text::short(&found, 120))
}
