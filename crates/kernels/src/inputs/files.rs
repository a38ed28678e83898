//! Inputs as files, `<dir>/<operation>/<name>`, and every check on what they hold.

use super::{Array, Data, Inputs};
use mage_evidence::Invalid;
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::{Element, InputFile, Operation};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

impl Inputs {
    /// Writes every array to `<dir>/<operation>/<name>`, making the directories. A file appears whole or
    /// not at all; one that is there already with the same content stays as it is.
    ///
    /// # Errors
    /// [`Invalid`] naming the file: other content is there, or it cannot be written; or what
    /// [`Self::validate`] refuses.
    pub fn write(&self, dir: &Path) -> Result<(), Invalid> {
        self.validate()?;
        let dir = dir.join(self.operation.name());
        fs::create_dir_all(&dir)
            .map_err(|e| unusable(&dir, &e, "a directory to write inputs to"))?;
        for array in &self.arrays {
            write_new(&dir.join(array.name), &array.bytes_le())?;
        }
        Ok(())
    }

    /// Reads and validates what [`Self::write`] wrote.
    ///
    /// # Errors
    /// [`Invalid`] for refused dims; naming the file, for one that is missing or of the wrong length (in
    /// bytes), and for what [`Self::validate`] refuses.
    pub fn read(dir: &Path, operation: Operation, dims: &[u32]) -> Result<Self, Invalid> {
        operation.check_dims(dims)?;
        let arrays = operation
            .inputs(dims)
            .iter()
            .map(|file| read_array(&path(dir, operation, file.name), file))
            .collect::<Result<_, _>>()?;
        let inputs = Self {
            operation,
            dims: dims.to_vec(),
            arrays,
        };
        inputs.validate_in(dir)?;
        Ok(inputs)
    }

    /// Checks dims, arrays, their lengths and their values: every float finite; for `neighbor`, row
    /// starts that begin at 0, never fall and end at the number of edges, and indices below the number of
    /// nodes. So checked, no kernel reads outside its arrays.
    ///
    /// # Errors
    /// [`Invalid`] naming the file and the first wrong element, counted from 0.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.validate_in(Path::new(""))
    }

    fn validate_in(&self, dir: &Path) -> Result<(), Invalid> {
        self.operation.check_dims(&self.dims)?;
        let files = self.operation.inputs(&self.dims);
        let names = |names: Vec<&str>| names.join(", ");
        let found = names(self.arrays.iter().map(|array| array.name).collect());
        let expected = names(files.iter().map(|file| file.name).collect());
        if found != expected {
            return Err(Invalid::new("arrays", found, expected));
        }
        for (array, file) in self.arrays.iter().zip(&files) {
            self.validate_array(array, file)
                .map_err(|e| e.in_file(&path(dir, self.operation, array.name)))?;
        }
        Ok(())
    }

    fn validate_array(&self, array: &Array, file: &InputFile) -> Result<(), Invalid> {
        if array.data.element() != file.element || array.data.len() != file.elements() {
            let (len, element) = (array.data.len(), array.data.element());
            return Err(Invalid::new(
                "elements",
                format!("{len} of {element:?}"),
                format!(
                    "{} of {:?} (shape {:?})",
                    file.elements(),
                    file.element,
                    file.shape
                ),
            ));
        }
        match &array.data {
            Data::F32(values) => finite(values),
            // Of the five operations only `neighbor` has integers; its dims are nodes, width, edges.
            Data::U32(values) if array.name == "rowptr.bin" => row_starts(values, self.dims[2]),
            Data::U32(values) => indices(values, self.dims[0]),
        }
    }

    /// SHA-256 of every file, by name.
    pub fn sha256(&self) -> BTreeMap<String, String> {
        let hash = |array: &Array| (array.name.to_string(), array.sha256());
        self.arrays.iter().map(hash).collect()
    }

    /// Compares the SHA-256 of every file with `expected`, by name; both must name the same files.
    ///
    /// # Errors
    /// [`Invalid`] naming the first file that differs, is not expected or is missing.
    pub fn verify(&self, expected: &BTreeMap<String, String>) -> Result<(), Invalid> {
        let found = self.sha256();
        for name in found.keys().chain(expected.keys()) {
            let (found, expected) = (found.get(name), expected.get(name));
            if found != expected {
                let text = |hash: Option<&String>| hash.map_or("no such file", |h| h).to_string();
                return Err(Invalid::new("sha256", text(found), text(expected))
                    .in_file(&path(Path::new(""), self.operation, name))
                    .help("inputs are those of another seed, other dims or another generator"));
            }
        }
        Ok(())
    }
}

