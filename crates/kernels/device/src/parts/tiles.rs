//! Tiles of binary16 halves in scratch memory, which the blocks of a grid split together, each element once.
//!
//! A tile is 128 rows of A, or columns of B, by 64 steps along K: 1024 quads of high halves, then as many low ones,
//! each in the order in which [`Columns::swizzled`](crate::gpu::Columns::swizzled) reads it. The tiles of A come
//! first, those of the same 128 rows in a row, then those of B; then a word a tile that is not zero if it lies
//! outside the domain of [`f16x3`](crate::parts::f16x3), its segments being what a row, or half a column, has in
//! a tile; then the word of the barrier of the grid.

use crate::gpu::{
    F32x4, GridBarrier, In, Scratch, Shared, barrier, barrier_or, close_stores, fence_async_global,
    fence_async_shared, split, thread_x, unrolled, wait_for_reads_of_stores, wait_for_stores,
};
use crate::parts::f16x3::Largest;
use core::array::from_fn;

/// Rows, or columns, a tile.
pub const TILE: u32 = 128;
/// Steps of K a tile.
pub const STEP: u32 = 64;
/// Quads of the high halves of a tile; as many low ones follow.
pub const HALF: u32 = TILE * STEP / 8;
/// Quads of a tile.
pub const QUADS: u32 = 2 * HALF;
/// Threads that split.
pub const SPLITTERS: u32 = 256;

/// Which tiles there are.
#[derive(Clone, Copy)]
pub struct Tiles {
    /// Of A.
    of_a: u32,
    /// Of A and B.
    all: u32,
    /// Along K.
    pub along_k: u32,
}

impl Tiles {
    /// The tiles of A (m,k) and B (k,n).
    #[inline(always)]
    pub fn new(m: u32, n: u32, k: u32) -> Self {
        let along_k = k / STEP;
        let of_a = m / TILE * along_k;
        Self {
            of_a,
            all: of_a + n / TILE * along_k,
            along_k,
        }
    }

    /// The first tile of the `panel`th 128 rows of A.
    #[inline(always)]
    pub fn rows(self, panel: u32) -> u32 {
        panel * self.along_k
    }

    /// The first tile of the `panel`th 128 columns of B.
    #[inline(always)]
    pub fn columns(self, panel: u32) -> u32 {
        self.of_a + panel * self.along_k
    }

    /// Whether any of the tiles along K from `first` on lies outside the domain, as far as this lane looks.
    #[inline(always)]
    pub fn any_outside(self, scratch: Scratch, first: u32, lane: u32) -> bool {
        let mut any = 0;
        let mut tile = lane;
        while tile < self.along_k {
            any |= scratch.get(4 * QUADS * self.all + first + tile);
            tile += 32;
        }
        any != 0
    }
}

/// The step along K at which element `element` of quad `quad` of a row stands: a quad has the four steps from four
/// times its number on, and those 32 further.
#[inline(always)]
fn step(quad: u32, element: u32) -> u32 {
    4 * quad + element + element / 4 * 28
}

/// What a thread splits of a tile: four quads.
type Raw = [[f32; 8]; 4];

/// Splits an eight of a row or column, which makes two quads: `(high, low)`.
#[inline(always)]
fn split_eight(values: [f32; 8], largest: &mut Largest) -> ([u32; 4], [u32; 4]) {
    let halves: [(u32, u32); 4] = from_fn(|i| largest.split(values[2 * i], values[2 * i + 1]));
    (halves.map(|(high, _)| high), halves.map(|(_, low)| low))
}

/// Splits, with all blocks of the grid, all tiles. Goes through the quads from 0 on of
/// `words`, two tiles of it. All threads of the block take part: the first [`SPLITTERS`] split, and the one after
/// them starts the stores and has to wait for the barrier of the grid that it gets.
#[inline(always)]
pub fn split_all<const N: usize>(
    words: Shared<u32, N>,
    scratch: Scratch,
    tiles: Tiles,
    a: In<f32>,
    b: In<f32>,
    n: u32,
    k: u32,
    block: u32,
    blocks: u32,
) -> GridBarrier {
    let thread = thread_x();
    let starts = thread == SPLITTERS;
    // Of A, thread t has quad t % 8 of every 32nd row; of B, every second quad of a column.
    let (a_row, a_quad) = (thread / 8, thread % 8);
    let (b_column, b_quad) = (thread % TILE, thread / TILE);
    let load = |tile: u32| -> Raw {
        if tile < tiles.of_a {
            let (panel, chunk) = split(tile, tiles.along_k);
            let a = a.from((panel * TILE + a_row) * k + chunk * STEP);
            from_fn(|i| {
                let row = a.from(32 * i as u32 * k);
                let (F32x4([s, t, u, v]), F32x4([w, x, y, z])) =
                    (row.get4_past_l1(a_quad), row.get4_past_l1(a_quad + 8));
                [s, t, u, v, w, x, y, z]
            })
        } else {
            let tile = tile - tiles.of_a;
            let (panel, chunk) = split(tile, tiles.along_k);
            let b = b.from(chunk * STEP * n + panel * TILE + b_column);
            from_fn(|i| from_fn(|e| b.get(step(b_quad + 2 * i as u32, e as u32) * n)))
        }
    };
    let store = |slot: u32, raw: Raw, of_a: bool| -> bool {
        let slot = slot * QUADS;
        let mut fits = true;
        if of_a {
            unrolled!(i in 4 {
                let mut largest = Largest::NONE;
                let (high, low) = split_eight(raw[i], &mut largest);
                let row = a_row + 32 * i as u32;
                let place = slot + 8 * row + (a_quad ^ a_row % 8);
                words.set4(place, high);
                words.set4(place + HALF, low);
                fits &= largest.with_lane(1).with_lane(2).with_lane(4).fits();
            });
        } else {
            let mut largest = Largest::NONE;
            unrolled!(i in 4 {
                let (high, low) = split_eight(raw[i], &mut largest);
                let place = slot + 8 * b_column + (b_quad + 2 * i as u32 ^ b_column % 8);
                words.set4(place, high);
                words.set4(place + HALF, low);
            });
            fits = largest.fits();
        }
        fits
    };

    let splits = thread < SPLITTERS;
    let (mut tile, mut slot) = (block, 0);
    let mut raw = [[0.0; 8]; 4];
    if splits && tile < tiles.all {
        raw = load(tile);
    }
    while tile < tiles.all {
        let next = tile + blocks;
        let mut next_raw = [[0.0; 8]; 4];
        if splits && next < tiles.all {
            next_raw = load(next);
        }
        if !splits {
            wait_for_reads_of_stores::<1>();
        }
        barrier();
        let fits = !splits || store(slot, raw, tile < tiles.of_a);
        fence_async_shared();
        let outside = barrier_or(!fits);
        if !splits {
            words.start_store(starts, slot * QUADS, scratch, tile * QUADS, QUADS);
            close_stores();
            scratch.set_if(starts, 4 * QUADS * tiles.all + tile, outside as u32);
        }
        (raw, tile, slot) = (next_raw, next, slot ^ 1);
    }
    if !splits {
        wait_for_stores();
        fence_async_global();
    }
    GridBarrier::arrive(starts, scratch, (4 * QUADS + 1) * tiles.all, block, blocks)
}
