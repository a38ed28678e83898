//! Which cases are run: the small suite, whose tails and degenerate shapes every kernel must take, and
//! the default suite, which is measured; and between them cases at the edge of what kernels can represent.

use crate::compare::TOLERANCE;
use crate::inputs::{self, Inputs};
use Fill::{Constant, Generated};
use Operation::{Gelu, LayerNorm, Matmul, Neighbor, Triangle};
use mage_evidence::Invalid;
use mage_evidence::experiment::Tolerance;
use mage_evidence::operation::Operation;

/// One case: an operation, its dims and what its inputs hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case {
    /// Name in test output and reports, unique over all suites.
    pub name: &'static str,
    /// The operation.
    pub operation: Operation,
    /// Its dims, as [`Operation::dim_names`] names them.
    pub dims: &'static [u32],
    /// What its inputs hold.
    pub fill: Fill,
}

/// What the inputs of a case hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fill {
    /// All drawn: [`inputs::generate`].
    Generated,
    /// This value in all of `a.bin`, the others drawn: [`inputs::constant`].
    Constant(f32),
}

impl Case {
    /// The bound of the case's check: the contract's, and for a product with a constant also what FP32
    /// itself rounds off, one unit in the last place of that constant for each of the k terms. Of values as
    /// large as 1e5, a sum that cancels keeps no more.
    pub fn tolerance(&self) -> Tolerance {
        let mut tolerance = TOLERANCE;
        if let (Constant(value), Matmul) = (self.fill, self.operation) {
            let terms = f64::from(self.dims[2]);
            tolerance.atol += f64::from(value.abs()) * terms * f64::from(f32::EPSILON);
        }
        tolerance
    }

    /// The inputs, drawn from `seed`.
    ///
    /// # Errors
    /// [`Invalid`] as [`inputs::generate`]; none for the cases of this module.
    pub fn inputs(&self, seed: u64) -> Result<Inputs, Invalid> {
        match self.fill {
            Generated => inputs::generate(self.operation, self.dims, seed),
            Constant(value) => inputs::constant(self.operation, self.dims, value, seed),
        }
    }
}

const fn case(name: &'static str, operation: Operation, dims: &'static [u32], fill: Fill) -> Case {
    Case {
        name,
        operation,
        dims,
        fill,
    }
}

/// Shapes that no tile divides, the smallest shapes, rows without variance, graphs without edges and with
/// repeated ones.
#[rustfmt::skip]
pub const SMALL: [Case; 10] = [
    case("matmul-17x19x23",          Matmul,    &[17, 19, 23], Generated),
    case("matmul-1x1x1",             Matmul,    &[1, 1, 1],    Generated),
    case("gelu-3x257",               Gelu,      &[3, 257],     Generated),
    case("layernorm-3x257",          LayerNorm, &[3, 257],     Generated),
    case("layernorm-2x1-constant",   LayerNorm, &[2, 1],       Constant(0.25)),
    case("layernorm-4x768-constant", LayerNorm, &[4, 768],     Constant(0.25)),
    case("triangle-7x5",             Triangle,  &[7, 5],       Generated),
    case("neighbor-7x9x23",          Neighbor,  &[7, 9, 23],   Generated),
    case("neighbor-7x9x0",           Neighbor,  &[7, 9, 0],    Generated),
    case("neighbor-1x5x9",           Neighbor,  &[1, 5, 9],    Generated),
];

/// Shapes that kernels with limits on their dims take, between them all of these: the smallest of more than one block
/// or tile, with a tail where a kernel takes one. None is square, so that no dim stands for another.
#[rustfmt::skip]
pub const TILES: [Case; 11] = [
    case("matmul-128x64x96",    Matmul,    &[128, 64, 96],    Generated),
    case("matmul-256x192x32",   Matmul,    &[256, 192, 32],   Generated),
    case("matmul-128x256x64",   Matmul,    &[128, 256, 64],   Generated),
    case("matmul-256x128x256",  Matmul,    &[256, 128, 256],  Generated),
    case("gelu-25x404",         Gelu,      &[25, 404],        Generated),
    case("gelu-32x768",         Gelu,      &[32, 768],        Generated),
    case("layernorm-9x1024",    LayerNorm, &[9, 1024],        Generated),
    case("layernorm-64x768",    LayerNorm, &[64, 768],        Generated),
    case("triangle-64x32",      Triangle,  &[64, 32],         Generated),
    case("neighbor-37x12x740",  Neighbor,  &[37, 12, 740],    Generated),
    case("neighbor-33x64x99",   Neighbor,  &[33, 64, 99],     Generated),
];

/// Whole tiles of few steps, and values that a kernel may have to treat apart: far beyond what binary16 holds, and
/// far below.
#[rustfmt::skip]
pub const DOMAIN: [Case; 3] = [
    case("matmul-256x256x512",       Matmul,   &[256, 256, 512], Generated),
    case("matmul-256x256x512-large", Matmul,   &[256, 256, 512], Constant(1e5)),
    case("matmul-256x256x512-tiny",  Matmul,   &[256, 256, 512], Constant(1e-6)),
];

/// The shapes of the published experiments, one an operation and in [`Operation::ALL`]'s order.
#[rustfmt::skip]
pub const DEFAULT: [Case; 5] = [
    case("matmul",    Matmul,    &[1024, 1024, 1024], Generated),
    case("gelu",      Gelu,      &[4096, 768],        Generated),
    case("layernorm", LayerNorm, &[4096, 768],        Generated),
    case("triangle",  Triangle,  &[128, 32],          Generated),
    case("neighbor",  Neighbor,  &[4096, 64, 65536],  Generated),
];

/// The small suite: [`SMALL`], then [`TILES`], so that every kernel takes a case.
pub fn small() -> Vec<Case> {
    [&SMALL[..], &TILES].concat()
}

/// The default case of `operation`.
pub fn default_case(operation: Operation) -> &'static Case {
    &DEFAULT[operation as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variants;
    use std::collections::BTreeSet;

    #[test]
    fn cases_are_named_once_and_have_valid_dims() {
        let cases = || SMALL.iter().chain(&TILES).chain(&DOMAIN).chain(&DEFAULT);
        for case in cases() {
            case.operation.check_dims(case.dims).unwrap();
            assert!(case.name.starts_with(case.operation.name()));
        }
        let names: BTreeSet<_> = cases().map(|case| case.name).collect();
        assert_eq!(names.len(), cases().count());
    }

    #[test]
    fn every_variant_takes_a_small_case() {
        for variant in Operation::ALL.into_iter().flat_map(variants::of) {
            let of = |case: &Case| case.operation == variant.operation;
            let cases = small();
            let mut cases = cases.iter().filter(|case| of(case));
            assert!(
                cases.any(|case| variant.takes(case.dims).is_ok()),
                "{} takes no case of the small suite: add one to TILES",
                variant.id
            );
        }
    }

    #[test]
    fn every_operation_has_small_and_default_cases() {
        for operation in Operation::ALL {
            assert!(SMALL.iter().any(|case| case.operation == operation));
            assert_eq!(default_case(operation).operation, operation);
        }
    }
}
