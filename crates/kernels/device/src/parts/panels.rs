//! Tiles of binary16 halves in scratch memory, which the blocks of a grid split together, each element once, and of
//! which a block waits for those that it reads alone.
//!
//! The grid is one of tiles of C, 128 x 128, two blocks each: a block multiplies a panel of 128 rows of A by a panel of
//! 128 columns of B, half of K. A tile is 64 steps along K of a panel, in two parts of 32 steps: 128 rows of 64
//! bytes of high halves and as many of low ones, in the order in which
//! [`Columns::swizzled`](crate::gpu::Columns::swizzled) reads it. The blocks with the same panel of A and the same half
//! of K share its tiles out among themselves, and so do those with the same panel of B.
//!
//! Behind the tiles stands a flag for each: twice the number of the launch that split it, and one more if a
//! segment of what that block split of A, or of B, lies outside the domain of [`f16x3`](crate::parts::f16x3); a
//! segment is what a row, or a quarter of a column, has in a tile. Then each block has a word to count launches with.

use crate::gpu::{
    F32x4, In, Scratch, Shared, barrier, barrier_or, close_stores, each, fence_async_global,
    fence_async_shared, fence_device, split, thread_x, wait_for_reads_of_stores, wait_for_stores,
    warp_barrier,
};
use crate::parts::f16x3::Largest;
use core::array::from_fn;

/// Rows, or columns, a tile.
pub const TILE: u32 = 128;
/// Steps of K a tile.
const STEP: u32 = 64;
/// Quads of a part of a tile.
pub const PART: u32 = TILE * STEP / 8;
/// Quads of a tile.
const QUADS: u32 = 2 * PART;
/// Threads of a block, which all split.
pub const THREADS: u32 = 512;
/// The thread that starts copies, with a warp whose first it is.
pub const STARTER: u32 = 256;

/// The place of a block among all.
#[derive(Clone, Copy)]
pub struct Place {
    /// Panels of A, and which of them is the block's.
    down: u32,
    row: u32,
    /// Panels of B, and which of them is the block's.
    across: u32,
    column: u32,
    /// Which half of K is the block's.
    half: u32,
    /// Tiles along K in a half.
    tiles: u32,
}

/// A tile that a block splits, of its panels and its half of K.
#[derive(Clone, Copy)]
struct Share {
    kind: Kind,
    chunk: u32,
}

/// Which tile it is. The order is that in which a block splits them.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The tile of A with which the block begins.
    FirstOfA,
    /// Others of A and of B, for all blocks that read them.
    OfA,
    OfB,
    /// The tile of B with which the block begins.
    FirstOfB,
}

impl Place {
    /// The place of the block that multiplies panel `row` of A by panel `column` of B in half `half` of K.
    #[inline(always)]
    pub fn new(m: u32, n: u32, k: u32, row: u32, column: u32, half: u32) -> Self {
        Self {
            down: m / TILE,
            row,
            across: n / TILE,
            column,
            half,
            tiles: k / 2 / STEP,
        }
    }

    /// Parts along K in a half.
    #[inline(always)]
    pub fn parts(self) -> u32 {
        2 * self.tiles
    }

    /// The first tile of half `half` of the block's panel of A.
    #[inline(always)]
    fn first_of_a(self, half: u32) -> u32 {
        (2 * self.row + half) * self.tiles
    }

    /// The first tile of half `half` of the block's panel of B.
    #[inline(always)]
    fn first_of_b(self, half: u32) -> u32 {
        (2 * (self.down + self.column) + half) * self.tiles
    }

    /// The quads at which the `index`th parts of A and of B begin that the block multiplies, in its order.
    #[inline(always)]
    pub fn quads(self, index: u32) -> [u32; 2] {
        let part = index + 2 * self.begin();
        let part = if part < self.parts() {
            part
        } else {
            part - self.parts()
        };
        [self.first_of_a(self.half), self.first_of_b(self.half)]
            .map(|tile| QUADS * tile + PART * part)
    }

    /// The word of the flag of tile `tile`.
    #[inline(always)]
    fn flag(self, tile: u32) -> u32 {
        let all = 2 * (self.down + self.across) * self.tiles;
        4 * QUADS * all + tile
    }

    /// The word with which the block counts launches.
    #[inline(always)]
    fn count(self) -> u32 {
        let block = (self.row * self.across + self.column) * 2 + self.half;
        self.flag(2 * (self.down + self.across) * self.tiles + block)
    }

    /// The number of this launch, from 1 on; all blocks find the same.
    #[inline(always)]
    pub fn launch(self, scratch: Scratch) -> u32 {
        (scratch.get(self.count()) + 1) & 0x7fff_ffff
    }

