//! Tensor-core products of a warpgroup: 64 rows, of which each of its four warps has 16, by 64 or 128 columns, summed
//! over 16 steps.

use super::{At, Checked, Worker};
use crate::fault::{Access, Fault};
use crate::memory::shared::{Place, Visit};
use crate::source::Source;
use std::collections::{HashMap, VecDeque};
use std::mem;

/// Lanes of a warpgroup.
pub(crate) const WARPGROUP: usize = 128;
/// Rows of a product, and steps.
const ROWS: usize = 64;
const STEPS: usize = 16;
/// Words of a quad.
const QUAD: usize = 4;

/// Rows of 64 binary16 values in shared memory, in the order of the 128-byte swizzle: the quad c of row r stands at
/// `8 r + (c ^ (r % 8))` after `quad`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Columns {
    pub(crate) place: Place,
    /// The first quad, a multiple of 64.
    pub(crate) quad: u32,
    /// Quads of each row before those that a product takes.
    pub(crate) along: u32,
}

/// The quads that hold the 16 values of a row.
fn quads_of(rows: Columns, row: usize) -> [usize; 2] {
    let Columns { quad, along, .. } = rows;
    [0, 1].map(|c| quad as usize + 8 * row + ((along as usize + c) ^ (row % 8)))
}

/// A lane's pairs of a: rows g, g + 8, g, g + 8 of its warp's 16, steps 2t and the next, twice, and those 8 further.
pub(crate) type Pairs = [[f32; 2]; 4];

/// The 64 rows of a product.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows {
    /// A lane's part of them.
    Pairs(Pairs),
    /// All of them, in shared memory.
    Shared(Columns),
}

/// What a lane offers, and what it gets.
#[derive(Debug, Clone)]
struct Part {
    rows: Rows,
    columns: Columns,
    products: Vec<f32>,
}

/// Words that products read while their threads go on.
#[derive(Debug, Clone, Copy)]
struct Reads {
    columns: Columns,
    rows: usize,
    visit: Visit,
    /// The time after it began.
    since: u32,
}

/// The warpgroups of the blocks that run together.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// By lane of the block that runs.
    parts: HashMap<u16, Part>,
    /// By first lane: what products read that are not yet waited for, in groups.
    reads: HashMap<u16, (Vec<Reads>, VecDeque<Vec<Reads>>)>,
}

impl Groups {
    pub(super) fn begin(&mut self) {
        self.parts.clear();
        self.reads.clear();
    }
}

impl Worker {
    /// The lane offers its part of a product with so many values for it.
    pub(crate) fn offer(
        &mut self,
        rows: Rows,
        columns: Columns,
        values: usize,
        at: At,
    ) -> Checked<()> {
        let group = u32::from(self.lane) / WARPGROUP as u32 * WARPGROUP as u32;
        let lanes = self.job.threads() - group;
        if lanes < WARPGROUP as u32 {
            return Err(Box::new(Fault::NoLane {
                lane: lanes,
                lanes,
                place: self.place(at),
            }));
        }
        let part = Part {
            rows,
            columns,
            products: vec![0.0; values],
        };
        self.groups.parts.insert(self.id, part);
        Ok(())
    }

    /// What the lane gets of the product.
    pub(crate) fn take(&mut self) -> Vec<f32> {
        let part = self.groups.parts.remove(&self.id);
        part.map_or_else(Vec::new, |part| part.products)
    }

