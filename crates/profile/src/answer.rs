//! The line of JSON with which the target says that it finished, and what ran.

use crate::text;
use mage_evidence::choice::Config;
use mage_evidence::experiment::check_name;
use serde_json::Value;

/// What a target says that it ran, and where.
#[derive(Debug)]
pub(crate) struct Ran {
    /// The kernel variant; needed of `rust`, where there are several.
    pub(crate) variant: Option<String>,
    /// Which card.
    pub(crate) gpu_uuid: Option<String>,
}

/// What the target says of itself. What was chosen must be what it says that it ran.
///
/// # Errors
/// What there was instead.
pub(crate) fn ran(
    stdout: &str,
    implementation: &str,
    config: Option<&Config>,
) -> Result<Ran, String> {
    let found = match last(stdout) {
        None => "none".to_string(),
        Some(answer) => match (answer.get("kernel"), answer.get("gpu_uuid")) {
            _ if answer.get("config").and_then(Value::as_object) != config => {
                format!("config {:?}", answer.get("config"))
            }
            (_, Some(uuid)) if !uuid.is_string() => format!("gpu_uuid {uuid}"),
            (Some(Value::String(kernel)), uuid) if check_name(kernel).is_ok() => {
                return Ok(Ran {
                    variant: Some(kernel.clone()),
                    gpu_uuid: text_of(uuid),
                });
            }
            (None, uuid) if implementation != "rust" => {
                return Ok(Ran {
                    variant: None,
                    gpu_uuid: text_of(uuid),
                });
            }
            (other, _) => format!("kernel {other:?}"),
        },
    };
    Err(text::short(&found, 120))
}

fn text_of(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(String::from)
}

/// The last line that holds a JSON object.
pub(crate) fn last(stdout: &str) -> Option<serde_json::Map<String, Value>> {
    stdout
        .lines()
        .rev()
        .filter_map(|line| line.get(line.find('{')?..))
        .find_map(|json| serde_json::from_str(json).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ran_and_where_is_read_of_both_kinds_of_target() {
        let of = |line: &str, name| {
            ran(line, name, None).map(|ran| (ran.variant, ran.gpu_uuid.unwrap_or_default()))
        };
        let rust = r#"{"gpu_uuid": "GPU-1", "kernel": "a"}"#;
        assert_eq!(of(rust, "rust"), Ok((Some("a".into()), "GPU-1".into())));
        let python = r#"{"gpu_uuid": "GPU-1"}"#;
        assert_eq!(of(python, "python"), Ok((None, "GPU-1".into())));
        assert_eq!(of("{}", "python"), Ok((None, String::new())));
        assert_eq!(of(python, "rust"), Err("kernel None".into()));
        let number = r#"{"gpu_uuid": 1, "kernel": "a"}"#;
        assert_eq!(of(number, "rust"), Err("gpu_uuid 1".into()));
    }
}
