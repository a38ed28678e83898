//! The GPU kernels, one variant a file, written against the small [`gpu`] module.
//!
//! A build for nvptx64 selects one variant with `--cfg variant="<id>"`, so that a change of one kernel leaves
//! the objects of all others as they are, byte for byte.

#![no_std]
#![deny(unsafe_code)]
#![cfg_attr(
    target_arch = "nvptx64",
    feature(
        abi_ptx,
        asm_experimental_arch,
        core_intrinsics,
        link_llvm_intrinsics,
        stdarch_nvptx
    )
)]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

pub mod gpu;
#[cfg(target_arch = "nvptx64")]
pub mod parts;
pub mod variants;
