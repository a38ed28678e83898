//! Tensor maps: what the device needs to know of an array to read boxes of it.

use super::{Gpu, LaunchError, failed};
use crate::variants::Boxes;
use cudarc::driver::{CudaSlice, sys};

/// The tensor map of the FP32 array at `address`, on the device.
///
/// # Errors
/// [`LaunchError`] where the driver refuses.
pub(super) fn tensor_map(
    gpu: &Gpu,
    address: u64,
    boxes: Boxes,
) -> Result<CudaSlice<u64>, LaunchError> {
    let array = boxes.array.map(u64::from);
    let strides = [4 * array[0], 4 * array[0] * array[1]];
    let element_strides = [1; 3];
    let swizzle = match 4 * boxes.size[0] {
        32 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        _ => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
    };
    let mut map = sys::CUtensorMap_st { opaque: [0; 16] };
    // SAFETY: writes `map` alone; reads three dims, two strides, three sizes and three element strides. The address
    // is only noted.
    #[allow(unsafe_code)]
    let encoded = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            3,
            address as *mut _,
            array.as_ptr(),
            strides.as_ptr(),
            boxes.size.as_ptr(),
            element_strides.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    encoded
        .result()
        .map_err(failed("make a tensor map of an input"))?;
    gpu.stream
        .clone_htod(&map.opaque)
        .map_err(failed("copy a tensor map to the device"))
}
