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

/// What a variant gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// The output, row-major; an element that nothing wrote is NaN.
    pub output: Vec<f32>,
    /// What the kernel did.
    pub counts: Counts,
}

/// The kernel of the variant of this id; none where it uses an instruction that is not emulated.
pub fn kernel(id: &str) -> Option<Kernel> {
    Some(match id {
        "tiled_matmul" => device::tiled_matmul::tiled_matmul(),
        "tiled_matmul_registers" => device::tiled_matmul_registers::tiled_matmul_registers(),
        "tiled_matmul_8x4" => device::tiled_matmul_8x4::tiled_matmul_8x4(),
        "bias_gelu" => device::bias_gelu::bias_gelu(),
        "layer_norm" => device::layer_norm::layer_norm(),
        "layer_norm_warp" => device::layer_norm_warp::layer_norm_warp(),
        "layer_norm_tile" => device::layer_norm_tile::layer_norm_tile(),
        "triangle" => device::triangle::triangle(),
        "neighbor" => device::neighbor::neighbor(),
        _ => return None,
    })
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
    let kernel = kernel(variant.id).ok_or_else(|| Error::DeviceOnly(variant.id.to_owned()))?;
    let shape = variant.launch(&inputs.dims);
    let mut launch = Launch::new(kernel, shape.grid, shape.block);
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
    let mut finished = launch.run(threads)?;
    Ok(Execution {
        output: finished.outputs.remove(0),
        counts: finished.counts,
    })
}
