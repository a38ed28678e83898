//! Cases on which the error of an output is measured: the standard inputs, inputs that are hard on FP32, and products
//! of growing length. Everything is made from the generator's values by exact steps, so that the bytes are the same
//! everywhere.

use crate::inputs::{self, Data, Inputs};
use Operation::{Gelu, LayerNorm, Matmul, Neighbor, Triangle};
use mage_evidence::Invalid;
use mage_evidence::operation::Operation;

/// What is done to the generated values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Standard,
    /// Each float of `a` and `b` times a power of two from 2^-10 to 2^10, by its place.
    Wide,
    /// 1000 added to each float of `a`.
    LargeMean,
    /// Sums whose terms cancel in pairs; see [`cancel`].
    Cancellation,
    /// Each float of `a` times 2^-130: below FP32's least normal number.
    Denormal,
}

impl Kind {
    /// Every kind, in the order in which it is shown.
    pub const ALL: [Self; 5] = [
        Self::Standard,
        Self::Wide,
        Self::LargeMean,
        Self::Cancellation,
        Self::Denormal,
    ];

    /// Its name in evidence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Wide => "wide exponents",
            Self::LargeMean => "large mean",
            Self::Cancellation => "cancellation",
            Self::Denormal => "denormals",
        }
    }
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Unique over all cases, and a file's name.
    pub name: String,
    /// The operation.
    pub operation: Operation,
    /// Its dims.
    pub dims: Vec<u32>,
    /// What is done to its inputs.
    pub kind: Kind,
}

impl Case {
    fn new(operation: Operation, dims: &[u32], kind: Kind) -> Self {
        let sizes: Vec<String> = dims.iter().map(u32::to_string).collect();
        Self {
            name: format!(
                "{operation}-{}-{}",
                sizes.join("x"),
                kind.name().replace(' ', "-")
            ),
            operation,
            dims: dims.to_vec(),
            kind,
        }
    }

    /// The inputs, drawn from `seed` and then changed.
    ///
    /// # Errors
    /// [`Invalid`] as [`inputs::generate`].
    pub fn inputs(&self, seed: u64) -> Result<Inputs, Invalid> {
        let mut inputs = inputs::generate(self.operation, &self.dims, seed)?;
        match self.kind {
            Kind::Standard => {}
            Kind::Wide => {
                for name in ["a.bin", "b.bin"] {
                    change(&mut inputs, name, |i, x| x * power(i as u64));
                }
            }
            Kind::LargeMean => change(&mut inputs, "a.bin", |_, x| x + 1000.0),
            Kind::Cancellation => cancel(&mut inputs)?,
            Kind::Denormal => change(&mut inputs, "a.bin", |_, x| {
                x * 2f32.powi(-65) * 2f32.powi(-65)
            }),
        }
        inputs.validate()?;
        Ok(inputs)
    }
}

/// Every operation's cases at the measured dims, and products of 32 to 4096 terms.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for case in &crate::suite::DEFAULT {
        cases.extend(Kind::ALL.map(|kind| Case::new(case.operation, case.dims, kind)));
    }
    let lengths = [32, 128, 512, 2048, 4096];
    cases.extend(lengths.map(|k| Case::new(Matmul, &[256, 256, k], Kind::Standard)));
    cases
}

/// The same kinds at dims that the CPU executor takes in a moment.
pub fn small() -> Vec<Case> {
    let dims: [(Operation, &[u32]); 5] = [
        (Matmul, &[17, 19, 24]),
        (Gelu, &[3, 256]),
        (LayerNorm, &[4, 256]),
        (Triangle, &[8, 8]),
        (Neighbor, &[7, 8, 24]),
    ];
    let of = |(operation, dims)| Kind::ALL.map(|kind| Case::new(operation, dims, kind));
    dims.into_iter().flat_map(of).collect()
}

fn change(inputs: &mut Inputs, name: &str, to: impl Fn(usize, f32) -> f32) {
    for array in &mut inputs.arrays {
        if let Data::F32(values) = &mut array.data
            && array.name == name
        {
            for (i, value) in values.iter_mut().enumerate() {
                *value = to(i, *value);
            }
        }
    }
}

/// 2^-10 to 2^10, spread over places by a multiplicative hash.
fn power(place: u64) -> f32 {
    let spread = place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    2f32.powi((spread % 21) as i32 - 10)
}

