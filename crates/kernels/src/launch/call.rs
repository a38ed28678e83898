//! One operation ready to be called: module, buffers and arguments in place.

use super::boxes::tensor_map;
use super::module::Module;
use super::{Flush, Gpu, LaunchError, Timer, failed};
use crate::inputs::{Data, Inputs};
use crate::variants::{self, Launch, Variant};
use cudarc::driver::{CudaSlice, DevicePtr, sys};
use mage_evidence::hash::sha256_hex;
use std::collections::BTreeMap;
use std::ffi::c_void;

/// Lets a launch begin when the blocks of the one before it in the stream have ended, before all that they wrote is there
/// (programmatic dependent launch).
const PROGRAMMATIC: sys::CUlaunchAttribute = sys::CUlaunchAttribute {
    id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
    pad: [0; 4],
    value: sys::CUlaunchAttributeValue {
        programmaticStreamSerializationAllowed: 1,
    },
};

/// A kernel variant bound to resident inputs and a reused output.
pub struct Call {
    gpu: Gpu,
    module: Module,
    variant: &'static Variant,
    launch: Launch,
    /// The launch before.
    first: Option<Launch>,
    inputs: Vec<(&'static str, Buffer, usize)>,
    /// The tensor maps of the inputs, where the kernel takes them: their addresses are among the arguments.
    _maps: Vec<CudaSlice<u64>>,
    output: CudaSlice<f32>,
    elements: usize,
    /// Held for the kernel, which has its address.
    _scratch: Option<CudaSlice<u8>>,
    /// Kernel arguments, one slot each; the driver reads as many bytes as the parameter has.
    arguments: Box<[u64]>,
}

enum Buffer {
    F32(CudaSlice<f32>),
    U32(CudaSlice<u32>),
}

impl Call {
    /// Loads the kernel that `requested` dispatches to at these dims on this device, copies the inputs to the
    /// device and sets up the arguments.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn prepare(
        gpu: &Gpu,
        requested: &'static Variant,
        inputs: &Inputs,
    ) -> Result<Self, LaunchError> {
        let variant = variants::dispatch(requested, &inputs.dims, gpu.compute_capability()?);
        let module = Module::load(gpu, variant)?;
        let mut buffers = Vec::new();
        for array in &inputs.arrays {
            let buffer = match &array.data {
                Data::F32(values) => upload(gpu, values).map(Buffer::F32),
                Data::U32(values) => upload(gpu, values).map(Buffer::U32),
            };
            let buffer = buffer.map_err(failed(format!("copy {} to the device", array.name)))?;
            buffers.push((array.name, buffer, array.data.len()));
        }
        let elements = inputs.operation.output_elements(&inputs.dims);
        let output = upload(gpu, &vec![f32::NAN; elements])
            .map_err(failed("allocate the output on the device"))?;
        let mut arguments: Vec<u64> = buffers
            .iter()
            .map(|(_, buffer, _)| match buffer {
                Buffer::F32(slice) => address(gpu, slice),
                Buffer::U32(slice) => address(gpu, slice),
            })
            .collect();
        arguments.push(address(gpu, &output));
        arguments.extend(inputs.dims.iter().map(|&dim| u64::from(dim)));
        let mut maps = Vec::new();
        if let Some(boxes) = variant.boxes(&inputs.dims) {
            for input in 0..buffers.len() {
                let map = tensor_map(gpu, arguments[input], boxes)?;
                arguments.push(address(gpu, &map));
                maps.push(map);
            }
        }
        let launch = variant.launch(&inputs.dims);
        if variant.blocks_wait {
            module.check_resident(variant, launch)?;
        }
        let scratch = match variant.scratch_bytes(&inputs.dims) {
            Some(bytes) => {
                let zeroed = gpu.stream.alloc_zeros::<u8>(bytes);
                let scratch = zeroed.map_err(failed("allocate scratch memory on the device"))?;
                arguments.push(address(gpu, &scratch));
                Some(scratch)
            }
            None => None,
        };
        gpu.synchronize()?;
        Ok(Self {
            gpu: gpu.clone(),
            module,
            variant,
            launch,
            first: variant.first_launch(&inputs.dims),
            inputs: buffers,
            _maps: maps,
            output,
            elements,
            _scratch: scratch,
            arguments: arguments.into_boxed_slice(),
        })
    }

