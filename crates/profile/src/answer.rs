//! The line of JSON with which the target says that it finished, and what ran.

use crate::text;
use mage_evidence::choice::Config;
use mage_evidence::experiment::check_name;

/// The kernel variant that the target names; needed of `rust`, where there are several. What was chosen must be what
/// the target says that it ran.
///
/// # Errors
/// What there was instead.
pub(crate) fn variant(
    stdout: &str,
    implementation: &str,
    config: Option<&Config>,
) -> Result<Option<String>, String> {
    let found = match last(stdout) {
        None => "none".to_string(),
        Some(answer) => match answer.get("kernel") {
            _ if answer.get("config").and_then(serde_json::Value::as_object) != config => {
                format!("config {:?}", answer.get("config"))
            }
            Some(serde_json::Value::String(kernel)) if check_name(kernel).is_ok() => {
                return Ok(Some(kernel.clone()));
            }
            None if implementation != "rust" => return Ok(None),
            other => format!("kernel {other:?}"),
        },
    };
    Err(text::short(&found, 120))
}

/// The last line that holds a JSON object.
pub(crate) fn last(stdout: &str) -> Option<serde_json::Map<String, serde_json::Value>> {
    stdout
        .lines()
        .rev()
        .filter_map(|line| line.get(line.find('{')?..))
        .find_map(|json| serde_json::from_str(json).ok())
}
