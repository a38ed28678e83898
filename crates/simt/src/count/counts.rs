//! Counts as they leave the executor.

use super::op::Kind;
use super::sites::{Site, SiteCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// What one launch did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// Bytes of the shared arrays of a block that the kernel reached, those of a declared size rounded up to 16.
    pub shared_bytes: u32,
    /// Over all lines.
    pub total: Tally,
    /// By line of source, in order of file and line.
    pub lines: Vec<Line>,
    /// What the launches before it in a sequence did, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Counts>,
}

/// What one line of source did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The file, relative to the workspace.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What it did.
    pub tally: Tally,
}

/// What a kernel did. Each counter is zero where there was nothing to count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Reads of global memory.
    pub global_loads: Global,
    /// Writes of global memory.
    pub global_stores: Global,
    /// Reads of shared memory.
    pub shared_loads: Shared,
    /// Writes of shared memory.
    pub shared_stores: Shared,
    /// Barriers: `instructions` counts each warp that passes one, `operations` each thread.
    pub barriers: Work,
    /// Shuffles, broadcasts included.
    pub shuffles: Work,
    /// Fused multiply-adds: calls of `gpu::fma`, and two in each `gpu::div`.
    pub fma: Work,
    /// Other FP32 arithmetic that is seen: the multiplication in each `gpu::div` and `gpu::exp`. Plain `+`,
    /// `-`, `*` and comparisons on `f32` are the host's own instructions, which unchanged source does not
    /// show: they are NOT counted.
    pub other_fp32: Work,
    /// Approximate special functions: reciprocal, reciprocal square root, power of two; one in each of
    /// `gpu::div` and `gpu::exp`.
    pub special: Work,
    /// What asynchronous copies of 16 bytes read of global memory.
    #[serde(default, skip_serializing_if = "is_none")]
    pub copy_reads: Global,
    /// What they write to shared memory.
    #[serde(default, skip_serializing_if = "is_none")]
    pub copy_writes: Shared,
    /// Barriers of a warp.
    #[serde(default, skip_serializing_if = "is_none")]
    pub warp_barriers: Work,
    /// Barriers of a cluster: arrivals.
    #[serde(default, skip_serializing_if = "is_none")]
    pub cluster_barriers: Work,
    /// Arrivals at mbarriers.
    #[serde(default, skip_serializing_if = "is_none")]
    pub arrivals: Work,
    /// Waits at mbarriers.
    #[serde(default, skip_serializing_if = "is_none")]
    pub waits: Work,
    /// Copies from global memory that no thread carries out.
    #[serde(default, skip_serializing_if = "is_none")]
    pub bulk_loads: Bulk,
    /// Copies to global memory that no thread carries out.
    #[serde(default, skip_serializing_if = "is_none")]
    pub bulk_stores: Bulk,
    /// Tensor-core products: `instructions` counts each warp that makes one, `operations` its multiply-adds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub products: Work,
}

/// Whether nothing was counted: what older kernels do not do is not written for them.
fn is_none<T: Default + PartialEq>(counted: &T) -> bool {
    *counted == T::default()
}

/// Accesses of global memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Global {
    /// Warp instructions.
    pub instructions: u64,
    /// Accesses by threads.
    pub accesses: u64,
    /// Bytes that the threads asked for, each access of 4, 8 or 16.
    pub bytes: u64,
    /// 32-byte sectors that the warp instructions touched, each counted once for an instruction.
    pub sectors: u64,
}

/// Accesses of shared memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Warp instructions.
    pub instructions: u64,
    /// Accesses by threads.
    pub accesses: u64,
    /// Bytes that the threads asked for, each access of 4, 8 or 16.
    pub bytes: u64,
    /// Passes over the 32 banks of 4 bytes: one for an instruction of 4 bytes a thread, one for each half warp
    /// of 8 bytes a thread and one for each quarter warp of 16, plus the conflicts.
    pub wavefronts: u64,
    /// Passes more than that, since threads asked for different words of one bank.
    pub conflicts: u64,
}

/// Instructions that access no memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Warp instructions.
    pub instructions: u64,
    /// Operations of threads.
    pub operations: u64,
}

/// Copies that no thread carries out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bulk {
    /// How many were started.
    pub copies: u64,
    /// Bytes of global memory that they move; what goes to several blocks of a cluster counts once.
    pub bytes: u64,
}

impl Counts {
    /// Counts of a launch of this shape from those of its sites.
    pub(crate) fn new(
        [grid, block]: [[u32; 3]; 2],
        shared_bytes: u32,
        sites: &[Site],
        counts: &[SiteCounts],
    ) -> Self {
        let mut total = Tally::default();
        let mut lines: BTreeMap<(String, u32), Tally> = BTreeMap::new();
        for (site, counts) in sites.iter().zip(counts) {
            let tally = Tally::of(site.op.kind(), counts);
            total += tally;
            let line = (site.source.file(), site.source.line());
            *lines.entry(line).or_default() += tally;
        }
        let lines = lines
            .into_iter()
            .map(|((file, line), tally)| Line { file, line, tally })
            .collect();
        Self {
            grid,
            block,
            shared_bytes,
            total,
            lines,
            before: Vec::new(),
        }
    }