    /// The variant that runs.
    pub fn variant(&self) -> &'static Variant {
        self.variant
    }

    /// Makes the variant's launches once; returns before they have run.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses a launch.
    pub fn launch(&mut self) -> Result<(), LaunchError> {
        let mut pointers: [*mut c_void; 16] = [std::ptr::null_mut(); 16];
        for (pointer, slot) in pointers.iter_mut().zip(self.arguments.iter_mut()) {
            *pointer = std::ptr::from_mut(slot).cast();
        }
        let pointers = &mut pointers[..self.arguments.len()];
        let first = self.module.first().zip(self.first);
        let first = first.map(|(function, launch)| (function, launch, false));
        let own = (
            self.module.function(),
            self.launch,
            self.variant.programmatic(),
        );
        for (function, launch, programmatic) in first.into_iter().chain([own]) {
            let mut attributes = [PROGRAMMATIC];
            let config = sys::CUlaunchConfig {
                gridDimX: launch.grid[0],
                gridDimY: launch.grid[1],
                gridDimZ: launch.grid[2],
                blockDimX: launch.block[0],
                blockDimY: launch.block[1],
                blockDimZ: launch.block[2],
                sharedMemBytes: launch.dynamic_shared_bytes,
                hStream: self.gpu.stream.cu_stream(),
                attrs: attributes.as_mut_ptr(),
                numAttrs: programmatic.into(),
            };
            // SAFETY: the function is loaded as long as `self.module` lives; the argument slots hold, in the
            // kernel's order, device addresses of buffers that `self` owns with the lengths that the dims
            // give, then the dims, then the tensor maps and the scratch memory that the variant has; its table entry
            // gave the launch shape for these dims. A launch that begins before what the one before it wrote is there
            // waits for that by itself: a test holds the table to the source.
            #[allow(unsafe_code)]
            let launched = unsafe {
                sys::cuLaunchKernelEx(
                    &config,
                    function,
                    pointers.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            launched
                .result()
                .map_err(|error| failed(format!("launch {}", self.variant.id))(error))?;
        }
        Ok(())
    }

    /// Fills the output with NaN, so that an element that a call does not write cannot pass a check.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn poison(&mut self) -> Result<(), LaunchError> {
        let poison = vec![f32::NAN; self.output.len()];
        self.gpu
            .stream
            .memcpy_htod(&poison, &mut self.output)
            .map_err(failed("poison the output"))?;
        self.gpu.synchronize()
    }

    /// The output as it is on the device, once everything launched has run.
    ///
    /// # Errors
    /// [`LaunchError`], also for errors of earlier launches.
    pub fn output(&self) -> Result<Vec<f32>, LaunchError> {
        let mut values = self
            .gpu
            .stream
            .clone_dtoh(&self.output)
            .map_err(failed("copy the output from the device"))?;
        self.gpu.synchronize()?;
        values.truncate(self.elements);
        Ok(values)
    }

    /// SHA-256 of each input as it is on the device, by file name.
    ///
    /// # Errors
    /// [`LaunchError`], also for errors of earlier launches.
    pub fn input_sha256(&self) -> Result<BTreeMap<String, String>, LaunchError> {
        self.inputs
            .iter()
            .map(|(name, buffer, length)| {
                let bytes = match buffer {
                    Buffer::F32(slice) => self.bytes(slice, *length, f32::to_le_bytes),
                    Buffer::U32(slice) => self.bytes(slice, *length, u32::to_le_bytes),
                };
                bytes
                    .map(|bytes| (name.to_string(), sha256_hex(&bytes)))
                    .map_err(failed(format!("copy {name} from the device")))
            })
            .collect()
    }

    /// Event spans of `iterations` calls in microseconds, after `warmup` calls.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn measure(&mut self, warmup: u32, iterations: u32) -> Result<Vec<f64>, LaunchError> {
        let timer = Timer::new(&self.gpu)?;
        for _ in 0..warmup {
            self.launch()?;
        }
        self.gpu.synchronize()?;
        (0..iterations)
            .map(|_| {
                timer.start()?;
                self.launch()?;
                timer.stop_us()
            })
            .collect()
    }

    /// Event spans of `iterations` calls in microseconds, the cache flushed before each.
    ///
    /// # Errors
    /// [`LaunchError`] where the driver refuses.
    pub fn measure_cold(
        &mut self,
        iterations: u32,
        flush: &mut Flush,
    ) -> Result<Vec<f64>, LaunchError> {
        let timer = Timer::new(&self.gpu)?;
        (0..iterations)
            .map(|_| {
                flush.flush()?;
                timer.start()?;
                self.launch()?;
                timer.stop_us()
            })
            .collect()
    }

    fn bytes<T: cudarc::driver::DeviceRepr + Copy>(
        &self,
        slice: &CudaSlice<T>,
        length: usize,
        to_bytes: fn(T) -> [u8; 4],
    ) -> Result<Vec<u8>, cudarc::driver::DriverError> {
        let values = self.gpu.stream.clone_dtoh(slice)?;
        self.gpu.stream.synchronize()?;
        Ok(values[..length].iter().flat_map(|&v| to_bytes(v)).collect())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Nothing may still run when the module and the buffers go; an error has been or will be told by
        // the call that meets it.
        let _ = self.gpu.synchronize();
    }
}

/// Copies values to the device; an empty array still gets an address.
fn upload<T: cudarc::driver::DeviceRepr + Default + Clone>(
    gpu: &Gpu,
    values: &[T],
) -> Result<CudaSlice<T>, cudarc::driver::DriverError> {
    match values {
        [] => gpu.stream.clone_htod(&vec![T::default()]),
        values => gpu.stream.clone_htod(values),
    }
}

fn address<T>(gpu: &Gpu, slice: &CudaSlice<T>) -> u64 {
    slice.device_ptr(&gpu.stream).0
}
