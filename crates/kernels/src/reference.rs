//! The five operations in FP64 on the CPU, from the FP32 inputs: what every output is checked against.

use crate::inputs::Inputs;
use mage_evidence::Invalid;
use mage_evidence::operation::Operation;
use std::num::NonZero;
use std::thread;

/// Added to the variance of [`Operation::LayerNorm`].
pub const EPSILON: f64 = 1e-5;
/// `sqrt(2 / pi)` as the tanh form of GELU is given.
pub const GELU_SCALE: f64 = 0.797_884_560_8;
/// Factor of the cube in the tanh form of GELU.
pub const GELU_CUBIC: f64 = 0.044_715;

/// The output of `inputs` in FP64, row-major of [`Operation::output_shape`].
///
/// Every product and sum is in f64. The result does not depend on the number of threads: a row is computed
/// by one.
///
/// # Errors
/// [`Invalid`] as [`Inputs::validate`].
pub fn reference(inputs: &Inputs) -> Result<Vec<f64>, Invalid> {
    inputs.validate()?;
    let d = |i: usize| inputs.dims[i] as usize;
    let mut output = vec![0.0; inputs.operation.output_elements(&inputs.dims)];
    let a = inputs.f32s("a.bin")?;
    let b = inputs.f32s("b.bin")?;
    match inputs.operation {
        Operation::Matmul => matmul(&mut output, a, b, d(1), d(2)),
        Operation::Gelu => gelu(&mut output, a, b),
        Operation::LayerNorm => layer_norm(&mut output, a, b, inputs.f32s("c.bin")?),
        Operation::Triangle => triangle(&mut output, a, b, d(0), d(1)),
        Operation::Neighbor => {
            let (starts, indices) = (inputs.u32s("rowptr.bin")?, inputs.u32s("indices.bin")?);
            neighbor(&mut output, a, b, starts, indices, d(1));
        }
    }
    Ok(output)
}

/// `C[i,j] = sum_k A[i,k] B[k,j]`: a (m,k), b (k,n).
fn matmul(output: &mut [f64], a: &[f32], b: &[f32], n: usize, k: usize) {
    /// Rows of B that stay in cache while a thread's rows of C pass over them.
    const BLOCK: usize = 32;
    let b: Vec<f64> = b.iter().map(|&value| value.into()).collect();
    by_rows(output, n, |first, rows| {
        for (block, b_block) in b.chunks(BLOCK * n).enumerate() {
            for (i, row) in rows.chunks_exact_mut(n).enumerate() {
                let a_row = &a[(first + i) * k + block * BLOCK..(first + i + 1) * k];
                let (a_fours, a_rest) = a_row[..b_block.len() / n].as_chunks::<4>();
                // Four rows of B at a time: C is loaded and stored once for four products.
                let (b_fours, b_rest) = b_block.split_at(a_fours.len() * 4 * n);
                for (&a, b) in a_fours.iter().zip(b_fours.chunks_exact(4 * n)) {
                    let [a0, a1, a2, a3] = a.map(f64::from);
                    let (b01, b23) = b.split_at(2 * n);
                    let ((b0, b1), (b2, b3)) = (b01.split_at(n), b23.split_at(n));
                    for ((((c, b0), b1), b2), b3) in row.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3)
                    {
                        *c += a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3;
                    }
                }
                for (&a, b) in a_rest.iter().zip(b_rest.chunks_exact(n)) {
                    let a = f64::from(a);
                    for (c, b) in row.iter_mut().zip(b) {
                        *c += a * b;
                    }
                }
            }
        }
    });
}

/// `0.5 z (1 + tanh(0.7978845608 (z + 0.044715 z^3)))` with z = x + bias: a (rows,width), b (width).
fn gelu(output: &mut [f64], a: &[f32], b: &[f32]) {
    let width = b.len();
    by_rows(output, width, |first, rows| {
        for (row, x) in rows
            .chunks_exact_mut(width)
            .zip(a[first * width..].chunks_exact(width))
        {
            for ((y, &x), &bias) in row.iter_mut().zip(x).zip(b) {
                let z = f64::from(x) + f64::from(bias);
                *y = 0.5 * z * (1.0 + (GELU_SCALE * (z + GELU_CUBIC * z * z * z)).tanh());
            }
        }
    });
}