/// Makes terms cancel in pairs: of a product and a contraction, term 2p+1 is term 2p with the other sign, but for a
/// factor 1 + 2^-10 of `b`; the weight of every odd edge is that of the edge before, negated; z of the GELU is within
/// 2^-10 of 0; a row of the layer norm is 1 and within 2^-10 of it.
fn cancel(inputs: &mut Inputs) -> Result<(), Invalid> {
    const NEAR: f32 = 1.0 / 1024.0;
    let dims: Vec<usize> = inputs.dims.iter().map(|&d| d as usize).collect();
    let (a, b) = (
        inputs.f32s("a.bin")?.to_vec(),
        inputs.f32s("b.bin")?.to_vec(),
    );
    match inputs.operation {
        Matmul => {
            let (n, k) = (dims[1], dims[2]);
            let odd = |i: usize| (i % k) % 2 == 1;
            change(inputs, "a.bin", |i, x| if odd(i) { -a[i - 1] } else { x });
            let below = |i: usize| (i / n) % 2 == 1;
            change(inputs, "b.bin", |i, x| {
                if below(i) { b[i - n] * (1.0 + NEAR) } else { x }
            });
        }
        Triangle => {
            let (n, c) = (dims[0], dims[1]);
            let odd = |i: usize| (i / c % n) % 2 == 1;
            change(inputs, "a.bin", |i, x| if odd(i) { -a[i - c] } else { x });
            change(inputs, "b.bin", |i, x| {
                if odd(i) { b[i - c] * (1.0 + NEAR) } else { x }
            });
        }
        Gelu => change(inputs, "a.bin", |i, x| x * NEAR - b[i % b.len()]),
        LayerNorm => change(inputs, "a.bin", |_, x| 1.0 + x * NEAR),
        Neighbor => change(
            inputs,
            "b.bin",
            |i, x| if i % 2 == 1 { -b[i - 1] } else { x },
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::SEED;
    use std::collections::BTreeSet;

    fn input(operation: Operation, kind: Kind, name: &str) -> Vec<f32> {
        let is = |case: &&Case| case.operation == operation && case.kind == kind;
        let cases = small();
        let case = cases.iter().find(is).unwrap();
        case.inputs(SEED).unwrap().f32s(name).unwrap().to_vec()
    }

    #[test]
    fn names_are_unique_and_dims_are_valid() {
        for cases in [cases(), small()] {
            let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
            assert_eq!(names.len(), cases.len());
            for case in &cases {
                case.operation.check_dims(&case.dims).unwrap();
            }
        }
    }

    #[test]
    fn each_kind_is_what_it_says() {
        let standard = input(Matmul, Kind::Standard, "a.bin");
        let wide = input(Matmul, Kind::Wide, "a.bin");
        let factors: Vec<f32> = wide.iter().zip(&standard).map(|(w, s)| w / s).collect();
        assert!(factors.contains(&1024.0) && factors.contains(&(1.0 / 1024.0)));
        let mean = input(LayerNorm, Kind::LargeMean, "a.bin");
        assert!(mean.iter().all(|x| (995.0..1005.0).contains(x)));
        let tiny = input(Gelu, Kind::Denormal, "a.bin");
        assert!(tiny.iter().all(|x| x.abs() < f32::MIN_POSITIVE));
        assert!(tiny.iter().any(|x| *x != 0.0));
    }

    #[test]
    fn terms_cancel_in_pairs() {
        for (operation, length, stride) in [(Matmul, 24, 1), (Triangle, 8, 8)] {
            let a = input(operation, Kind::Cancellation, "a.bin");
            for i in 0..a.len() {
                if (i / stride % length) % 2 == 1 {
                    assert_eq!(a[i], -a[i - stride], "{operation} {i}");
                }
            }
        }
        let b = input(Matmul, Kind::Cancellation, "b.bin");
        assert_eq!(b[19], b[0] * (1.0 + 1.0 / 1024.0));
        let (a, bias) = (
            input(Gelu, Kind::Cancellation, "a.bin"),
            input(Gelu, Kind::Cancellation, "b.bin"),
        );
        assert!((a[0] + bias[0]).abs() < 0.01);
        let weights = input(Neighbor, Kind::Cancellation, "b.bin");
        assert_eq!(weights[1], -weights[0]);
    }
}
