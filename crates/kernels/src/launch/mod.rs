//! Kernels on a CUDA device, over cudarc's driver layer.
//!
//! Everything that a timed call needs is made beforehand: context, stream, module, buffers, arguments and
//! events. A timed call is then one `cuLaunchKernelEx`, or as many as the variant has launches, between two event
//! records, on one stream.

mod boxes;
mod call;
mod flush;
mod gpu;
mod module;
mod timer;

pub use call::Call;
pub use flush::Flush;
pub use gpu::{Absent, Gpu};
pub use timer::Timer;

use cudarc::driver::{DriverError, sys::CUresult};

/// Why the device could not do something.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The driver refused.
    #[error("CUDA: cannot {action}: {reason}")]
    Driver {
        /// What was tried.
        action: String,
        /// What the driver said.
        reason: DriverError,
    },
    /// The driver is too old for the built PTX.
    #[error(
        "CUDA: {object}: the driver does not know this PTX version, expected a driver of CUDA 12.0 or later; update the NVIDIA driver"
    )]
    OldDriver {
        /// The PTX object.
        object: String,
    },
    /// The device lacks instructions of the variant.
    #[error(
        "variant {variant}: found a device of compute capability {major}.{minor}, expected one that runs {target}"
    )]
    WrongDevice {
        /// The variant.
        variant: &'static str,
        /// What its object is compiled for.
        target: &'static str,
        /// Compute capability of the device, major.
        major: u32,
        /// Compute capability of the device, minor.
        minor: u32,
    },
    /// The blocks of a variant wait for each other, and the device does not hold all of them at once.
    #[error(
        "variant {variant}: found a device that holds {found} clusters at once, expected {expected}"
    )]
    NotResident {
        /// The variant.
        variant: &'static str,
        /// Clusters that the device holds at once.
        found: u32,
        /// Clusters of the launch.
        expected: u32,
    },
    /// No object was built for a variant.
    #[error("variant {0}: found no PTX object, expected one; run `cargo xtask kernels`")]
    NoObject(&'static str),
}

impl LaunchError {
    /// Whether this device cannot run the variant, and another could.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::WrongDevice { .. } | Self::NotResident { .. })
    }
}

/// Names what was tried when the driver refuses.
fn failed(action: impl Into<String>) -> impl FnOnce(DriverError) -> LaunchError {
    let action = action.into();
    move |reason| LaunchError::Driver { action, reason }
}

/// Whether the driver refuses because the PTX is newer than it.
fn is_old_driver(error: &DriverError) -> bool {
    error.0 == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
}