/// `(x - mean) / sqrt(variance + 1e-5) b + c` of each row, the variance centred and divided by width:
/// a (rows,width), b, c (width).
fn layer_norm(output: &mut [f64], a: &[f32], b: &[f32], c: &[f32]) {
    let width = b.len();
    by_rows(output, width, |first, rows| {
        for (row, x) in rows
            .chunks_exact_mut(width)
            .zip(a[first * width..].chunks_exact(width))
        {
            let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / width as f64;
            let squares = x
                .iter()
                .map(|&x| (f64::from(x) - mean).powi(2))
                .sum::<f64>();
            let deviation = (squares / width as f64 + EPSILON).sqrt();
            for (((y, &x), &scale), &shift) in row.iter_mut().zip(x).zip(b).zip(c) {
                *y = (f64::from(x) - mean) / deviation * f64::from(scale) + f64::from(shift);
            }
        }
    });
}

/// `O[i,j,c] = sum_k A[i,k,c] B[j,k,c]`: a, b (n,n,channels).
fn triangle(output: &mut [f64], a: &[f32], b: &[f32], n: usize, channels: usize) {
    let plane = n * channels;
    by_rows(output, plane, |first, rows| {
        for (row, a) in rows
            .chunks_exact_mut(plane)
            .zip(a[first * plane..].chunks_exact(plane))
        {
            for (sums, b) in row.chunks_exact_mut(channels).zip(b.chunks_exact(plane)) {
                for (a, b) in a.chunks_exact(channels).zip(b.chunks_exact(channels)) {
                    for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
                        *sum += f64::from(a) * f64::from(b);
                    }
                }
            }
        }
    });
}

/// `y[i] = sum of w[e] x[index[e]]` over the edges e of row i: a (nodes,width), b (edges), CSR.
fn neighbor(
    output: &mut [f64],
    a: &[f32],
    b: &[f32],
    starts: &[u32],
    indices: &[u32],
    width: usize,
) {
    by_rows(output, width, |first, rows| {
        for (row, ends) in rows.chunks_exact_mut(width).zip(starts[first..].windows(2)) {
            let edges = ends[0] as usize..ends[1] as usize;
            for (&weight, &index) in b[edges.clone()].iter().zip(&indices[edges]) {
                let x = &a[index as usize * width..][..width];
                for (y, &x) in row.iter_mut().zip(x) {
                    *y += f64::from(weight) * f64::from(x);
                }
            }
        }
    });
}

