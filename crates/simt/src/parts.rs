//! What variants are made of, beside their own files.

#[path = "../../kernels/device/src/parts/f16x3.rs"]
pub mod f16x3;
#[path = "../../kernels/device/src/parts/full_range.rs"]
pub mod full_range;
#[path = "../../kernels/device/src/parts/gelu.rs"]
pub mod gelu;
#[path = "../../kernels/device/src/parts/halves.rs"]
pub mod halves;
#[path = "../../kernels/device/src/parts/stages.rs"]
pub mod stages;
#[path = "../../kernels/device/src/parts/turns.rs"]
pub mod turns;
