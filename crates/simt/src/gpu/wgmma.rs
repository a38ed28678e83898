//! Tensor-core products of a warpgroup: four warps, of which the first is a multiple of four, multiply 64 rows.
//!
//! The order is [`Accumulators::fence`], any number of [`Accumulators::multiply`], [`Accumulators::commit`],
//! [`Accumulators::wait`]. Here a product is made when all lanes have come to it; what it reads of shared memory
//! counts as read until it is waited for. That its accumulators are left alone until then is not checked.

use super::Shared;
use super::tensor::unpack_f16;
use crate::count::op::Kind;
use crate::lane::{self, Event};
use crate::source::Source;
use crate::worker::{self, Rows, checked, with};
use std::panic::Location;

/// Sums of 64 rows by `2 R` columns over a warpgroup. Warp w of it has the rows 16w to 16w+15; with g the lane
/// divided by four and t the remainder, value 4j + 2h + i is row g + 8h, column 8j + 2t + i.
#[derive(Debug, Clone, Copy)]
pub struct Accumulators<const R: usize>(pub [f32; R]);

/// The pairs of a for `STEPS` steps of 16 along K, as for [`mma_f16`](super::mma_f16), row 0 being the warp's first.
pub type Pairs<const STEPS: usize> = [[u32; 4]; STEPS];

/// Where b lies in shared memory: `columns` rows of 64 binary16 values each, K along a row, in the order of the
/// 128-byte swizzle: the quad c of row r stands at `8 r + (c ^ (r % 8))`.
#[derive(Debug, Clone, Copy)]
pub struct Columns(worker::Columns);

impl Columns {
    /// b from the quad `quad` of `array` on, a multiple of 64; the array is aligned to 1024 bytes.
    pub fn swizzled<const N: usize>(array: Shared<u32, N>, quad: u32) -> Self {
        Self(worker::Columns {
            place: array.place,
            quad,
            along: 0,
        })
    }

    /// The same columns, `steps` steps of 16 further along K: 32 bytes each.
    #[must_use]
    pub fn along_k(self, steps: u32) -> Self {
        Self(worker::Columns {
            along: self.0.along + 2 * steps,
            ..self.0
        })
    }

    /// What lies `quads` quads further, in the same array.
    #[must_use]
    pub fn after(self, quads: u32) -> Self {
        Self(worker::Columns {
            quad: self.0.quad + quads,
            ..self.0
        })
    }
}

impl<const R: usize> Accumulators<R> {
    /// All zero.
    pub const ZERO: Self = Self([0.0; R]);

    /// On the device, orders what was written into the pairs before the products that follow.
    pub fn fence(&mut self, _pairs: &mut [&mut Pairs<4>; 2]) {}

    /// Starts `self = a b`, or with `SUM` `self += a b`, for 16 steps along K.
    #[track_caller]
    pub fn multiply<const SUM: bool>(&mut self, a: [u32; 4], b: Columns) {
        let rows = Rows::Pairs(a.map(unpack_f16));
        self.add::<SUM>(rows, b, Location::caller());
    }

    /// As [`multiply`](Self::multiply), with the 64 rows of a in shared memory, in the same order as b.
    #[track_caller]
    pub fn multiply_shared<const SUM: bool>(&mut self, a: Columns, b: Columns) {
        self.add::<SUM>(Rows::Shared(a.0), b, Location::caller());
    }

    /// On the device, orders what was done with `self` before the products that follow, which take a from shared memory.
    pub fn fence_shared(&mut self) {}

    /// Adds every value to that of `sums`.
    pub fn add_to(&self, sums: &mut [f32; R]) {
        for (sum, value) in sums.iter_mut().zip(self.0) {
            *sum += value;
        }
    }

    /// Closes the group of the products started so far.
    pub fn commit(&mut self) {
        with(|worker| worker.close_products());
    }

    /// Waits until all products are done, which read the pairs and wrote `self`.
    #[track_caller]
    pub fn wait(&mut self, _pairs: &mut [&mut Pairs<4>; 2]) {
        let at = Source::new(Location::caller());
        checked(|worker| worker.end_products(0, at));
    }

    /// Waits until all groups of products but the last `LEFT` are done, of which one wrote `self`; none read pairs.
    #[track_caller]
    pub fn wait_shared<const LEFT: u32>(&mut self) {
        let at = Source::new(Location::caller());
        checked(|worker| worker.end_products(LEFT, at));
    }

    fn add<const SUM: bool>(&mut self, a: Rows, b: Columns, at: &'static Location<'static>) {
        const { assert!(R == 32 || R == 64, "64 or 128 columns") };
        let kind = match R {
            32 => Kind::Product64,
            _ => Kind::Product128,
        };
        checked(|worker| {
            worker.count(kind, at);
            worker.offer(a, b.0, R, at)
        });
        lane::wait(Event::Group { at });
        let products = with(|worker| worker.take());
        for (sum, product) in self.0.iter_mut().zip(products) {
            *sum = match SUM {
                true => *sum + product,
                false => product,
            };
        }
    }
}

/// On the device, changes the registers of each thread of this warpgroup to fewer.
pub fn give_registers<const REGISTERS: u32>() {}

/// On the device, changes the registers of each thread of this warpgroup to more, once others gave them.
pub fn take_registers<const REGISTERS: u32>() {}
