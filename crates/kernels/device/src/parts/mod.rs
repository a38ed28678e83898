//! What several variants are made of.

pub mod f16x3;
pub mod full_range;
pub mod presplit;
pub mod tiles;