    /// The tile along K with which the block begins.
    #[inline(always)]
    fn begin(self) -> u32 {
        remainder(self.column, self.tiles)
    }

    /// The share from `share` on that there is.
    #[inline(always)]
    fn existing(self, mut share: Share) -> Share {
        if share.kind == Kind::OfA {
            if share.chunk < self.tiles {
                return share;
            }
            share = Share {
                kind: Kind::OfB,
                chunk: self.row,
            };
        }
        if share.kind == Kind::OfB {
            if share.chunk == self.begin() {
                share.chunk += self.down;
            }
            if share.chunk >= self.tiles {
                share = Share {
                    kind: Kind::FirstOfB,
                    chunk: self.begin(),
                };
            }
        }
        share
    }

    /// The share with which the block begins.
    #[inline(always)]
    fn first(self) -> Share {
        Share {
            kind: Kind::FirstOfA,
            chunk: self.begin(),
        }
    }

    /// The share after `share`; none is after [`Kind::FirstOfB`].
    #[inline(always)]
    fn after(self, share: Share) -> Share {
        self.existing(match share.kind {
            Kind::FirstOfA => Share {
                kind: Kind::OfA,
                chunk: self.column + self.across,
            },
            Kind::OfA => Share {
                chunk: share.chunk + self.across,
                ..share
            },
            _ => Share {
                chunk: share.chunk + self.down,
                ..share
            },
        })
    }

    #[inline(always)]
    fn tile(self, share: Share) -> u32 {
        let first = if share.of_a() {
            self.first_of_a(self.half)
        } else {
            self.first_of_b(self.half)
        };
        first + share.chunk
    }

    /// Whether others read it.
    #[inline(always)]
    fn is_read(self, share: Share) -> bool {
        match share.kind {
            Kind::FirstOfA => self.column < self.tiles,
            Kind::FirstOfB => remainder(share.chunk, self.down) == self.row,
            _ => true,
        }
    }

    /// Raises the flags of what the block split, as the thread that started the stores, once they are there. `outside` is
    /// what [`split_shares`] gave.
    #[inline(always)]
    pub fn raise_flags(self, scratch: Scratch, launch: u32, outside: [bool; 2]) {
        wait_for_stores();
        fence_async_global();
        fence_device();
        let mut share = self.first();
        loop {
            if self.is_read(share) {
                let outside = outside[usize::from(share.of_a())];
                scratch.set_if(
                    true,
                    self.flag(self.tile(share)),
                    2 * launch + outside as u32,
                );
            }
            if share.kind == Kind::FirstOfB {
                break;
            }
            share = self.after(share);
        }
        scratch.set_if(true, self.count(), launch);
    }

    /// Waits, as a warp, for the tiles of half `half` that launch `launch` splits; says whether this lane saw one with
    /// a value outside the domain.
    #[inline(always)]
    pub fn wait(self, scratch: Scratch, launch: u32, half: u32, lane: u32) -> bool {
        let mut outside = 0;
        let mut index = lane;
        while index < 2 * self.tiles {
            let tile = if index < self.tiles {
                self.first_of_a(half) + index
            } else {
                self.first_of_b(half) + (index - self.tiles)
            };
            let mut flag = scratch.acquire(self.flag(tile));
            while flag >> 1 != launch {
                flag = scratch.acquire(self.flag(tile));
            }
            outside |= flag & 1;
            index += 32;
        }
        warp_barrier();
        outside != 0
    }
}

/// `x % n`, at once where x is less than n.
#[inline(always)]
fn remainder(x: u32, n: u32) -> u32 {
    if x < n { x } else { split(x, n).1 }
}

/// The step along K at which element `element` of quad `quad` of a row of a tile stands: a quad has the four steps from
/// four times its number on, and those 32 further. Quads 0 to 3 make the first part.
#[inline(always)]
fn step(quad: u32, element: u32) -> u32 {
    4 * quad + element + element / 4 * 28
}

/// What a thread splits of a tile: two eights, which make four quads.
type Raw = [[f32; 8]; 2];

/// Splits an eight of a row or column, which makes two quads: `(high, low)`.
#[inline(always)]
fn split_eight(values: [f32; 8], largest: &mut Largest) -> ([u32; 4], [u32; 4]) {
    let halves: [(u32, u32); 4] = from_fn(|i| largest.split(values[2 * i], values[2 * i + 1]));
    (halves.map(|(high, _)| high), halves.map(|(_, low)| low))
}

