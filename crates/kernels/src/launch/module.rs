//! One loaded PTX object and its entries.

use super::{Gpu, LaunchError, failed, is_old_driver};
use crate::objects;
use crate::variants::{Launch, Variant};
use cudarc::driver::{CudaContext, DriverError, result, sys};
use std::ffi::CString;
use std::sync::Arc;

/// Shared bytes of a block that a launch may have unless its function is allowed more.
const SHARED_BYTES_OF_ANY_LAUNCH: u32 = 48 * 1024;

/// A module that stays loaded as long as its functions may be launched.
pub(super) struct Module {
    context: Arc<CudaContext>,
    module: sys::CUmodule,
    function: sys::CUfunction,
    /// The entry of the launch before.
    first: Option<sys::CUfunction>,
}

impl Module {
    /// Loads the object of `variant`; the driver compiles it for the device here, never in a timed call.
    pub(super) fn load(gpu: &Gpu, variant: &Variant) -> Result<Self, LaunchError> {
        let object = objects::ptx(variant.id).ok_or(LaunchError::NoObject(variant.id))?;
        let (major, minor) = gpu.compute_capability()?;
        if !variant.target.runs_on((major, minor)) {
            return Err(LaunchError::WrongDevice {
                variant: variant.id,
                target: variant.target.name(),
                major,
                minor,
            });
        }
        let context = Arc::clone(&gpu.context);
        context
            .bind_to_thread()
            .map_err(failed("bind the context to this thread"))?;
        let terminated = |text: &str| {
            let error = sys::CUresult::CUDA_ERROR_INVALID_VALUE;
            CString::new(text).map_err(|_| failed("pass text with a zero byte")(DriverError(error)))
        };
        let image = terminated(object.ptx)?;
        // SAFETY: the image is PTX text that ends with a zero byte and outlives the call.
        #[allow(unsafe_code)]
        let module =
            unsafe { result::module::load_data(image.as_ptr().cast()) }.map_err(|error| {
                if is_old_driver(&error) {
                    let object = object.file_name();
                    return LaunchError::OldDriver { object };
                }
                failed(format!("load {}", object.file_name()))(error)
            })?;
        let mut loaded = Self {
            context,
            module,
            function: std::ptr::null_mut(),
            first: None,
        };
        let entry = |id: &str| {
            let symbol = terminated(id)?;
            // SAFETY: the module was loaded above and is unloaded only in `drop`.
            #[allow(unsafe_code)]
            let function = unsafe { result::module::get_function(module, symbol) };
            function.map_err(failed(format!("find the entry {id}")))
        };
        loaded.function = entry(variant.id)?;
        if let Some(first) = &variant.first {
            loaded.first = Some(entry(first.id)?);
        }
        loaded.allow_shared_bytes(variant)?;
        Ok(loaded)
    }

    /// Raises the limit on shared memory of a launch where the variant takes more than every launch may.
    fn allow_shared_bytes(&self, variant: &Variant) -> Result<(), LaunchError> {
        let bytes = variant.dynamic_shared_bytes;
        if variant.static_shared_bytes + bytes <= SHARED_BYTES_OF_ANY_LAUNCH {
            return Ok(());
        }
        // SAFETY: the function belongs to the module that `self` keeps loaded.
        #[allow(unsafe_code)]
        let raised = unsafe {
            result::function::set_function_attribute(
                self.function,
                sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                bytes.cast_signed(),
            )
        };
        raised.map_err(failed(format!(
            "give {} {bytes} bytes of shared memory",
            variant.id
        )))
    }

    /// Checks that the device holds all blocks of `launch` at once, if nothing else runs there. What else runs comes
    /// to an end, so that they all start; two launches at once that wait like this could keep each other out, and
    /// launches of this program are on one stream.
    ///
    /// # Errors
    /// [`LaunchError::NotResident`] where it does not; otherwise where the driver refuses.
    pub(super) fn check_resident(
        &self,
        variant: &Variant,
        launch: Launch,
    ) -> Result<(), LaunchError> {
        let ([x, y, z], [threads_x, threads_y, threads_z]) = (launch.grid, launch.block);
        // SAFETY: a value of integers and pointers, for which zero is one; null pointers are those of no stream and
        // no attributes.
        #[allow(unsafe_code)]
        let mut config: sys::CUlaunchConfig = unsafe { std::mem::zeroed() };
        (config.gridDimX, config.gridDimY, config.gridDimZ) = (x, y, z);
        (config.blockDimX, config.blockDimY, config.blockDimZ) = (threads_x, threads_y, threads_z);
        config.sharedMemBytes = launch.dynamic_shared_bytes;
        // SAFETY: one attribute of the kind that its tag says.
        #[allow(unsafe_code)]
        let mut attribute: sys::CUlaunchAttribute = unsafe { std::mem::zeroed() };
        attribute.id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        attribute.value.clusterDim.x = variant.cluster;
        attribute.value.clusterDim.y = 1;
        attribute.value.clusterDim.z = 1;
        config.attrs = &raw mut attribute;
        config.numAttrs = 1;
        let mut clusters = 0;
        // SAFETY: the function belongs to the module that `self` keeps loaded; the configuration and its attribute
        // outlive the call.
        #[allow(unsafe_code)]
        let asked = unsafe {
            sys::cuOccupancyMaxActiveClusters(&raw mut clusters, self.function, &raw const config)
        };
        asked.result().map_err(failed(format!(
            "ask how many clusters of {} the device holds",
            variant.id
        )))?;
        let (found, expected) = (clusters.unsigned_abs(), x * y * z / variant.cluster);
        if found < expected {
            return Err(LaunchError::NotResident {
                variant: variant.id,
                found,
                expected,
            });
        }
        Ok(())
    }

    /// The variant's own entry; valid as long as `self` lives.
    pub(super) fn function(&self) -> sys::CUfunction {
        self.function
    }

    /// The entry of the launch before, as [`function`](Self::function).
    pub(super) fn first(&self) -> Option<sys::CUfunction> {
        self.first
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // A module that cannot be unloaded goes with the context.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: loaded in `load`, unloaded once; launches of it were synchronised by their owner.
            #[allow(unsafe_code)]
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}
