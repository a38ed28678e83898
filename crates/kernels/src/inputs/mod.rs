//! The inputs of every operation: the same bytes everywhere, made here and checked wherever they are read.
//!
//! The bytes are those of `numpy.random.default_rng(seed)`. Every operation starts a fresh generator and
//! draws its files in order: floats are `normal(0, 0.25)` cast to f32; the graph of
//! [`Operation::Neighbor`] is `sort(integers(0, nodes, edges))` counted into row starts, then
//! `integers(0, nodes, edges, dtype=uint32)`.

mod files;
mod generator;
mod seed_sequence;
mod ziggurat;
mod ziggurat_table;

pub use generator::Generator;

use mage_evidence::Invalid;
use mage_evidence::hash::sha256_hex;
use mage_evidence::operation::{Element, Operation};

/// The seed of every published experiment.
pub const SEED: u64 = 20_260_910;

/// The input arrays of one operation, in the order in which they are drawn and passed to a kernel.
///
/// Every constructor returns validated inputs; see [`Inputs::validate`] for those changed afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    /// The operation.
    pub operation: Operation,
    /// Its dims, as [`Operation::dim_names`] names them.
    pub dims: Vec<u32>,
    /// Its arrays, row-major, one a file of [`Operation::inputs`] and in that order.
    pub arrays: Vec<Array>,
}

/// One input array.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its file's name, `a.bin`.
    pub name: &'static str,
    /// Its elements, row-major.
    pub data: Data,
}

/// The elements of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Data {
    /// IEEE binary32.
    F32(Vec<f32>),
    /// Row starts and indices.
    U32(Vec<u32>),
}

impl Data {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::U32(values) => values.len(),
        }
    }

    /// Whether there are no elements (the edges of a graph without any).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Type of the elements.
    pub fn element(&self) -> Element {
        match self {
            Self::F32(_) => Element::F32,
            Self::U32(_) => Element::U32,
        }
    }

    /// The file's content: four little-endian bytes an element, no header.
    pub fn bytes_le(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::U32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    /// SHA-256 of [`Self::bytes_le`].
    pub fn sha256(&self) -> String {
        sha256_hex(&self.bytes_le())
    }
}

impl Array {
    /// The file's content: four little-endian bytes an element, no header.
    pub fn bytes_le(&self) -> Vec<u8> {
        self.data.bytes_le()
    }

    /// SHA-256 of the file's content.
    pub fn sha256(&self) -> String {
        self.data.sha256()
    }
}

/// The inputs of `operation` drawn from `seed`.
///
/// # Errors
/// [`Invalid`] for dims that [`Operation::check_dims`] refuses.
pub fn generate(operation: Operation, dims: &[u32], seed: u64) -> Result<Inputs, Invalid> {
    operation.check_dims(dims)?;
    let mut generator = Generator::new(seed);
    let arrays = operation
        .inputs(dims)
        .into_iter()
        .map(|file| Array {
            name: file.name,
            data: match file.element {
                Element::F32 => Data::F32(
                    (0..file.elements())
                        .map(|_| generator.normal_quarter())
                        .collect(),
                ),
                // Of the five operations only `neighbor` has integers; its dims are nodes, width, edges.
                Element::U32 if file.name == "rowptr.bin" => {
                    Data::U32(row_starts(&mut generator, dims[0], dims[2]))
                }
                Element::U32 => Data::U32(
                    (0..file.elements())
                        .map(|_| generator.integer_below(dims[0]))
                        .collect(),
                ),
            },
        })
        .collect();
    Ok(Inputs {
        operation,
        dims: dims.to_vec(),
        arrays,
    })
}

/// The inputs of `operation` drawn from `seed`, with `value` in every element of `a.bin`.
///
/// The other files keep the values drawn for them, so that only the array that is reduced is degenerate:
/// a layer norm of constant rows must come out as its shift, `c.bin`.
///
/// # Errors
/// [`Invalid`] for dims that [`Operation::check_dims`] refuses and for a value that is not finite.
pub fn constant(
    operation: Operation,
    dims: &[u32],
    value: f32,
    seed: u64,
) -> Result<Inputs, Invalid> {
    if !value.is_finite() {
        return Err(Invalid::new("value", value, "a finite number"));
    }
    let mut inputs = generate(operation, dims, seed)?;
    for array in &mut inputs.arrays {
        if let Data::F32(values) = &mut array.data
            && array.name == "a.bin"
        {
            values.fill(value);
        }
    }
    Ok(inputs)
}

/// `concatenate([0], cumsum(bincount(sort(integers(0, nodes, edges)), minlength=nodes)))`; counting needs
/// no sort.
fn row_starts(generator: &mut Generator, nodes: u32, edges: u32) -> Vec<u32> {
    let mut starts = vec![0u32; nodes as usize + 1];
    for _ in 0..edges {
        starts[generator.integer_below(nodes) as usize + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    starts
}

impl Inputs {
    /// The floats of the file `name`.
    ///
    /// # Errors
    /// [`Invalid`] where there is no such array of floats.
    pub fn f32s(&self, name: &str) -> Result<&[f32], Invalid> {
        match self.array(name)? {
            Data::F32(values) => Ok(values),
            Data::U32(_) => Err(Invalid::new(name, "u32 elements", "f32 elements")),
        }
    }

    /// The integers of the file `name`.
    ///
    /// # Errors
    /// [`Invalid`] where there is no such array of integers.
    pub fn u32s(&self, name: &str) -> Result<&[u32], Invalid> {
        match self.array(name)? {
            Data::U32(values) => Ok(values),
            Data::F32(_) => Err(Invalid::new(name, "f32 elements", "u32 elements")),
        }
    }

    fn array(&self, name: &str) -> Result<&Data, Invalid> {
        let array = self.arrays.iter().find(|array| array.name == name);
        let Some(array) = array else {
            let names: Vec<_> = self.arrays.iter().map(|array| array.name).collect();
            return Err(Invalid::new(
                "arrays",
                names.join(", "),
                format!("{name} among the inputs of {}", self.operation),
            ));
        };
        Ok(&array.data)
    }
}
