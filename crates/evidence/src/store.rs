//! The one module that touches files: whole reads with the file's name in every error, and writes that
//! are either complete or absent.

use crate::error::Invalid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {reason}", path.display())]
    Io {
        /// What was tried ("read", "write", "create the directory").
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        reason: std::io::Error,
    },
    /// The content is not what it should be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Builds a [`StoreError::Io`] for `path`.
pub fn io_error(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_path_buf();
    move |reason| StoreError::Io {
        action,
        path,
        reason,
    }
}

/// Reads a whole file.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, StoreError> {
    std::fs::read(path).map_err(io_error("read", path))
}

/// Reads a whole UTF-8 file.
///
/// # Errors
/// [`StoreError`], also where the bytes are not UTF-8.
pub fn read_text(path: &Path) -> Result<String, StoreError> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        Invalid::new(
            "",
            format!("bytes that are not UTF-8 ({error})"),
            "UTF-8 text",
        )
        .in_file(path)
        .into()
    })
}

/// Reads JSON into `T`.
///
/// # Errors
/// [`StoreError`]; a syntax or type error names the line and column.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    parse_json(path, &read_bytes(path)?)
}

/// Parses JSON that was read from `path`.
///
/// # Errors
/// [`StoreError::Invalid`] naming the file, line and column.
pub fn parse_json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes).map_err(|error| {
        Invalid::new("", error, "JSON of the documented schema")
            .in_file(path)
            .into()
    })
}

/// Start of the names of files that are being written; a process that is killed meanwhile leaves one.
pub const TEMPORARY: &str = ".writing-";

/// Writes `bytes` so that `path` is afterwards either as it was or complete: to a temporary file in the
/// same directory, flushed to disk, then renamed over.
///
/// # Errors
/// [`StoreError::Io`].
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let directory = path
        .parent()
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)
        .map_err(io_error("write in", directory))?;
    file.write_all(bytes)
        .and_then(|()| file.as_file().sync_all())
        .and_then(|()| set_readable(file.as_file()))
        .map_err(io_error("write", path))?;
    file.persist(path)
        .map_err(|error| io_error("write", path)(error.error))?;
    Ok(())
}

/// Temporary files are private; what is published has the usual permissions.
#[cfg(unix)]
fn set_readable(file: &std::fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn set_readable(_: &std::fs::File) -> std::io::Result<()> {
    Ok(())
}

/// Writes `value` as JSON ([`to_json`]).
///
/// # Errors
/// [`StoreError`].
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let text = to_json(value).map_err(|invalid| invalid.in_file(path))?;
    write_bytes(path, text.as_bytes())
}

/// The project's JSON: keys in declared order, two spaces, lists and small objects of scalars on one line, a final
/// newline. The schema has no null, so a null is a number that was not finite: the field is named.
///
/// # Errors
/// [`Invalid`] naming the first field that is not a finite number or cannot be written.
pub fn to_json<T: Serialize>(value: &T) -> Result<String, Invalid> {
    let value = serde_json::to_value(value)
        .map_err(|error| Invalid::new("", error, "a value that JSON can hold"))?;
    if let Some(field) = find_null(&value, String::new()) {
        return Err(Invalid::new(
            field,
            "NaN, infinity or nothing",
            "a finite number",
        ));
    }
    let mut text = String::new();
    format_value(&value, 0, &mut text);
    text.push('\n');
    Ok(text)
}

/// Objects of more fields than this are spread, one field a line.
const INLINE_FIELDS: usize = 12;

fn find_null(value: &Value, path: String) -> Option<String> {
    match value {
        Value::Null => Some(path),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(i, item)| find_null(item, format!("{path}[{i}]"))),
        Value::Object(fields) => fields.iter().find_map(|(key, item)| {
            let dot = if path.is_empty() { "" } else { "." };
            find_null(item, format!("{path}{dot}{key}"))
        }),
        _ => None,
    }
}

fn is_scalar(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

fn format_value(value: &Value, depth: usize, out: &mut String) {
    let (open, close, items): (char, char, Vec<(Option<&str>, &Value)>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|v| (None, v)).collect()),
        Value::Object(fields) => (
            '{',
            '}',
            fields.iter().map(|(k, v)| (Some(k.as_str()), v)).collect(),
        ),
        scalar => {
            let _ = write!(out, "{scalar}");
            return;
        }
    };
    // The whole document is always spread; below it, a list or a small object of scalars is one line.
    let small = value.is_array() || items.len() <= INLINE_FIELDS;
    let flat = items.iter().all(|(_, item)| is_scalar(item));
    let inline = items.is_empty() || depth > 0 && small && flat;
    out.push(open);
    for (i, (key, item)) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if !inline {
            out.push('\n');
            out.push_str(&"  ".repeat(depth + 1));
        } else if i > 0 {
            out.push(' ');
        }
        if let Some(key) = key {
            let _ = write!(out, "{}: ", Value::from(*key));
        }
        format_value(item, depth + 1, out);
    }
    if !inline {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_one_line_a_row_and_reads_back() {
        let value = json!({"b": 1, "a": [{"x": 1.5, "y": [1, 2]}, {}], "e": []});
        let text = to_json(&value).unwrap();
        assert_eq!(
            text,
            "{\n  \"b\": 1,\n  \"a\": [\n    {\n      \"x\": 1.5,\n      \"y\": [1, 2]\n    },\n    {}\n  ],\n  \"e\": []\n}\n"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_number_that_is_not_finite_is_named() {
        #[derive(Serialize)]
        struct Row {
            samples_us: Vec<f64>,
        }
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let rows = vec![
                Row {
                    samples_us: vec![1.0],
                },
                Row {
                    samples_us: vec![2.0, bad],
                },
            ];
            let error = to_json(&rows).unwrap_err();
            assert_eq!(error.field, "[1].samples_us[1]");
        }
    }

    #[test]
    fn a_failed_write_leaves_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("evidence.json");
        write_json(&path, &json!({"kept": true})).unwrap();
        let before = read_bytes(&path).unwrap();
        assert!(write_json(&path, &json!({"value": f64::NAN})).is_err());
        assert_eq!(read_bytes(&path).unwrap(), before);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn errors_name_the_file() {
        let error = read_json::<Value>(Path::new("no/such.json")).unwrap_err();
        assert!(error.to_string().starts_with("no/such.json: cannot read"));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{\"a\": }").unwrap();
        let error = read_json::<Value>(file.path()).unwrap_err().to_string();
        assert!(error.contains("line 1 column 7"), "{error}");
    }
}
