//! What a kernel multiplies where it does not multiply FP32 values: read off the instructions of its object.

use crate::objects;

/// Parts of FP32 values that a kernel multiplies on tensor cores in place of the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Products {
    /// Three products of binary16 halves for one of FP32.
    Binary16,
    /// Three products of TF32 parts for one of FP32.
    Tf32,
}

/// The products of a variant's object; none where all of them are of FP32 values.
pub fn of(variant: &str) -> Option<Products> {
    let object = objects::ptx(variant)?;
    let mut products = object.ptx.lines().filter(|line| line.contains("mma"));
    products.find_map(|line| match line {
        line if line.contains(".tf32.tf32") => Some(Products::Tf32),
        line if line.contains(".f16.f16") => Some(Products::Binary16),
        _ => None,
    })
}

impl Products {
    /// In words, for a record.
    pub fn words(self) -> &'static str {
        match self {
            Self::Binary16 => {
                "three products of binary16 halves for one of FP32, summed in FP32; FP32 multiply-adds for values \
                 outside of the domain of the halves"
            }
            Self::Tf32 => "three products of TF32 parts for one of FP32, summed in FP32",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header;
    use crate::variants::{Status, VARIANTS};

    /// The words hold for kernels that split with the parts that they speak of, and for no others.
    #[test]
    fn the_instructions_are_those_of_the_source() {
        let mut split = 0;
        for variant in VARIANTS.iter().filter(|v| v.status != Status::Twin) {
            let source = header::with_parts(variant);
            let halves = source.contains("\nuse crate::parts::f16x3::");
            let of_source = match source.contains("mma_tf32") {
                true => Some(Products::Tf32),
                false => halves.then_some(Products::Binary16),
            };
            assert_eq!(of(variant.id), of_source, "{}", variant.id);
            split += usize::from(of_source.is_some());
        }
        assert!(split > 0);
        assert_eq!(of("tiled_matmul"), None);
        assert_eq!(of("no_such_kernel"), None);
    }
}