impl Share {
    #[inline(always)]
    fn of_a(self) -> bool {
        matches!(self.kind, Kind::FirstOfA | Kind::OfA)
    }
}

/// Where in shared memory a block puts halves: the first quads.
#[derive(Clone, Copy)]
pub struct Slots {
    /// Of the tile of A with which the block begins.
    pub a: u32,
    /// Of that of B.
    pub b: u32,
    /// Of any other.
    pub others: u32,
}

/// Splits the block's shares, which begin with those of its first products, and has those that others read stored. All
/// [`THREADS`] of the block take part; [`STARTER`] starts the stores. Says whether a segment of what it split of B, and
/// one of A, lies outside the domain.
#[inline(always)]
pub fn split_shares<const N: usize>(
    words: Shared<u32, N>,
    slots: Slots,
    scratch: Scratch,
    place: Place,
    a: In<f32>,
    b: In<f32>,
    n: u32,
    k: u32,
) -> [bool; 2] {
    let thread = thread_x();
    let starts = thread == STARTER;
    let stores = thread / 32 == STARTER / 32;
    // Of A, thread t has quad t % 8 of every 64th row; of B, every fourth quad of a column.
    let (a_row, a_quad) = (thread / 8, thread % 8);
    let (b_column, b_quad) = (thread % TILE, thread / TILE);
    let first_step = place.half * place.tiles * STEP;
    let load = |share: Share| -> Raw {
        let step_of_chunk = first_step + share.chunk * STEP;
        if share.of_a() {
            let a = a.from((place.row * TILE + a_row) * k + step_of_chunk);
            from_fn(|i| {
                let row = a.from(64 * i as u32 * k);
                let (F32x4([s, t, u, v]), F32x4([w, x, y, z])) =
                    (row.get4_past_l1(a_quad), row.get4_past_l1(a_quad + 8));
                [s, t, u, v, w, x, y, z]
            })
        } else {
            let b = b.from(step_of_chunk * n + place.column * TILE + b_column);
            from_fn(|i| from_fn(|e| b.get(step(b_quad + 4 * i as u32, e as u32) * n)))
        }
    };
    let store = |slot: u32, raw: Raw, of_a: bool| -> bool {
        let mut fits = true;
        if of_a {
            let second = a_quad / 4;
            each::<2>(|i| {
                let mut largest = Largest::NONE;
                let (high, low) = split_eight(raw[i], &mut largest);
                let row = a_row + 64 * i as u32;
                let place = slot + PART * second + 8 * row;
                // Lanes of the second part store in the other order, so that eight lanes meet eight quads of banks.
                let (near, far) = if second == 0 {
                    (high, low)
                } else {
                    (low, high)
                };
                words.set4(place + (a_quad ^ a_row % 8), near);
                words.set4(place + (a_quad ^ 4 ^ a_row % 8), far);
                fits &= largest.with_lane(1).with_lane(2).with_lane(4).fits();
            });
        } else {
            let mut largest = Largest::NONE;
            each::<2>(|i| {
                let (high, low) = split_eight(raw[i], &mut largest);
                let place = slot + PART * i as u32 + 8 * b_column;
                words.set4(place + (b_quad ^ b_column % 8), high);
                words.set4(place + (b_quad ^ 4 ^ b_column % 8), low);
            });
            fits = largest.fits();
        }
        fits
    };

    let mut share = place.first();
    let mut loading = share;
    let mut more = true;
    let (mut ahead, mut used) = (2, false);
    let mut outside_of = [false; 2];
    let mut raws = [[[0.0; 8]; 2]; 3];
    loop {
        raws = [raws[1], raws[2], raws[2]];
        if more {
            raws[2] = load(loading);
            more = loading.kind != Kind::FirstOfB;
            loading = place.after(loading);
        }
        if ahead > 0 {
            ahead -= 1;
            continue;
        }
        let slot = match share.kind {
            Kind::FirstOfA => slots.a,
            Kind::FirstOfB => slots.b,
            _ => slots.others,
        };
        if matches!(share.kind, Kind::OfA | Kind::OfB) {
            if used {
                if stores {
                    wait_for_reads_of_stores::<0>();
                }
                barrier();
            }
            used = true;
        }
        let fits = store(slot, raws[0], share.of_a());
        fence_async_shared();
        let outside = barrier_or(!fits);
        outside_of[usize::from(share.of_a())] |= outside;
        if stores {
            words.start_store(
                starts & place.is_read(share),
                slot,
                scratch,
                place.tile(share) * QUADS,
                QUADS,
            );
            close_stores();
        }
        if share.kind == Kind::FirstOfB {
            break;
        }
        share = place.after(share);
    }
    outside_of
}