    /// What all launches did together.
    pub fn sum(&self) -> Tally {
        self.launches().fold(Tally::default(), |mut sum, launch| {
            sum += launch.total;
            sum
        })
    }

    /// The launches before it, and itself.
    fn launches(&self) -> impl Iterator<Item = &Self> {
        self.before.iter().chain([self])
    }

    /// Blocks of all launches.
    pub fn all_blocks(&self) -> u64 {
        self.launches().map(Self::blocks).sum()
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Threads of a block.
    pub fn threads(&self) -> u64 {
        self.block.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Barriers that the blocks of all launches pass: each counts once for its block.
    pub fn block_barriers(&self) -> u64 {
        self.launches()
            .map(|launch| launch.total.barriers.operations / launch.threads())
            .sum()
    }

    /// What was counted of instructions in all launches, a thread at a time.
    pub fn thread_instructions(&self) -> u64 {
        let t = self.sum();
        t.global_loads.accesses
            + t.global_stores.accesses
            + t.shared_loads.accesses
            + t.shared_stores.accesses
            + t.barriers.operations
            + t.shuffles.operations
            + t.fma.operations
            + t.other_fp32.operations
            + t.special.operations
            + t.copy_reads.accesses
            + t.warp_barriers.operations
            + t.cluster_barriers.operations
            + t.arrivals.operations
            + t.waits.operations
            + t.bulk_loads.copies
            + t.bulk_stores.copies
            + t.products.instructions * 32
    }
}

impl Tally {
    /// What a site of this kind did.
    fn of(kind: Kind, counts: &SiteCounts) -> Self {
        let global = Global {
            instructions: counts.instructions,
            accesses: counts.executions,
            bytes: kind.bytes() * counts.executions,
            sectors: counts.transactions,
        };
        let shared = Shared {
            instructions: counts.instructions,
            accesses: counts.executions,
            bytes: kind.bytes() * counts.executions,
            wavefronts: counts.transactions,
            conflicts: counts.conflicts,
        };
        let bulk = Bulk {
            copies: counts.executions,
            bytes: counts.transactions,
        };
        let times = |n| Work {
            instructions: n * counts.instructions,
            operations: n * counts.executions,
        };
        let mut tally = Self::default();
        match kind {
            Kind::GlobalLoad | Kind::GlobalLoad2 | Kind::GlobalLoad4 => tally.global_loads = global,
            Kind::GlobalStore | Kind::GlobalStore2 | Kind::GlobalStore4 => {
                tally.global_stores = global;
            }
            Kind::CopyRead => tally.copy_reads = global,
            Kind::CopyWrite => tally.copy_writes = shared,
            Kind::SharedLoad | Kind::SharedLoad2 | Kind::SharedLoad4 => {
                tally.shared_loads = shared;
            }
            Kind::SharedStore | Kind::SharedStore2 | Kind::SharedStore4 => {
                tally.shared_stores = shared;
            }
            Kind::Barrier => tally.barriers = times(1),
            Kind::WarpBarrier => tally.warp_barriers = times(1),
            Kind::ClusterBarrier => tally.cluster_barriers = times(1),
            Kind::Arrival => tally.arrivals = times(1),
            Kind::Wait => tally.waits = times(1),
            Kind::BulkLoad => tally.bulk_loads = bulk,
            Kind::BulkStore => tally.bulk_stores = bulk,
            Kind::ProductF16 | Kind::ProductTf32 | Kind::Product64 | Kind::Product128 => {
                tally.products = Work {
                    instructions: counts.instructions,
                    operations: kind.multiply_adds() * counts.instructions,
                };
            }
            Kind::Shuffle => tally.shuffles = times(1),
            Kind::Fma => tally.fma = times(1),
            Kind::Special => tally.special = times(1),
            Kind::Exp => {
                tally.other_fp32 = times(1);
                tally.special = times(1);
            }
            Kind::Div => {
                tally.fma = times(2);
                tally.other_fp32 = times(1);
                tally.special = times(1);
            }
        }
        tally
    }
}

macro_rules! sums {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $(self.$field += other.$field;)*
            }
        }
    )*};
}

sums! {
    Global { instructions, accesses, bytes, sectors }
    Shared { instructions, accesses, bytes, wavefronts, conflicts }
    Work { instructions, operations }
    Bulk { copies, bytes }
    Tally {
        global_loads, global_stores, shared_loads, shared_stores, barriers, shuffles, fma, other_fp32, special,
        copy_reads, copy_writes, warp_barriers, cluster_barriers, arrivals, waits, bulk_loads, bulk_stores,
        products
    }
}
