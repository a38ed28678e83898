//! Panels of binary16 halves in scratch memory, which the blocks that multiply them split themselves, a share each, before they
//! meet.
//!
//! Halves stand as [`halves`](crate::parts::halves) has them. A block multiplies half a panel of A, 64 rows, by a panel of B.
//! The blocks of a row of the grid need the same rows of A, and share the parts along K out among themselves: the one in column
//! x splits every part `x + i * columns`. Those of a column share out the halves of the parts of its panel of B, 64 columns each:
//! the one in row y splits every half `y + i * rows`. A warpgroup splits a piece at a time, 32 steps of 64 rows or columns.
//!
//! Behind the halves stands a word for each block: not zero if a segment of what it split, four steps of a row or eight of a
//! column, lies outside the domain of [`f16x3`](crate::parts::f16x3). Then stands a [`Meeting`] for each row and for each column,
//! at which its blocks arrive once their shares are stored.

use crate::gpu::{
    F32x4, In, Meeting, Scratch, array, each, fence_async_global, fence_device, thread_x,
};
use crate::parts::halves::{PANEL, PART, STEPS, store_eight, store_quad};

/// Threads of a warpgroup.
const GROUP: u32 = 128;
/// Warpgroups that split A, and as many that split B.
const GROUPS: u32 = 2;
/// Rows of blocks at most; of columns there are no more.
const MOST_ROWS: u32 = 16;

/// The place of a block among all, and their halves.
#[derive(Clone, Copy)]
pub struct Shares {
    scratch: Scratch,
    /// Half panels of A, and which of them is the block's.
    rows: u32,
    row: u32,
    /// Panels of B, and which of them is the block's.
    columns: u32,
    column: u32,
    /// Parts of a panel.
    parts: u32,
}

impl Shares {
    /// Those of the block in row `row` and column `column`, for A (m,k) and B (k,n).
    #[inline(always)]
    pub fn new(scratch: Scratch, [m, n, k]: [u32; 3], row: u32, column: u32) -> Self {
        Self {
            scratch,
            rows: m / (PANEL / 2),
            row,
            columns: n / PANEL,
            column,
            parts: k / STEPS,
        }
    }

    /// Parts of a panel.
    #[inline(always)]
    pub fn parts(self) -> u32 {
        self.parts
    }

    /// The quad of part `part` of the block's rows of A.
    #[inline(always)]
    pub fn quad_of_a(self, part: u32) -> u32 {
        PART * (self.row / 2 * self.parts + part) + PART / 2 * (self.row % 2)
    }

    /// The quad of part `part` of the block's columns of B.
    #[inline(always)]
    pub fn quad_of_b(self, part: u32) -> u32 {
        PART * ((self.rows / 2 + self.column) * self.parts + part)
    }

    /// The word that tells whether what a block split lies outside the domain.
    #[inline(always)]
    fn flag(self, row: u32, column: u32) -> u32 {
        4 * PART * (self.rows / 2 + self.columns) * self.parts + row * self.columns + column
    }

    /// Where the blocks of the row meet.
    #[inline(always)]
    fn of_row(self) -> Meeting {
        Meeting::at(self.scratch, self.flag(self.rows, 0) + self.row)
    }

    /// Where the blocks of the column meet.
    #[inline(always)]
    fn of_column(self) -> Meeting {
        Meeting::at(
            self.scratch,
            self.flag(self.rows, 0) + self.rows + self.column,
        )
    }

