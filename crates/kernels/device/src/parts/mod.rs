//! What variants are made of, beside their own files.

pub mod f16x3;
pub mod full_range;
pub mod gelu;
pub mod halves;
pub mod panels;
pub mod shares;
pub mod stages;
pub mod tiles;
pub mod turns;