    /// Makes the product of the warpgroup whose first lane of the block is `first`. All sums begin at zero, and are
    /// rounded to FP32 one after the other.
    pub(crate) fn multiply_group(&mut self, first: usize, at: Source) -> Checked<()> {
        self.run_lane(first as u16);
        let ids: Vec<u16> = (0..WARPGROUP as u16).map(|lane| self.id + lane).collect();
        let part = &self.groups.parts[&ids[0]];
        let (columns, count) = (part.columns, 2 * part.products.len());
        let site = self.sites.find_source(at);
        let visit = Visit {
            lane: self.id,
            site,
        };
        let mut read = vec![(columns, count)];
        let mut a = [[0.0; ROWS]; STEPS];
        if let Rows::Shared(rows) = part.rows {
            read.push((rows, ROWS));
            let values = self.read_rows(rows, ROWS, visit, at)?;
            for (row, steps) in values.into_iter().enumerate() {
                for (step, value) in steps.into_iter().enumerate() {
                    a[step][row] = value;
                }
            }
        }
        for (lane, id) in ids.iter().enumerate() {
            let (warp, g, t) = (lane / 32, lane % 32 / 4, lane % 4);
            let Rows::Pairs(pairs) = self.groups.parts[id].rows else {
                continue;
            };
            for (i, pair) in pairs.into_iter().enumerate() {
                for (j, value) in pair.into_iter().enumerate() {
                    a[2 * t + j + i / 2 * 8][16 * warp + g + i % 2 * 8] = value;
                }
            }
        }
        let b = self.read_rows(columns, count, visit, at)?;
        let mut sums = vec![[0.0f32; ROWS]; count];
        for (sums, column) in sums.iter_mut().zip(&b) {
            for (rows, b) in a.iter().zip(column) {
                for (sum, a) in sums.iter_mut().zip(rows) {
                    *sum += a * b;
                }
            }
        }
        for (lane, id) in ids.iter().enumerate() {
            let (warp, g, t) = (lane / 32, lane % 32 / 4, lane % 4);
            if let Some(part) = self.groups.parts.get_mut(id) {
                for (value, product) in part.products.iter_mut().enumerate() {
                    let (j, h, i) = (value / 4, value / 2 % 2, value % 2);
                    *product = sums[8 * j + 2 * t + i][16 * warp + g + 8 * h];
                }
            }
        }
        let since = self.shared.order.tick();
        let (open, _) = self.groups.reads.entry(self.id).or_default();
        open.extend(read.into_iter().map(|(columns, rows)| Reads {
            columns,
            rows,
            visit,
            since,
        }));
        Ok(())
    }

    /// Closes the group of the products started so far: does so for the warpgroup where its first lane asks.
    pub(crate) fn close_products(&mut self) {
        if let Some((open, closed)) = self.groups.reads.get_mut(&self.id) {
            closed.push_back(mem::take(open));
        }
    }

    /// All groups of products but the last `left` are done: nobody wrote meanwhile what they read.
    pub(crate) fn end_products(&mut self, left: u32, at: Source) -> Checked<()> {
        let Some((_, closed)) = self.groups.reads.get_mut(&self.id) else {
            return Ok(());
        };
        let ended = closed.len().saturating_sub(left as usize);
        let ended: Vec<Reads> = closed.drain(..ended).flatten().collect();
        for reads in ended {
            let (place, visit) = (reads.columns.place, reads.visit);
            for quad in (0..reads.rows).flat_map(|row| quads_of(reads.columns, row)) {
                self.shared
                    .end_beside(place, QUAD * quad, QUAD, visit, reads.since)
                    .map_err(|refusal| self.shared_fault_at(place, refusal, Access::Read, at))?;
            }
        }
        Ok(())
    }

    /// The 16 values of each of so many rows.
    fn read_rows(
        &mut self,
        rows: Columns,
        count: usize,
        visit: Visit,
        at: Source,
    ) -> Checked<Vec<[f32; STEPS]>> {
        let place = rows.place;
        let mut values = vec![[0.0; STEPS]; count];
        for (row, values) in values.iter_mut().enumerate() {
            for (c, quad) in quads_of(rows, row).into_iter().enumerate() {
                let words = self
                    .shared
                    .read_beside(place, QUAD * quad, QUAD, visit)
                    .map_err(|refusal| self.shared_fault_at(place, refusal, Access::Read, at))?;
                for (i, word) in words.into_iter().enumerate() {
                    let pair = crate::gpu::unpack_f16(word);
                    values[8 * c + 2 * i..][..2].copy_from_slice(&pair);
                }
            }
        }
        Ok(values)
    }
}