    /// Splits the block's shares as warpgroup `group` of four, of which every second one has A; says whether they lie in the domain.
    #[inline(always)]
    pub fn split(self, group: u32, [a, b]: [In<f32>; 2], [n, k]: [u32; 2]) -> bool {
        let mut fits = true;
        if group % 2 == 0 {
            let a = a.from(self.row * (PANEL / 2) * k);
            let mut part = group / 2 * self.columns + self.column;
            while part < self.parts {
                let next = part + GROUPS * self.columns;
                let raw =
                    [part, next.min(self.parts - 1)].map(|part| read_rows(a.from(part * STEPS), k));
                fits &= self.split_rows(part, raw[0]);
                if next < self.parts {
                    fits &= self.split_rows(next, raw[1]);
                }
                part += 2 * GROUPS * self.columns;
            }
        } else {
            let b = b.from(self.column * PANEL);
            let mut half = group / 2 * self.rows + self.row;
            while half < 2 * self.parts {
                let next = half + GROUPS * self.rows;
                let raw = [half, next.min(2 * self.parts - 1)].map(|half| {
                    read_columns(b.from(half / 2 * STEPS * n + half % 2 * (PANEL / 2)), n)
                });
                fits &= self.split_columns(half, raw[0]);
                if next < 2 * self.parts {
                    fits &= self.split_columns(next, raw[1]);
                }
                half += 2 * GROUPS * self.rows;
            }
        }
        fits
    }

    /// Splits 32 steps of the block's rows of A to part `part`; says whether they lie in the domain.
    #[inline(always)]
    fn split_rows(self, part: u32, raw: [[f32; 4]; 4]) -> bool {
        let (row, lane) = (thread_x() % GROUP / 8, thread_x() % 8);
        let to = self.quad_of_a(part);
        let mut fits = true;
        each::<4>(|i| {
            let row = row + 16 * i as u32;
            fits &= store_quad(self.scratch, to, row, lane, raw[i]).fits(raw[i]);
        });
        fits
    }

    /// Splits 32 steps of half of the block's columns of B to half `half` of its parts; says whether they lie in the domain.
    #[inline(always)]
    fn split_columns(self, half: u32, raw: [[f32; 8]; 2]) -> bool {
        let (pair, quad) = (thread_x() % GROUP / 4, thread_x() % 4);
        let to = self.quad_of_b(half / 2) + PART / 2 * (half % 2);
        let mut fits = true;
        each::<2>(|i| {
            let column = 2 * pair + i as u32;
            fits &= store_eight(self.scratch, to, column, quad, raw[i]).fits(raw[i]);
        });
        fits
    }

    /// Tells the other blocks of the row and of the column that the block has split its shares, and whether a value of them lies
    /// `outside` the domain, and waits until they have split theirs, and copies may read them: as one thread, after a barrier of the
    /// block.
    #[inline(always)]
    pub fn meet(self, outside: bool) {
        let before = self.of_row().before();
        self.scratch
            .set_if(true, self.flag(self.row, self.column), u32::from(outside));
        fence_device();
        self.of_row().arrive(self.column, self.columns);
        self.of_column().arrive(self.row, self.rows);
        self.of_row().wait(before);
        self.of_column().wait(before);
        fence_async_global();
    }

    /// Whether a block that split what this one multiplies met a segment outside the domain, as far as this lane of a warp asks
    /// for it, after [`meet`](Self::meet) in one of them and a barrier of the warp.
    #[inline(always)]
    pub fn any_outside(self, lane: u32) -> bool {
        let (row, column) = if lane < MOST_ROWS {
            (lane.min(self.rows - 1), self.column)
        } else {
            (self.row, (lane - MOST_ROWS).min(self.columns - 1))
        };
        self.scratch.get(self.flag(row, column)) != 0
    }
}

/// Reads 32 steps of 64 rows of A, from where `a` begins. Eight lanes have a row, four steps each, and a thread four rows, 16 from
/// each other.
#[inline(always)]
fn read_rows(a: In<f32>, k: u32) -> [[f32; 4]; 4] {
    let (row, lane) = (thread_x() % GROUP / 8, thread_x() % 8);
    array(|i| {
        let F32x4(values) = a.from((row + 16 * i as u32) * k).get4_past_l1(lane);
        values
    })
}

/// Reads 32 steps of 64 columns of B, from where `b` begins. Four lanes have two neighbouring columns, eight steps each.
#[inline(always)]
fn read_columns(b: In<f32>, n: u32) -> [[f32; 8]; 2] {
    let (pair, quad) = (thread_x() % GROUP / 4, thread_x() % 4);
    let rows: [[f32; 2]; 8] = array(|e| b.get2_past_l1((8 * quad + e as u32) * (n / 2) + pair));
    array(|i| rows.map(|row| row[i]))
}
