//! A variant of the table, run on the CPU.

use crate::count::Counts;
use crate::fault::Error;
use crate::gpu::Kernel;
use crate::launch::Launch;
use crate::variants as device;
use mage_kernels::inputs::{Data, Inputs};
use mage_kernels::variants::Variant;
use std::num::NonZero;
use std::thread;

/// Compute capability of the device that the executor stands for.
pub const CAPABILITY: (u32, u32) = (9, 0);

/// What a variant gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// The output, row-major; an element that nothing wrote is NaN.
    pub output: Vec<f32>,
    /// What the kernel did.
    pub counts: Counts,
}

macro_rules! kernels {
    ($($id:ident $([after $first:ident])?)*) => {
        /// The kernel of the variant of this id; none where it uses an instruction that is not emulated.
        pub fn kernel(id: &str) -> Option<Kernel> {
            Some(match id {
                $(stringify!($id) => device::$id::$id(),)*
                _ => return None,
            })
        }

        /// What is launched before the kernel of the variant of this id, with the same arguments; none of most.
        fn first(id: &str) -> Option<Kernel> {
            $($(
                if id == stringify!($id) {
                    return Some(device::$id::$first());
                }
            )?)*
            None
        }
    };
}

/// The first instruction of each of the other variants that is not emulated.
const DEVICE_ONLY: &[(&str, &str)] = &[
    ("matmul_local", FLAGS),
    ("matmul_meet", FLAGS),
    ("matmul_presplit", GRID),
    ("multiply_halves", NOTHING),
    ("multiply_ring", NOTHING),
];

const NOTHING: &str = "shared memory that nothing wrote, to measure what products cost alone";
const FLAGS: &str = "a flag of another block in global memory (ld.acquire)";
const GRID: &str = "a barrier of all blocks of the grid in global memory (atom.add)";

kernels! {
    bias_gelu
    bias_gelu_bulk
    bias_gelu_few
    bias_gelu_full
    bias_gelu_loop
    bias_gelu_once
    bias_gelu_order
    bias_gelu_pair
    bias_gelu_quad
    bias_gelu_row
    bias_gelu_rows
    bias_gelu_share
    bias_gelu_stream
    bias_gelu_two
    bias_gelu_wave
    bias_gelu_whole
    copy_bulk
    copy_full
    copy_halves
    copy_pair
    copy_ring
    copy_rows
    copy_two
    copy_whole
    copy_wide
    layer_norm
    layer_norm_columns
    layer_norm_exact
    layer_norm_four
    layer_norm_merge
    layer_norm_once
    layer_norm_pair
    layer_norm_shared
    layer_norm_single
    layer_norm_swift
    layer_norm_tile
    layer_norm_two
    layer_norm_warp
    layer_norm_wide
    matmul_ffma_128x64
    matmul_ffma_halves
    matmul_mma_f16x3
    matmul_narrow [after matmul_narrow_first]
    matmul_two_pass [after matmul_two_pass_first]
    matmul_wgmma_f16x3
    matmul_wgmma_f16x3_cluster
    matmul_wgmma_f16x3_stream
    multiply_resident
    neighbor
    neighbor_block
    neighbor_direct
    neighbor_half
    neighbor_warp
    read_edges
    tiled_matmul
    tiled_matmul_8x4
    tiled_matmul_registers
    triangle
    triangle_async
    triangle_box
    triangle_cluster
    triangle_groups
    triangle_halves
    triangle_masked
    triangle_octet
    triangle_ring
    triangle_sector
    triangle_staged
    triangle_stagger
    triangle_tf32
    triangle_tile
    triangle_wide
}

/// Runs a variant on all cores of the host, with every check and every counter.
///
/// # Errors
/// Invalid inputs, dims that the variant does not take, a variant that runs on the device only, or a fault of
/// the kernel.
pub fn execute(variant: &Variant, inputs: &Inputs) -> Result<Execution, Error> {
    let cores = thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    execute_on(cores, variant, inputs)
}

/// As [`execute`], on so many host threads. Neither output nor counts nor a fault depend on how many.
///
/// # Errors
/// As [`execute`].
pub fn execute_on(
    threads: NonZero<usize>,
    variant: &Variant,
    inputs: &Inputs,
) -> Result<Execution, Error> {
    inputs.validate()?;
    if variant.operation != inputs.operation {
        return Err(Error::Launch(format!(
            "{} computes {}, the inputs are of {}",
            variant.id, variant.operation, inputs.operation
        )));
    }
    variant.takes(&inputs.dims).map_err(Error::Launch)?;
    let kernel = kernel(variant.id).ok_or_else(|| device_only(variant.id))?;
    let shape = variant.launch(&inputs.dims);
    let launch = match (first(variant.id), variant.first_launch(&inputs.dims)) {
        (Some(first), Some(before)) => Launch::new(first, before.grid, before.block)
            .shared(before.dynamic_shared_bytes)
            .then(kernel, shape.grid, shape.block),
        _ => Launch::new(kernel, shape.grid, shape.block),
    };
    let launch = match variant.programmatic() {
        true => launch.programmatic(),
        false => launch,
    };
    let mut launch = launch
        .shared(shape.dynamic_shared_bytes)
        .cluster(variant.cluster);
    for array in &inputs.arrays {
        let name = array.name.trim_end_matches(".bin");
        launch = match &array.data {
            Data::F32(values) => launch.floats(name, values),
            Data::U32(values) => launch.integers(name, values),
        };
    }
    launch = launch.output("out", inputs.operation.output_elements(&inputs.dims));
    for &dim in &inputs.dims {
        launch = launch.dim(dim);
    }
    if let Some(boxes) = variant.boxes(&inputs.dims) {
        for input in 0..inputs.arrays.len() {
            launch = launch.boxes(input as u16, boxes);
        }
    }
    if let Some(bytes) = variant.scratch_bytes(&inputs.dims) {
        launch = launch.scratch("scratch", bytes / 4);
    }
    let mut finished = launch.run(threads)?;
    Ok(Execution {
        output: finished.outputs.remove(0),
        counts: finished.counts,
    })
}

/// Why the variant `id` does not run here.
pub fn device_only(id: &str) -> Error {
    let known = DEVICE_ONLY.iter().find(|(variant, _)| *variant == id);
    Error::DeviceOnly {
        variant: id.to_owned(),
        instruction: known.map_or("an instruction that is not emulated", |known| known.1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_kernels::variants::VARIANTS;

    #[test]
    fn each_kernel_has_the_launch_before_its_own_that_the_table_has() {
        for variant in VARIANTS.iter().filter(|v| kernel(v.id).is_some()) {
            let here = first(variant.id).map(|kernel| kernel.name);
            let there = variant.first.as_ref().map(|first| first.id);
            assert_eq!(here, there, "{}", variant.id);
        }
    }
}
