//! Index arithmetic.

/// The position of a flat index in rows of `width` elements: `(index / width, index % width)`.
/// No dim of a launch is zero, and a zero `width` counts as one.
#[inline(always)]
pub fn split(index: u32, width: u32) -> (u32, u32) {
    let width = width.max(1); // one instruction, where a division that may trap costs a branch
    (index / width, index % width)
}