/// Calls `work(first row, rows)` on disjoint runs of whole rows of `width` elements, one run a core.
fn by_rows(output: &mut [f64], width: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let rows = (output.len() / width).div_ceil(cores).max(1);
    thread::scope(|scope| {
        for (run, part) in output.chunks_mut(rows * width).enumerate() {
            let work = &work;
            scope.spawn(move || work(run * rows, part));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::{Array, Data, SEED, generate};

    fn case(operation: Operation, dims: &[u32], arrays: Vec<Data>) -> Vec<f64> {
        let names = operation.inputs(dims).into_iter().map(|file| file.name);
        let arrays = names
            .zip(arrays)
            .map(|(name, data)| Array { name, data })
            .collect();
        reference(&Inputs {
            operation,
            dims: dims.to_vec(),
            arrays,
        })
        .unwrap()
    }

    fn f32s(values: &[f32]) -> Data {
        Data::F32(values.to_vec())
    }

    fn near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn matmul_of_two_by_three() {
        let a = f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let b = f32s(&[7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
        let output = case(Operation::Matmul, &[2, 2, 3], vec![a, b]);
        assert_eq!(output, [58.0, 64.0, 139.0, 154.0]);
    }

    /// Blocks, fours and their remainders against one sum an element, dims on both sides of each.
    #[test]
    fn matmul_in_blocks_is_the_plain_sum() {
        for dims in [[1, 1, 1], [3, 2, 4], [5, 3, 31], [2, 7, 32], [17, 19, 71]] {
            let inputs = generate(Operation::Matmul, &dims, 1).unwrap();
            let (a, b) = (inputs.f32s("a.bin").unwrap(), inputs.f32s("b.bin").unwrap());
            let [m, n, k] = dims.map(|d| d as usize);
            let product =
                |i: usize, j: usize, l: usize| f64::from(a[i * k + l]) * f64::from(b[l * n + j]);
            let plain: Vec<f64> = (0..m * n)
                .map(|at| (0..k).map(|l| product(at / n, at % n, l)).sum())
                .collect();
            near(&reference(&inputs).unwrap(), &plain);
        }
    }

    #[test]
    fn gelu_of_known_values() {
        // Two rows; z = -1, 0 and 1, 2 after the bias.
        let output = case(
            Operation::Gelu,
            &[2, 2],
            vec![f32s(&[-1.5, -0.5, 0.5, 1.5]), f32s(&[0.5, 0.5])],
        );
        // z / (1 + exp(-2 u)) is the same function without tanh.
        let gelu = |z: f64| z / (1.0 + (-2.0 * 0.7978845608 * (z + 0.044715 * z.powi(3))).exp());
        near(&output, &[gelu(-1.0), 0.0, gelu(1.0), gelu(2.0)]);
        assert!((output[2] - 0.841192).abs() < 1e-6, "{}", output[2]);
    }

    #[test]
    fn layer_norm_of_known_rows() {
        // Mean 2 and variance 2/3; then no variance at all, which leaves the shift.
        let x = f32s(&[1.0, 2.0, 3.0, 0.25, 0.25, 0.25]);
        let (scale, shift) = (f32s(&[1.0, 2.0, 3.0]), f32s(&[0.0, 0.5, 1.0]));
        let output = case(Operation::LayerNorm, &[2, 3], vec![x, scale, shift]);
        let unit = 1.0 / (2.0f64 / 3.0 + 1e-5).sqrt();
        near(&output, &[-unit, 0.5, 3.0 * unit + 1.0, 0.0, 0.5, 1.0]);
    }

    #[test]
    fn triangle_of_two_nodes() {
        // One channel is A B^T; a second channel of ones counts k.
        let a = f32s(&[1.0, 1.0, 2.0, 1.0, 3.0, 1.0, 4.0, 1.0]);
        let b = f32s(&[5.0, 1.0, 6.0, 1.0, 7.0, 1.0, 8.0, 1.0]);
        let output = case(Operation::Triangle, &[2, 2], vec![a, b]);
        assert_eq!(output, [17.0, 2.0, 23.0, 2.0, 39.0, 2.0, 53.0, 2.0]);
    }

    #[test]
    fn neighbor_sums_repeated_edges_and_leaves_empty_rows_zero() {
        let x = f32s(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0]);
        let weights = f32s(&[0.5, 0.5, -1.0]);
        let (starts, indices) = (Data::U32(vec![0, 2, 2, 3]), Data::U32(vec![2, 2, 0]));
        let output = case(
            Operation::Neighbor,
            &[3, 2, 3],
            vec![x, weights, starts, indices],
        );
        assert_eq!(output, [3.0, 30.0, 0.0, 0.0, -1.0, -10.0]);
        let empty = generate(Operation::Neighbor, &[7, 9, 0], SEED).unwrap();
        assert_eq!(reference(&empty).unwrap(), vec![0.0; 63]);
    }

    #[test]
    fn invalid_inputs_are_refused() {
        let mut inputs = generate(Operation::Neighbor, &[3, 2, 3], SEED).unwrap();
        inputs.arrays[3].data = Data::U32(vec![0, 3, 0]);
        assert!(
            reference(&inputs)
                .unwrap_err()
                .to_string()
                .contains("indices.bin")
        );
    }
}
