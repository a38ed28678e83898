//! The launches that measure what the device can do, inside a profiler's range.
//!
//! Bandwidth is that of the twins that copy and compute nothing: in DRAM over arrays that are several times larger
//! than L2, in L2 over arrays that stay in it. Arithmetic is that of the twin that multiplies and adds in registers.
//! Every copy is tried, because none of them is the fastest everywhere; the limit is the best of them.

use crate::bench::objects_sha256;
use crate::monitor::{Monitor, NvmlMonitor};
use anyhow::Context;
use mage_evidence::artifact::Device;
use mage_evidence::counters::Limit;
use mage_evidence::counters::artifact::{Plan, PlannedProbe};
use mage_evidence::operation::{Element, Operation};
use mage_evidence::store;
use mage_kernels::inputs::{Array, Data, Inputs};
use mage_kernels::launch::{Call, Gpu};
use mage_kernels::variants;
use std::path::Path;

/// The operation whose arguments the twins take: x of (rows, width), a vector of width, an output like x.
const OPERATION: Operation = Operation::Gelu;
/// Its width.
const WIDTH: u32 = 768;
/// Bytes of a row that are read and written.
const ROW_BYTES: u64 = 2 * 4 * WIDTH as u64;
/// Rows are a multiple of this, which every copy takes.
const ROWS: u64 = 512;
/// The copies.
const COPIES: [&str; 4] = ["copy_two", "copy_rows", "copy_pair", "copy_full"];
/// The arithmetic.
const MULTIPLY: &str = "multiply_resident";
/// Waves of its blocks, so that the last one matters little.
const WAVES: u32 = 4;

/// The launches for a device of this many multiprocessors and bytes of L2.
///
/// # Errors
/// A device without an L2 to speak of.
fn plan(device: &Device) -> anyhow::Result<Vec<PlannedProbe>> {
    let l2 = device.l2_bytes;
    anyhow::ensure!(
        l2 / 5 > ROWS * ROW_BYTES,
        "l2_bytes: found {l2}, expected an L2 that holds copies worth timing"
    );
    let probe = |limit, variant: &str, rows: u64| -> anyhow::Result<PlannedProbe> {
        let rows = u32::try_from(rows).context("rows of a copy")?;
        Ok(PlannedProbe {
            limit,
            variant: variant.to_owned(),
            dims: vec![rows, WIDTH],
        })
    };
    let mut probes = Vec::new();
    for copy in COPIES {
        // Eight times what L2 holds, read and written together.
        let rows = (8 * l2).div_ceil(ROW_BYTES * ROWS) * ROWS;
        probes.push(probe(Limit::Dram, copy, rows)?);
        for fifths in [2, 3] {
            let rows = l2 * fifths / 5 / (ROW_BYTES * ROWS) * ROWS;
            probes.push(probe(Limit::L2, copy, rows)?);
        }
    }
    let multiply = variants::find(MULTIPLY).context("the table has the twin that multiplies")?;
    let rows = device.multiprocessors * multiply.resident_blocks * WAVES;
    probes.push(probe(Limit::Fp32, MULTIPLY, rows.into())?);
    Ok(probes)
}

/// x between 0 and 1, every value another; the vector holds a factor and a term that keep x there.
fn inputs(dims: &[u32]) -> Inputs {
    let arrays = OPERATION.inputs(dims).into_iter().map(|file| {
        debug_assert_eq!(file.element, Element::F32);
        let elements = file.elements() as u32;
        let values: Vec<f32> = match file.name {
            "a.bin" => (0..elements)
                .map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0)
                .collect(),
            _ => (0..elements).map(|i| 0.5 + (i % 2) as f32 / 8.0).collect(),
        };
        Array {
            name: file.name,
            data: Data::F32(values),
        }
    });
    Inputs {
        operation: OPERATION,
        dims: dims.to_vec(),
        arrays: arrays.collect(),
    }
}

/// Writes what will be launched to `file`, then makes each launch, warmed up, inside a range of its own.
///
/// # Errors
/// No device, and whatever it reports.
pub fn run(file: &Path, warmup: u32) -> anyhow::Result<()> {
    let gpu = Gpu::open()?;
    let device = NvmlMonitor::open(&gpu)?.device().clone();
    let probes = plan(&device)?;
    let plan = Plan {
        device,
        objects_sha256: objects_sha256(),
        probes,
    };
    store::write_json(file, &plan)?;
    for probe in &plan.probes {
        let variant = variants::find(&probe.variant).context("the plan names variants")?;
        let mut call = Call::prepare(&gpu, variant, &inputs(&probe.dims))?;
        anyhow::ensure!(
            call.variant().id == probe.variant,
            "{}: the device runs {} in its stead",
            probe.variant,
            call.variant().id
        );
        for _ in 0..warmup {
            call.launch()?;
        }
        gpu.synchronize()?;
        gpu.profiler_start()?;
        call.launch()?;
        gpu.synchronize()?;
        gpu.profiler_stop()?;
    }
    mage_workspace::outln!("{{}}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> Device {
        Device {
            name: "H200, by its data sheet".into(),
            compute_capability: "9.0".into(),
            multiprocessors: 132,
            memory_bytes: 0,
            l2_bytes: 60 << 20,
            max_sm_clock_mhz: 0,
            max_memory_clock_mhz: 0,
            memory_bus_bits: 0,
            driver: String::new(),
            cuda_driver: String::new(),
            uuid: None,
        }
    }

    #[test]
    fn copies_are_far_beyond_l2_or_within_it() {
        let device = h200();
        let probes = plan(&device).unwrap();
        assert_eq!(probes.len(), 3 * COPIES.len() + 1);
        for probe in &probes {
            let variant = variants::find(&probe.variant).unwrap();
            variant.takes(&probe.dims).unwrap();
            assert_eq!(variant.operation, OPERATION);
            let bytes = u64::from(probe.dims[0]) * ROW_BYTES;
            match probe.limit {
                Limit::Dram => assert!(bytes >= 8 * device.l2_bytes && bytes < 9 * device.l2_bytes),
                Limit::L2 => {
                    assert!(bytes * 5 <= 3 * device.l2_bytes && bytes * 3 > device.l2_bytes)
                }
                Limit::Fp32 => assert_eq!(probe.dims, [132 * 10 * 4, WIDTH]),
            }
        }
        let mut small = device;
        small.l2_bytes = 1 << 20;
        assert!(plan(&small).is_err());
    }

    #[test]
    fn inputs_are_finite_and_stay_so() {
        let inputs = inputs(&[2, WIDTH]);
        inputs.validate().unwrap();
        let Data::F32(vector) = &inputs.arrays[1].data else {
            panic!();
        };
        let (factor, term) = (vector[0], vector[1]);
        let end = (0..16_384).fold(0.9f32, |x, _| x.mul_add(factor, term));
        assert!(end.is_normal(), "{end}");
    }
}
