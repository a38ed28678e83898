//! The five operations: names, dims, files and shapes (FP32, forward only).

use crate::error::Invalid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Largest number of elements of any one array, so that device indices fit 31 bits.
pub const MAX_ELEMENTS: u64 = (1 << 31) - 1;

/// One operation, in the order in which experiments list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// `C[i,j] = sum_k A[i,k] B[k,j]`; dims m, n, k.
    Matmul,
    /// Bias and tanh-form GELU; dims rows, width.
    Gelu,
    /// Layer normalisation of each row, eps 1e-5, with scale and shift; dims rows, width.
    LayerNorm,
    /// `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`; dims n, channels.
    Triangle,
    /// Weighted neighbour sum over a CSR graph; dims nodes, width, edges.
    Neighbor,
}

/// Element type of an input file, always little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// IEEE binary32.
    F32,
    /// Unsigned 32-bit integer.
    U32,
}

/// One input file of an operation: row-major, little-endian, four bytes an element, no header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// File name, `a.bin`.
    pub name: &'static str,
    /// Element type.
    pub element: Element,
    /// Shape, outermost dimension first.
    pub shape: Vec<usize>,
}

impl InputFile {
    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Length of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.elements() * 4
    }
}

impl Operation {
    /// Every operation, in order.
    pub const ALL: [Self; 5] = [
        Self::Matmul,
        Self::Gelu,
        Self::LayerNorm,
        Self::Triangle,
        Self::Neighbor,
    ];

