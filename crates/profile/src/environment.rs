//! The environment that profiled programs start with.
//!
//! A report embeds every variable of its target, so the profiler and the target get an allow-list and
//! nothing else: no key or token can reach a report.

use std::ffi::OsString;

/// What passes through where it is set.
pub const ALLOWED: [&str; 30] = [
    // Finding programs and libraries
    "PATH",
    "HOME",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    // The device
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_CACHE_PATH",
    "CUDA_CACHE_DISABLE",
    "CUDA_MODULE_LOADING",
    "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    // Compilers that PyTorch and Triton start
    "CC",
    "CXX",
    "CPATH",
    "LIBRARY_PATH",
    "TRITON_CACHE_DIR",
    "TRITON_HOME",
    "TRITON_PTXAS_PATH",
    "TRITON_LIBCUDA_PATH",
    "TORCHINDUCTOR_CACHE_DIR",
    "XDG_CACHE_HOME",
    // Text and time
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "USER",
];

/// The allowed variables of this process, in the order of [`ALLOWED`].
pub fn scrubbed() -> Vec<(OsString, OsString)> {
    ALLOWED
        .iter()
        .filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)))
        .collect()
}