fn path(dir: &Path, operation: Operation, name: &str) -> PathBuf {
    dir.join(operation.name()).join(name)
}

fn unusable(file: &Path, error: &io::Error, expected: &str) -> Invalid {
    Invalid::new("", error, expected).in_file(file)
}

fn finite(values: &[f32]) -> Result<(), Invalid> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(i) => Err(Invalid::new(
            format!("element {i}"),
            values[i],
            "a finite number",
        )),
        None => Ok(()),
    }
}

fn row_starts(starts: &[u32], edges: u32) -> Result<(), Invalid> {
    if let Some(&first) = starts.first()
        && first != 0
    {
        return Err(Invalid::new(
            "element 0",
            first,
            "0, the start of the first row",
        ));
    }
    if let Some(i) = starts.windows(2).position(|pair| pair[1] < pair[0]) {
        let expected = format!("at least {}, the row start before it", starts[i]);
        return Err(Invalid::new(
            format!("element {}", i + 1),
            starts[i + 1],
            expected,
        ));
    }
    match starts.last() {
        Some(&last) if last != edges => Err(Invalid::new(
            format!("element {}", starts.len() - 1),
            last,
            format!("{edges}, the number of edges"),
        )),
        _ => Ok(()),
    }
}

fn indices(values: &[u32], nodes: u32) -> Result<(), Invalid> {
    match values.iter().position(|&value| value >= nodes) {
        Some(i) => {
            let expected = format!("below {nodes}, the number of nodes");
            Err(Invalid::new(format!("element {i}"), values[i], expected))
        }
        None => Ok(()),
    }
}

fn read_array(path: &Path, file: &InputFile) -> Result<Array, Invalid> {
    let expected = format!(
        "{} bytes, {:?} of shape {:?}",
        file.bytes(),
        file.element,
        file.shape
    );
    let failed = |error: io::Error| unusable(path, &error, &expected);
    // The length first: a wrong file may be of any size.
    let metadata = fs::metadata(path).map_err(failed)?;
    let wrong = |found: u64| {
        Invalid::new("length", format!("{found} bytes"), expected.clone()).in_file(path)
    };
    if metadata.len() != file.bytes() as u64 {
        return Err(wrong(metadata.len()));
    }
    let bytes = fs::read(path).map_err(failed)?;
    let (words, rest) = bytes.as_chunks::<4>();
    if words.len() != file.elements() || !rest.is_empty() {
        return Err(wrong(bytes.len() as u64));
    }
    let data = match file.element {
        Element::F32 => Data::F32(words.iter().map(|w| f32::from_le_bytes(*w)).collect()),
        Element::U32 => Data::U32(words.iter().map(|w| u32::from_le_bytes(*w)).collect()),
    };
    Ok(Array {
        name: file.name,
        data,
    })
}

/// Writes under a temporary name beside `path`, then renames.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Invalid> {
    let failed = |error: io::Error| unusable(path, &error, "a file that can be written");
    match fs::read(path) {
        Ok(there) if there == bytes => return Ok(()),
        Ok(there) => {
            return Err(
                Invalid::new("sha256", sha256_hex(&there), sha256_hex(bytes))
                    .in_file(path)
                    .help("other inputs stand there: choose another directory or remove it"),
            );
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let unique = (std::process::id(), WRITES.fetch_add(1, Ordering::Relaxed));
    let partial = path.with_extension(format!("{}-{}.partial", unique.0, unique.1));
    let written = File::create(&partial)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // The first error is the one to report; a temporary file left behind is harmless.
        let _ = fs::remove_file(&partial);
        failed(error)
    })
}