    /// The name in specs, evidence and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Matmul => "matmul",
            Self::Gelu => "gelu",
            Self::LayerNorm => "layernorm",
            Self::Triangle => "triangle",
            Self::Neighbor => "neighbor",
        }
    }

    /// The name that readers see.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Matmul => "Matrix multiplication",
            Self::Gelu => "Bias + GELU",
            Self::LayerNorm => "LayerNorm",
            Self::Triangle => "Triangle contraction",
            Self::Neighbor => "Neighbor aggregation",
        }
    }

    /// Names of the dims, in the order in which they are given.
    pub const fn dim_names(self) -> &'static [&'static str] {
        match self {
            Self::Matmul => &["m", "n", "k"],
            Self::Gelu | Self::LayerNorm => &["rows", "width"],
            Self::Triangle => &["n", "channels"],
            Self::Neighbor => &["nodes", "width", "edges"],
        }
    }

    /// Refuses dims of the wrong count, zero dims (`edges` alone may be zero) and arrays of more than
    /// [`MAX_ELEMENTS`] elements.
    ///
    /// # Errors
    /// [`Invalid`] with field `dims`.
    pub fn check_dims(self, dims: &[u32]) -> Result<(), Invalid> {
        let names = self.dim_names();
        if dims.len() != names.len() {
            return Err(Invalid::new(
                "dims",
                format!("{} values ({dims:?})", dims.len()),
                format!("{} for {self}: {}", names.len(), names.join(", ")),
            ));
        }
        for (name, &dim) in names.iter().zip(dims) {
            if dim == 0 && *name != "edges" {
                return Err(Invalid::new("dims", format!("{name} = 0"), "at least 1"));
            }
        }
        let mut arrays: Vec<(&str, Vec<u64>)> = self
            .shapes(dims)
            .into_iter()
            .map(|(name, _, shape)| (name, shape))
            .collect();
        arrays.push(("output", self.output(dims)));
        for (name, shape) in arrays {
            let elements = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
            if elements.is_none_or(|n| n > MAX_ELEMENTS) {
                return Err(Invalid::new(
                    "dims",
                    format!("{dims:?}, which gives {name} the shape {shape:?}"),
                    format!("at most {MAX_ELEMENTS} (2^31-1) elements an array"),
                ));
            }
        }
        Ok(())
    }

    /// The input files, in the order in which they are drawn and passed. `dims` must have passed
    /// [`Self::check_dims`].
    pub fn inputs(self, dims: &[u32]) -> Vec<InputFile> {
        self.shapes(dims)
            .into_iter()
            .map(|(name, element, shape)| InputFile {
                name,
                element,
                shape: shape.into_iter().map(|d| d as usize).collect(),
            })
            .collect()
    }

    /// Shape of the output (FP32). `dims` must have passed [`Self::check_dims`].
    pub fn output_shape(self, dims: &[u32]) -> Vec<usize> {
        self.output(dims).into_iter().map(|d| d as usize).collect()
    }

    /// Number of elements of the output. `dims` must have passed [`Self::check_dims`].
    pub fn output_elements(self, dims: &[u32]) -> usize {
        self.output_shape(dims).iter().product()
    }

    fn shapes(self, dims: &[u32]) -> Vec<(&'static str, Element, Vec<u64>)> {
        let d = |i: usize| u64::from(dims[i]);
        let f32s = |name, shape| (name, Element::F32, shape);
        let u32s = |name, shape| (name, Element::U32, shape);
        match self {
            Self::Matmul => vec![
                f32s("a.bin", vec![d(0), d(2)]),
                f32s("b.bin", vec![d(2), d(1)]),
            ],
            Self::Gelu => vec![f32s("a.bin", vec![d(0), d(1)]), f32s("b.bin", vec![d(1)])],
            Self::LayerNorm => vec![
                f32s("a.bin", vec![d(0), d(1)]),
                f32s("b.bin", vec![d(1)]),
                f32s("c.bin", vec![d(1)]),
            ],
            Self::Triangle => vec![
                f32s("a.bin", vec![d(0), d(0), d(1)]),
                f32s("b.bin", vec![d(0), d(0), d(1)]),
            ],
            Self::Neighbor => vec![
                f32s("a.bin", vec![d(0), d(1)]),
                f32s("b.bin", vec![d(2)]),
                u32s("rowptr.bin", vec![d(0) + 1]),
                u32s("indices.bin", vec![d(2)]),
            ],
        }
    }

    fn output(self, dims: &[u32]) -> Vec<u64> {
        let d = |i: usize| u64::from(dims[i]);
        match self {
            Self::Matmul => vec![d(0), d(1)],
            Self::Gelu | Self::LayerNorm | Self::Neighbor => vec![d(0), d(1)],
            Self::Triangle => vec![d(0), d(0), d(1)],
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Operation {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|op| op.name() == text)
            .ok_or_else(|| {
                Invalid::new(
                    "operation",
                    format!("{text:?}"),
                    format!("one of {}", Self::ALL.map(Self::name).join(", ")),
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_through_text_and_serde() {
        for op in Operation::ALL {
            assert_eq!(op.name().parse::<Operation>().unwrap(), op);
            assert_eq!(
                serde_json::to_string(&op).unwrap(),
                format!("\"{}\"", op.name())
            );
        }
        let error = "matmull".parse::<Operation>().unwrap_err().to_string();
        assert!(
            error.contains("\"matmull\"") && error.contains("neighbor"),
            "{error}"
        );
    }

    #[test]
    fn dims_are_refused_by_count_zero_and_size() {
        let refused = |op: Operation, dims: &[u32]| op.check_dims(dims).unwrap_err().to_string();
        assert!(refused(Operation::Matmul, &[1, 2]).contains("3 for matmul: m, n, k"));
        assert!(refused(Operation::Gelu, &[0, 2]).contains("rows = 0"));
        assert!(refused(Operation::Triangle, &[40000, 2]).contains("2^31-1"));
        assert!(refused(Operation::Triangle, &[u32::MAX, u32::MAX]).contains("2^31-1"));
        assert!(refused(Operation::Neighbor, &[u32::MAX, 1, 1]).contains("a.bin"));
        Operation::Neighbor.check_dims(&[7, 9, 0]).unwrap();
        Operation::Matmul.check_dims(&[1, 1, 1]).unwrap();
    }

    #[test]
    fn shapes_follow_the_contract() {
        let files = Operation::Neighbor.inputs(&[4096, 64, 65536]);
        let sizes: Vec<_> = files.iter().map(|f| (f.name, f.elements())).collect();
        assert_eq!(
            sizes,
            [
                ("a.bin", 4096 * 64),
                ("b.bin", 65536),
                ("rowptr.bin", 4097),
                ("indices.bin", 65536)
            ]
        );
        assert_eq!(Operation::Triangle.output_shape(&[128, 32]), [128, 128, 32]);
        assert_eq!(Operation::Matmul.inputs(&[2, 3, 5])[1].shape, [5, 3]);
    }
}
