//! The one table of kernel variants. The command line, dispatch, the build of the objects, tests and documents
//! all read it; nothing repeats it.

use mage_evidence::operation::Operation;

/// The shape of one launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks, x, y, z.
    pub grid: [u32; 3],
    /// Threads of a block, x, y, z.
    pub block: [u32; 3],
    /// Shared bytes of a block on top of those that the object declares.
    pub dynamic_shared_bytes: u32,
}

/// The architecture that an object is compiled for, and with it the devices that run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Every device from compute capability 8.0 on: the driver compiles the object for the one at hand.
    Sm80,
    /// Compute capability 9.0 alone: instructions that neither older nor newer devices have (`wgmma`).
    Sm90a,
}

impl Target {
    /// Every target.
    pub const ALL: [Self; 2] = [Self::Sm80, Self::Sm90a];

    /// The name that compilers know, `sm_80`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sm80 => "sm_80",
            Self::Sm90a => "sm_90a",
        }
    }

    /// Whether a device of this compute capability, major and minor, runs the objects.
    pub fn runs_on(self, capability: (u32, u32)) -> bool {
        match self {
            Self::Sm80 => capability >= (8, 0),
            Self::Sm90a => capability == (9, 0),
        }
    }
}

/// An input as an array of three dims, and the boxes of it that one instruction reads, the fastest dim first. Rows of
/// a box have 64 or 32 bytes, whose quads change places in shared memory (the swizzle of as many bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boxes {
    /// Elements along each dim of the array.
    pub array: [u32; 3],
    /// Elements along each dim of a box.
    pub size: [u32; 3],
}

/// What became of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Measured and kept.
    Retained,
    /// Measured and not kept; still built, tested and measurable.
    Rejected,
    /// Built and tested, not yet measured.
    Open,
    /// Made to measure a limit: it moves as its parent does, or computes as it does, and as little else as that takes.
    /// Its output is not that of the operation, and no check asks for it.
    Twin,
}

/// One kernel for one operation.
#[derive(Debug)]
pub struct Variant {
    /// The name everywhere, and the symbol in the object.
    pub id: &'static str,
    /// What it computes.
    pub operation: Operation,
    /// The variant that it was made from; none for the general variant of an operation.
    pub parent: Option<&'static str>,
    /// The experiment that it was made for.
    pub introduced: &'static str,
    /// Whether it was kept.
    pub status: Status,
    /// Threads of a block, x, y, z: also the most that its object allows (`.maxntid`).
    pub block: [u32; 3],
    /// Blocks that a multiprocessor must hold at once (`.minnctapersm`), which says how many registers the
    /// driver's compiler may spend on accesses in flight; 0 leaves it to the compiler.
    pub resident_blocks: u32,
    /// Shared bytes of a block that the object declares.
    pub static_shared_bytes: u32,
    /// Shared bytes of a block that the launch gives on top.
    pub dynamic_shared_bytes: u32,
    /// Blocks of a cluster along x, which its object demands (`.reqnctapercluster`); 1 for no cluster.
    pub cluster: u32,
    /// What its object is compiled for.
    pub target: Target,
    /// The boxes of each input for dims of the operation, or none. A variant that reads its inputs in boxes takes for
    /// each of them the address of a tensor map, after the dims.
    boxes: Option<fn(&[u32]) -> Boxes>,
    /// Bytes of scratch memory in global memory for dims of the operation, or none.
    scratch_bytes: Option<fn(&[u32]) -> usize>,
    /// Whether blocks of its own launch wait for others of it, through scratch memory, so that a device must hold every
    /// one of them at once.
    pub blocks_wait: bool,
    /// A launch before the variant's own, or none.
    pub first: Option<First>,
    /// What it does, in one sentence.
    pub summary: &'static str,
    /// Blocks for dims of the operation.
    grid: fn(&[u32]) -> [u32; 3],
    /// What each dim must be a multiple of, and its largest value.
    limits: &'static [Limit],
}

/// A launch before a variant's own, with the same arguments: an entry of the same object.
#[derive(Debug)]
pub struct First {
    /// The symbol in the object: the variant's with [`FIRST`](mage_evidence::kernel::FIRST) after it.
    pub id: &'static str,
    /// Threads of a block, x, y, z, as [`Variant::block`].
    pub block: [u32; 3],
    /// As [`Variant::resident_blocks`].
    pub resident_blocks: u32,
    /// As [`Variant::static_shared_bytes`].
    pub static_shared_bytes: u32,
    /// Whether the launch after it begins when its blocks have ended, before all that they wrote is there (programmatic
    /// dependent launch): that one's kernel waits for that by itself.
    pub programmatic: bool,
    /// Blocks for dims of the operation.
    grid: fn(&[u32]) -> [u32; 3],
}

/// One entry of an object, with what the object demands of its launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The symbol.
    pub id: &'static str,
    /// As [`Variant::block`].
    pub block: [u32; 3],
    /// As [`Variant::resident_blocks`].
    pub resident_blocks: u32,
    /// As [`Variant::cluster`].
    pub cluster: u32,
    /// As [`Variant::static_shared_bytes`].
    pub static_shared_bytes: u32,
}

/// What a variant asks of one dim.
#[derive(Debug)]
struct Limit {
    /// Position in the operation's dims.
    dim: usize,
    multiple_of: u32,
    at_most: u32,
}

/// Blocks along y and z that CUDA allows; along x it allows more than any dims give.
const MAX_GRID_YZ: u32 = 65_535;

impl Variant {
    /// The entries of its object, in the order of their launches: [`first`](Self::first) where it has one, then its own.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let first = self.first.as_ref().map(|first| Entry {
            id: first.id,
            block: first.block,
            resident_blocks: first.resident_blocks,
            cluster: 1,
            static_shared_bytes: first.static_shared_bytes,
        });
        first.into_iter().chain([Entry {
            id: self.id,
            block: self.block,
            resident_blocks: self.resident_blocks,
            cluster: self.cluster,
            static_shared_bytes: self.static_shared_bytes,
        }])
    }

    /// The launch before its own for `dims`, as for [`launch`](Self::launch).
    pub fn first_launch(&self, dims: &[u32]) -> Option<Launch> {
        self.first.as_ref().map(|first| Launch {
            grid: (first.grid)(dims),
            block: first.block,
            dynamic_shared_bytes: 0,
        })
    }

    /// Whether its own launch begins before all is there that the one before it wrote.
    pub fn programmatic(&self) -> bool {
        self.first.as_ref().is_some_and(|first| first.programmatic)
    }

    /// The launch for `dims`, which must be ones that the variant [`takes`](Self::takes).
    pub fn launch(&self, dims: &[u32]) -> Launch {
        Launch {
            grid: (self.grid)(dims),
            block: self.block,
            dynamic_shared_bytes: self.dynamic_shared_bytes,
        }
    }

    /// The boxes in which launches for `dims` read each input: the addresses of their tensor maps follow the dims.
    pub fn boxes(&self, dims: &[u32]) -> Option<Boxes> {
        self.boxes.map(|boxes| boxes(dims))
    }

    /// Bytes of scratch memory, zero before the first launch, that launches for `dims` take as their last argument.
    pub fn scratch_bytes(&self, dims: &[u32]) -> Option<usize> {
        self.scratch_bytes.map(|bytes| bytes(dims))
    }

    /// Whether the variant computes the operation for `dims`.
    ///
    /// # Errors
    /// The reason why it does not, as a sentence without a full stop.
    pub fn takes(&self, dims: &[u32]) -> Result<(), String> {
        self.operation
            .check_dims(dims)
            .map_err(|invalid| invalid.to_string())?;
        for limit in self.limits {
            let (name, dim) = (self.operation.dim_names()[limit.dim], dims[limit.dim]);
            if !dim.is_multiple_of(limit.multiple_of) {
                return Err(format!(
                    "{} takes {name} a multiple of {}, not {dim}",
                    self.id, limit.multiple_of
                ));
            }
            if dim > limit.at_most {
                return Err(format!(
                    "{} takes {name} up to {}, not {dim}",
                    self.id, limit.at_most
                ));
            }
        }
        // Kernels count the words of scratch memory in 32 bits.
        let words = self.scratch_bytes(dims).map_or(0, |bytes| bytes / 4);
        if u32::try_from(words).is_err() {
            return Err(format!(
                "{} needs {words} words of scratch memory for {dims:?}, and counts them in 32 bits",
                self.id
            ));
        }
        let first = self.first.as_ref().map(|first| (first.grid)(dims));
        for [_, y, z] in first.into_iter().chain([(self.grid)(dims)]) {
            if y.max(z) > MAX_GRID_YZ {
                return Err(format!(
                    "{} needs {y} x {z} blocks along y and z for {dims:?}, of which CUDA allows {MAX_GRID_YZ} each",
                    self.id
                ));
            }
        }
        Ok(())
    }
}

/// Every variant: the operations in order, each from its general variant on.
pub static VARIANTS: &[Variant] = &[
    Variant {
        id: "tiled_matmul",
        operation: Operation::Matmul,
        parent: None,
        introduced: "mage-001",
        status: Status::Retained,
        block: [16, 16, 1],
        resident_blocks: 0,
        static_shared_bytes: 2 * 16 * 16 * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One output a thread from 16 x 16 tiles in shared memory.",
        grid: |dims| [dims[1].div_ceil(16), dims[0].div_ceil(16), 1],
        limits: &[],
    },
    Variant {
        id: "tiled_matmul_registers",
        operation: Operation::Matmul,
        parent: Some("tiled_matmul"),
        introduced: "mage-002",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: (64 * 32 + 32 * 64) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "4 x 4 outputs a thread in registers, 64 x 64 a block, K in steps of 32.",
        grid: |dims| [dims[1] / 64, dims[0] / 64, 1],
        limits: &[multiple(0, 64), multiple(1, 64), multiple(2, 32)],
    },
    Variant {
        id: "tiled_matmul_8x4",
        operation: Operation::Matmul,
        parent: Some("tiled_matmul_registers"),
        introduced: "mage-002",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: (128 * 32 + 32 * 64) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "8 x 4 outputs a thread in registers, 128 x 64 a block, K in steps of 32.",
        grid: |dims| [dims[1] / 64, dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 64), multiple(2, 32)],
    },
    Variant {
        id: "matmul_ffma_128x64",
        operation: Operation::Matmul,
        parent: Some("tiled_matmul_registers"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [128, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 2 * (128 + 64) * 16 * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "8 x 8 outputs a thread in registers, 128 x 64 a block, two buffers.",
        grid: |dims| [dims[1] / 64, dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 64), multiple(2, 16)],
    },
    Variant {
        id: "matmul_ffma_halves",
        operation: Operation::Matmul,
        parent: Some("matmul_ffma_128x64"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 3 * 26_624,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Two groups of threads a block, each half of every step; copies two steps ahead.",
        grid: |dims| [dims[1] / 64, dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 64), multiple(2, 32)],
    },
    Variant {
        id: "matmul_mma_f16x3",
        operation: Operation::Matmul,
        parent: Some("matmul_ffma_128x64"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 2 * 2 * 64 * 64 * 2,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Three binary16 products an FP32 one on tensor cores, 128 x 64 a block.",
        grid: |dims| [dims[1] / 64, dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 64), multiple(2, 64)],
    },
    Variant {
        id: "matmul_wgmma_f16x3",
        operation: Operation::Matmul,
        parent: Some("matmul_mma_f16x3"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 2 * 2 * 64 * 64 * 2,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "The three products by warpgroups, which read B from shared memory themselves.",
        grid: |dims| [dims[1] / 64, dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 64), multiple(2, 64)],
    },
    Variant {
        id: "matmul_wgmma_f16x3_cluster",
        operation: Operation::Matmul,
        parent: Some("matmul_wgmma_f16x3"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [384, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 3 * 32_768 + 32_768 + 64,
        cluster: 2,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "128 x 128 a cluster of two blocks, each half of K; one warpgroup splits B.",
        grid: |dims| [2 * (dims[1] / 128), dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 128), multiple(2, 128)],
    },
    Variant {
        id: "matmul_wgmma_f16x3_stream",
        operation: Operation::Matmul,
        parent: Some("matmul_wgmma_f16x3_cluster"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [512, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32_768 + 32_768 + 128,
        cluster: 4,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Bulk copies bring each row of B to two blocks, where two warpgroups split it.",
        grid: |dims| [4 * (dims[1] / 128), dims[0] / 256, 1],
        limits: &[multiple(0, 256), multiple(1, 128), multiple(2, 128)],
    },
    Variant {
        id: "matmul_presplit",
        operation: Operation::Matmul,
        parent: Some("matmul_wgmma_f16x3_cluster"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [288, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 3 * 65_536 + 32_768 + 64,
        cluster: 2,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: Some(|dims| split_tiles(dims[0] + dims[1], dims[2])),
        blocks_wait: true,
        first: None,
        summary: "The grid splits A and B once, into scratch memory; bulk copies feed 128 x 128 a cluster.",
        grid: |dims| [2 * (dims[1] / 128), dims[0] / 128, 1],
        limits: &[tiles(0, 128, 1024), tiles(1, 128, 1024), multiple(2, 256)],
    },
    Variant {
        id: "matmul_local",
        operation: Operation::Matmul,
        parent: Some("matmul_presplit"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [512, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32_768 + 32_768 + 128,
        cluster: 2,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: Some(|dims| split_panels(dims[0] / 128, dims[1] / 128, dims[2])),
        blocks_wait: true,
        first: None,
        summary: "A block begins with tiles that it splits itself, and waits for those that it reads.",
        grid: |dims| [2 * (dims[1] / 128), dims[0] / 128, 1],
        limits: &[tiles(0, 128, 1024), tiles(1, 128, 1024), multiple(2, 256)],
    },
    Variant {
        id: "matmul_two_pass",
        operation: Operation::Matmul,
        parent: Some("matmul_local"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [288, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32_768 + 32_768 + 128,
        cluster: 2,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: Some(split_halves),
        blocks_wait: false,
        first: Some(First {
            id: "matmul_two_pass_first",
            block: [256, 1, 1],
            resident_blocks: 0,
            static_shared_bytes: 0,
            programmatic: false,
            grid: |dims| [dims[2] / 32, dims[0].max(dims[1]) / 128, 2],
        }),
        summary: "A launch splits A and B, the next multiplies: 128 x 128 a cluster, each block half of K.",
        grid: |dims| [2 * (dims[1] / 128), dims[0] / 128, 1],
        limits: &[multiple(0, 128), multiple(1, 128), multiple(2, 64)],
    },
    Variant {
        id: "matmul_narrow",
        operation: Operation::Matmul,
        parent: Some("matmul_two_pass"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [288, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 8 * 24_576 + 32_768 + 144,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: Some(split_halves),
        blocks_wait: false,
        first: Some(First {
            id: "matmul_narrow_first",
            block: [256, 1, 1],
            resident_blocks: 0,
            static_shared_bytes: 0,
            programmatic: true,
            grid: |dims| [dims[2] / 32, dims[0].max(dims[1]) / 128, 2],
        }),
        summary: "64 x 128 and all of K a block: no cluster, no sums between blocks; quads of outputs are stored.",
        grid: |dims| [dims[1] / 128, dims[0] / 64, 1],
        limits: &[multiple(0, 128), multiple(1, 128), multiple(2, 64)],
    },
    Variant {
        id: "matmul_meet",
        operation: Operation::Matmul,
        parent: Some("matmul_narrow"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [512, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 8 * 24_576 + 32_768 + 144,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: Some(split_shares),
        blocks_wait: true,
        first: None,
        summary: "One launch: its blocks split a share of A and B each, and meet before they multiply.",
        grid: |dims| [dims[1] / 128, dims[0] / 64, 1],
        limits: &[tiles(0, 128, 1024), tiles(1, 128, 1024), multiple(2, 64)],
    },
    Variant {
        id: "multiply_halves",
        operation: Operation::Matmul,
        parent: Some("matmul_narrow"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 8 * 24_576 + 32_768 + 144,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Multiplies and writes as matmul_narrow does, without copies and a launch before.",
        grid: |dims| [dims[1] / 128, dims[0] / 64, 1],
        limits: &[multiple(0, 128), multiple(1, 128), multiple(2, 64)],
    },
    Variant {
        id: "bias_gelu",
        operation: Operation::Gelu,
        parent: None,
        introduced: "mage-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One output a thread, bias and GELU in one pass.",
        grid: |dims| one_a_thread(dims[0] * dims[1]),
        limits: &[],
    },
    Variant {
        id: "bias_gelu_quad",
        operation: Operation::Gelu,
        parent: Some("bias_gelu"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A quad a thread in 128-bit accesses.",
        grid: |dims| [(dims[0] * dims[1]).div_ceil(1024), 1, 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_two",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_quad"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [128, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Two quads a thread, 128 threads a block.",
        grid: |dims| [(dims[0] * dims[1]).div_ceil(1024), 1, 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_rows",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_quad"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "The same quad of eight rows a thread, the bias read once for them.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_wave",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_rows"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 4, 1],
        resident_blocks: 2,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Four rows a thread, 192 x 4 threads a block.",
        grid: |dims| [dims[0] / 16, 1, 1],
        limits: &[multiple(0, 16), multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_once",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_rows"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Eight rows a thread, caches told that nothing is read twice.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_order",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_rows"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Eight rows a thread, each written before the next is computed.",
        grid: |dims| [dims[1].div_ceil(768), dims[0].div_ceil(8), 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_pair",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_rows"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 10,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "The same quad of two rows a thread.",
        grid: |dims| [dims[0] / 2, 1, 1],
        limits: &[multiple(0, 2), multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_row",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_pair"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 10,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A quad of one row a thread, a row a block.",
        grid: |dims| [dims[0], 1, 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_full",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_pair"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [64, 8, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Three rows a thread, all threads that the device holds at once.",
        grid: |dims| [dims[1].div_ceil(256), dims[0].div_ceil(24), 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_share",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_pair"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 10,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One reciprocal for the four elements of a quad.",
        grid: |dims| [dims[0] / 2, 1, 1],
        limits: &[multiple(0, 2), multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_bulk",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_wave"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 4, 1],
        resident_blocks: 2,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 16 * 768 * 4 + 4 * 8,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "x arrives in shared memory by bulk copies.",
        grid: |dims| [dims[0] / 16, 1, 1],
        limits: &[multiple(0, 16), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "bias_gelu_few",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_full"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [64, 8, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One wave, one reciprocal for the four elements of a quad.",
        grid: |dims| [dims[1].div_ceil(256), dims[0].div_ceil(24), 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "bias_gelu_whole",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_full"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [192, 4, 1],
        resident_blocks: 2,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Two whole rows of 768 a block of threads, nothing to check.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "bias_gelu_loop",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_whole"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [192, 4, 1],
        resident_blocks: 2,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Whole rows, one written before the next is computed.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "bias_gelu_stream",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_full"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [64, 4, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Six rows a thread, three of them in flight.",
        grid: |dims| [dims[1].div_ceil(256), dims[0].div_ceil(24), 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "copy_two",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_two"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [128, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as bias_gelu_two reads and writes.",
        grid: |dims| [(dims[0] * dims[1]).div_ceil(1024), 1, 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "copy_rows",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_rows"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as bias_gelu_rows reads and writes.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 4)],
    },
    Variant {
        id: "copy_pair",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_pair"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [192, 1, 1],
        resident_blocks: 10,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as bias_gelu_pair reads and writes.",
        grid: |dims| [dims[0] / 2, 1, 1],
        limits: &[multiple(0, 2), multiple(1, 4)],
    },
    Variant {
        id: "copy_full",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_full"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [64, 8, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as bias_gelu_full reads and writes.",
        grid: |dims| [dims[1].div_ceil(256), dims[0].div_ceil(24), 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "copy_whole",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_whole"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [192, 4, 1],
        resident_blocks: 2,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as bias_gelu_whole reads and writes.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "copy_bulk",
        operation: Operation::Gelu,
        parent: Some("bias_gelu_bulk"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [32, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 16 * 768 * 4 + 4 * 8,
        cluster: 1,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x by bulk copies alone.",
        grid: |dims| [dims[0] / 16, 1, 1],
        limits: &[multiple(0, 16), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "multiply_resident",
        operation: Operation::Gelu,
        parent: Some("bias_gelu"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [192, 1, 1],
        resident_blocks: 10,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Multiply-adds on registers and next to no bytes, to measure the FP32 pipe.",
        grid: |dims| [dims[0], 1, 1],
        limits: &[multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm",
        operation: Operation::LayerNorm,
        parent: None,
        introduced: "mage-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 256 * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A block of 256 threads a row, partial sums halved in shared memory.",
        grid: |dims| [dims[0], 1, 1],
        limits: &[],
    },
    Variant {
        id: "layer_norm_warp",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm"),
        introduced: "mage-002",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row, partial sums meet in shuffles, quads in place of floats.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 4)],
    },
    Variant {
        id: "layer_norm_tile",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_warp"),
        introduced: "mage-002",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row, the row's quads held in an array of each lane.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[Limit {
            dim: 1,
            multiple_of: 4,
            at_most: 1024,
        }],
    },
    Variant {
        id: "layer_norm_once",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_tile"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row, the row read once in predicated quads and centred in registers.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_wide",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_once"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row, 32 rows a block.",
        grid: |dims| [dims[0].div_ceil(32), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_exact",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_once"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row of 768.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_merge",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_exact"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row of 768, mean and squares in one butterfly.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_pair",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_exact"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [128, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Two rows of 768 a warp, scale and shift read once for both.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_columns",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_merge"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: (8 * 16 + 16) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Eight rows of 768 a block, a thread the same quad of each.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_single",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_columns"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: (8 * 16 + 1536) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Eight rows of 768 a block, one barrier.",
        grid: |dims| [dims[0] / 8, 1, 1],
        limits: &[multiple(0, 8), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_four",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_single"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: (4 * 16 + 1536) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Four rows of 768 a block.",
        grid: |dims| [dims[0] / 4, 1, 1],
        limits: &[multiple(0, 4), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_two",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_four"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [192, 1, 1],
        resident_blocks: 9,
        static_shared_bytes: (2 * 16 + 1536) * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Two rows of 768 a block.",
        grid: |dims| [dims[0] / 2, 1, 1],
        limits: &[multiple(0, 2), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_shared",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_wide"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 1536 * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row of 768, scale and shift in shared memory.",
        grid: |dims| [dims[0] / 32, 1, 1],
        limits: &[multiple(0, 32), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "layer_norm_swift",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_shared"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 1536 * 4,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a row of 768, scale and shift in shared memory, one reduction.",
        grid: |dims| [dims[0] / 32, 1, 1],
        limits: &[multiple(0, 32), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "copy_wide",
        operation: Operation::LayerNorm,
        parent: Some("layer_norm_wide"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies x as layer_norm_wide reads and writes.",
        grid: |dims| [dims[0] / 32, 1, 1],
        limits: &[multiple(0, 32), multiple(1, 768), at_most(1, 768)],
    },
    Variant {
        id: "triangle",
        operation: Operation::Triangle,
        parent: None,
        introduced: "mage-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One output a thread, the channel fastest.",
        grid: |dims| one_a_thread(dims[0] * dims[0] * dims[1]),
        limits: &[],
    },
    Variant {
        id: "triangle_tile",
        operation: Operation::Triangle,
        parent: Some("triangle"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [32, 8, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "4 x 4 outputs a thread in registers, a channel a lane.",
        grid: |dims| [dims[0] / 8, dims[0] / 16, dims[1] / 32],
        limits: &[multiple(0, 16), multiple(1, 32)],
    },
    Variant {
        id: "triangle_staged",
        operation: Operation::Triangle,
        parent: Some("triangle_tile"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 8 * 48 * 34 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "8 x 8 outputs a thread from stages of shared memory, k shared out among warps.",
        grid: |dims| [dims[1] / 8, dims[0] / 16, dims[0] / 32],
        limits: &[multiple(0, 32), multiple(1, 8)],
    },
    Variant {
        id: "triangle_tf32",
        operation: Operation::Triangle,
        parent: Some("triangle_staged"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 8 * 48 * 33 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Three TF32 products for one of FP32 on tensor cores, 32 x 16 outputs of 8 channels a block.",
        grid: |dims| [dims[1] / 8, dims[0] / 16, dims[0] / 32],
        limits: &[multiple(0, 32), multiple(1, 8)],
    },
    Variant {
        id: "triangle_wide",
        operation: Operation::Triangle,
        parent: Some("triangle_tf32"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 64 * 33 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "32 x 32 outputs of 8 channels a block on tensor cores.",
        grid: |dims| [dims[1] / 8, dims[0] / 32, dims[0] / 32],
        limits: &[multiple(0, 32), multiple(1, 8)],
    },
    Variant {
        id: "triangle_sector",
        operation: Operation::Triangle,
        parent: Some("triangle_tf32"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32 * 64 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "16 x 16 outputs of 16 channels a block on tensor cores.",
        grid: |dims| [dims[1] / 16, dims[0] / 16, dims[0] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "triangle_ring",
        operation: Operation::Triangle,
        parent: Some("triangle_sector"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 4 * 32 * 64 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "16 x 16 outputs of 16 channels a block, each stage asked for while others are used.",
        grid: |dims| [dims[1] / 16, dims[0] / 16, dims[0] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "triangle_box",
        operation: Operation::Triangle,
        parent: Some("triangle_ring"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32 * 64 * 16 + 2 * 6 * 8,
        cluster: 1,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Stages fetched in boxes for a warp of their own.",
        grid: |dims| [dims[0] / 16, dims[0] / 16, dims[1] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "triangle_cluster",
        operation: Operation::Triangle,
        parent: Some("triangle_box"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32 * 64 * 16 + 2 * 6 * 8,
        cluster: 4,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 8],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Boxes fetched once for the two blocks of a cluster that need them.",
        grid: |dims| [4 * (dims[0] / 32), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "triangle_masked",
        operation: Operation::Triangle,
        parent: Some("triangle_box"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 6 * 32 * 64 * 16 + 2 * 6 * 8,
        cluster: 1,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Values cut where the products want them, without copies.",
        grid: |dims| [dims[0] / 16, dims[0] / 16, dims[1] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "triangle_halves",
        operation: Operation::Triangle,
        parent: Some("triangle_masked"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 48 * 32 + 2 * 4 * 257) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "32 x 16 outputs of 16 channels a cluster of two blocks, each half of k, asked for at once.",
        grid: |dims| [2 * (dims[0] / 16), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "triangle_async",
        operation: Operation::Triangle,
        parent: Some("triangle_halves"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 48 * 32 + 2 * 4 * 257) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "As triangle_halves, copied by every thread in place of boxes.",
        grid: |dims| [2 * (dims[0] / 16), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "triangle_octet",
        operation: Operation::Triangle,
        parent: Some("triangle_halves"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 64 * 16 + 2 * 2 * 514) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [8, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "32 x 32 outputs of 8 channels a cluster of two blocks.",
        grid: |dims| [2 * (dims[0] / 32), dims[0] / 32, dims[1] / 8],
        limits: &[multiple(0, 32), multiple(1, 8)],
    },
    Variant {
        id: "triangle_stagger",
        operation: Operation::Triangle,
        parent: Some("triangle_halves"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [288, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 48 * 32 + 2 * 4 * 257) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "As triangle_halves, clusters starting at different k.",
        grid: |dims| [2 * (dims[0] / 16), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "triangle_groups",
        operation: Operation::Triangle,
        parent: Some("triangle_stagger"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [544, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 48 * 32 + 2 * 4 * 257) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Stages by turns to two groups of warps.",
        grid: |dims| [2 * (dims[0] / 16), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "copy_ring",
        operation: Operation::Triangle,
        parent: Some("triangle_ring"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 4 * 32 * 64 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Copies to shared memory and writes as triangle_ring does.",
        grid: |dims| [dims[1] / 16, dims[0] / 16, dims[0] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "copy_halves",
        operation: Operation::Triangle,
        parent: Some("triangle_halves"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: (8 * 48 * 32 + 2 * 4 * 257) * 16 + 9 * 8,
        cluster: 2,
        target: Target::Sm90a,
        boxes: Some(|dims| Boxes {
            array: [dims[1], dims[0], dims[0]],
            size: [16, 4, 16],
        }),
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Reads to shared memory and writes as triangle_halves does.",
        grid: |dims| [2 * (dims[0] / 16), dims[0] / 32, dims[1] / 16],
        limits: &[multiple(0, 32), multiple(1, 16)],
    },
    Variant {
        id: "multiply_ring",
        operation: Operation::Triangle,
        parent: Some("triangle_ring"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [256, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 4 * 32 * 64 * 16,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Multiplies and writes as triangle_ring does, without copies.",
        grid: |dims| [dims[1] / 16, dims[0] / 16, dims[0] / 16],
        limits: &[multiple(0, 16), multiple(1, 16)],
    },
    Variant {
        id: "neighbor",
        operation: Operation::Neighbor,
        parent: None,
        introduced: "mage-001",
        status: Status::Retained,
        block: [256, 1, 1],
        resident_blocks: 0,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "One output a thread, the edges of its node in turn.",
        grid: |dims| one_a_thread(dims[0] * dims[1]),
        limits: &[],
    },
    Variant {
        id: "neighbor_warp",
        operation: Operation::Neighbor,
        parent: Some("neighbor"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a node, two rows of features a 128-bit read, 16 edges in flight.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 64)],
    },
    Variant {
        id: "neighbor_block",
        operation: Operation::Neighbor,
        parent: Some("neighbor_warp"),
        introduced: "limit-001",
        status: Status::Retained,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a node, 32 nodes a block.",
        grid: |dims| [dims[0].div_ceil(32), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 64)],
    },
    Variant {
        id: "neighbor_direct",
        operation: Operation::Neighbor,
        parent: Some("neighbor_warp"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "A warp a node, every lane reading the indices of its edges.",
        grid: |dims| [dims[0].div_ceil(8), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 64)],
    },
    Variant {
        id: "neighbor_half",
        operation: Operation::Neighbor,
        parent: Some("neighbor_warp"),
        introduced: "limit-001",
        status: Status::Rejected,
        block: [256, 1, 1],
        resident_blocks: 4,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Half a warp a node, 8 edges in flight.",
        grid: |dims| [dims[0].div_ceil(16), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 64)],
    },
    Variant {
        id: "read_edges",
        operation: Operation::Neighbor,
        parent: Some("neighbor_block"),
        introduced: "limit-001",
        status: Status::Twin,
        block: [1024, 1, 1],
        resident_blocks: 1,
        static_shared_bytes: 0,
        dynamic_shared_bytes: 0,
        cluster: 1,
        target: Target::Sm80,
        boxes: None,
        scratch_bytes: None,
        blocks_wait: false,
        first: None,
        summary: "Reads and writes as neighbor_block does, rows in their order.",
        grid: |dims| [dims[0].div_ceil(32), 1, 1],
        limits: &[multiple(1, 4), at_most(1, 64)],
    },
];

const fn multiple(dim: usize, of: u32) -> Limit {
    Limit {
        dim,
        multiple_of: of,
        at_most: u32::MAX,
    }
}

const fn at_most(dim: usize, at_most: u32) -> Limit {
    Limit {
        dim,
        multiple_of: 1,
        at_most,
    }
}

/// A dim in whole tiles of `of`, of which a device holds the blocks up to `at_most` at once.
const fn tiles(dim: usize, of: u32, at_most: u32) -> Limit {
    Limit {
        dim,
        multiple_of: of,
        at_most,
    }
}

/// Bytes of the halves of so many rows of A and columns of B, of a word a tile of 128 by 64, and of the word of the
/// grid's barrier.
fn split_tiles(rows_and_columns: u32, k: u32) -> usize {
    let tiles = (rows_and_columns / 128 * (k / 64)) as usize;
    (tiles * (128 * 64 + 1) + 1) * 4
}

/// Bytes of scratch memory for so many panels of A and of B, 128 rows or columns each, as binary16 halves in tiles, with
/// a word a tile and one a block, of which two multiply the same panels.
fn split_panels(down: u32, across: u32, k: u32) -> usize {
    let tiles = ((down + across) * (k / 64)) as usize;
    (tiles * (128 * 64 + 1) + (2 * down * across) as usize) * 4
}

/// Bytes of scratch memory for A and B as binary16 halves in parts of 128 rows or columns by 32 steps of K, with a word a
/// part.
fn split_halves(dims: &[u32]) -> usize {
    let parts = (dims[0] + dims[1]) as usize / 128 * (dims[2] as usize / 32);
    parts * (128 * 32 + 1) * 4
}

/// Bytes of scratch memory for A and B as binary16 halves, and a word for each half panel of A, each panel of B and each of
/// their products.
fn split_shares(dims: &[u32]) -> usize {
    let [m, n, k] = [0, 1, 2].map(|dim| dims[dim] as usize);
    let (rows, columns) = (m / 64, n / 128);
    ((m + n) * k + rows + columns + rows * columns) * 4
}

/// Blocks of 256 threads for so many outputs, fewer than 2^31.
fn one_a_thread(outputs: u32) -> [u32; 3] {
    [outputs.div_ceil(256), 1, 1]
}

/// The variant of this id.
pub fn find(id: &str) -> Option<&'static Variant> {
    VARIANTS.iter().find(|variant| variant.id == id)
}

/// The variants of an operation, from its general one on.
pub fn of(operation: Operation) -> impl Iterator<Item = &'static Variant> {
    VARIANTS
        .iter()
        .filter(move |variant| variant.operation == operation)
}

/// The variants that compute an operation: all of it but the twins.
pub fn computing(operation: Operation) -> impl Iterator<Item = &'static Variant> {
    of(operation).filter(|variant| variant.status != Status::Twin)
}

/// The variant that puts no limit on any dim of the operation: the one that was made from no other.
pub fn general(operation: Operation) -> &'static Variant {
    of(operation)
        .find(|variant| variant.parent.is_none())
        .expect("a test holds that every operation has a general variant")
}

/// The variant that runs where `requested` is asked for: itself if it takes `dims` and a device of this compute
/// capability runs it, else the general one.
pub fn dispatch(
    requested: &'static Variant,
    dims: &[u32],
    capability: (u32, u32),
) -> &'static Variant {
    match requested.target.runs_on(capability) && requested.takes(dims).is_ok() {
        true => requested,
        false => general(requested.operation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_evidence::kernel::{FIRST, is_of};

    #[test]
    fn ids_are_unique_and_parents_come_first() {
        for (i, variant) in VARIANTS.iter().enumerate() {
            let before = &VARIANTS[..i];
            assert!(
                before.iter().all(|v| v.id != variant.id),
                "{} stands twice",
                variant.id
            );
            if let Some(parent) = variant.parent {
                let operation = before.iter().find(|v| v.id == parent).map(|v| v.operation);
                assert_eq!(
                    operation,
                    Some(variant.operation),
                    "parent of {}",
                    variant.id
                );
            }
            assert!(std::ptr::eq(find(variant.id).unwrap(), variant));
        }
        assert!(find("layer_norm_wrap").is_none());
    }

    #[test]
    fn every_operation_has_one_general_variant_that_takes_any_dims() {
        for operation in Operation::ALL {
            let roots = of(operation).filter(|v| v.parent.is_none()).count();
            assert_eq!(roots, 1, "{operation}");
            assert!(general(operation).limits.is_empty(), "{operation}");
            assert_eq!(general(operation).target, Target::Sm80, "{operation}");
        }
        let ids = Operation::ALL.map(|operation| general(operation).id);
        assert_eq!(
            ids,
            [
                "tiled_matmul",
                "bias_gelu",
                "layer_norm",
                "triangle",
                "neighbor"
            ]
        );
    }

    #[test]
    fn launches_have_the_published_shapes() {
        /// Variant, dims, grid, block.
        type Case = (&'static str, &'static [u32], [u32; 3], [u32; 3]);
        let cases: [Case; 77] = [
            (
                "tiled_matmul",
                &[1024, 1024, 1024],
                [64, 64, 1],
                [16, 16, 1],
            ),
            (
                "tiled_matmul_registers",
                &[1024, 1024, 1024],
                [16, 16, 1],
                [256, 1, 1],
            ),
            (
                "tiled_matmul_8x4",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [256, 1, 1],
            ),
            (
                "matmul_ffma_128x64",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [128, 1, 1],
            ),
            (
                "matmul_ffma_halves",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [256, 1, 1],
            ),
            (
                "matmul_mma_f16x3",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [256, 1, 1],
            ),
            (
                "matmul_wgmma_f16x3",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [256, 1, 1],
            ),
            (
                "matmul_wgmma_f16x3_cluster",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [384, 1, 1],
            ),
            (
                "matmul_wgmma_f16x3_stream",
                &[1024, 1024, 1024],
                [32, 4, 1],
                [512, 1, 1],
            ),
            (
                "matmul_presplit",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [288, 1, 1],
            ),
            ("matmul_local", &[1024, 1024, 1024], [16, 8, 1], [512, 1, 1]),
            (
                "matmul_two_pass",
                &[1024, 1024, 1024],
                [16, 8, 1],
                [288, 1, 1],
            ),
            (
                "matmul_narrow",
                &[1024, 1024, 1024],
                [8, 16, 1],
                [288, 1, 1],
            ),
            ("matmul_meet", &[1024, 1024, 1024], [8, 16, 1], [512, 1, 1]),
            (
                "multiply_halves",
                &[1024, 1024, 1024],
                [8, 16, 1],
                [256, 1, 1],
            ),
            ("bias_gelu", &[4096, 768], [12_288, 1, 1], [256, 1, 1]),
            ("bias_gelu_quad", &[4096, 768], [3072, 1, 1], [256, 1, 1]),
            ("bias_gelu_two", &[4096, 768], [3072, 1, 1], [128, 1, 1]),
            ("bias_gelu_rows", &[4096, 768], [512, 1, 1], [192, 1, 1]),
            ("bias_gelu_wave", &[4096, 768], [256, 1, 1], [192, 4, 1]),
            ("bias_gelu_once", &[4096, 768], [512, 1, 1], [192, 1, 1]),
            ("layer_norm", &[4096, 768], [4096, 1, 1], [256, 1, 1]),
            ("layer_norm_warp", &[4096, 768], [512, 1, 1], [256, 1, 1]),
            ("layer_norm_tile", &[4096, 768], [512, 1, 1], [256, 1, 1]),
            ("layer_norm_once", &[4096, 768], [512, 1, 1], [256, 1, 1]),
            ("layer_norm_wide", &[4096, 768], [128, 1, 1], [1024, 1, 1]),
            ("layer_norm_exact", &[4096, 768], [512, 1, 1], [256, 1, 1]),
            ("layer_norm_merge", &[4096, 768], [512, 1, 1], [256, 1, 1]),
            ("layer_norm_pair", &[4096, 768], [512, 1, 1], [128, 1, 1]),
            ("layer_norm_columns", &[4096, 768], [512, 1, 1], [192, 1, 1]),
            ("triangle", &[128, 32], [2048, 1, 1], [256, 1, 1]),
            ("triangle_tile", &[128, 32], [16, 8, 1], [32, 8, 1]),
            ("triangle_staged", &[128, 32], [4, 8, 4], [256, 1, 1]),
            ("triangle_tf32", &[128, 32], [4, 8, 4], [256, 1, 1]),
            ("triangle_wide", &[128, 32], [4, 4, 4], [256, 1, 1]),
            ("triangle_sector", &[128, 32], [2, 8, 8], [256, 1, 1]),
            ("bias_gelu_order", &[4096, 768], [1, 512, 1], [192, 1, 1]),
            ("bias_gelu_pair", &[4096, 768], [2048, 1, 1], [192, 1, 1]),
            ("bias_gelu_row", &[4096, 768], [4096, 1, 1], [192, 1, 1]),
            ("bias_gelu_full", &[4096, 768], [3, 171, 1], [64, 8, 1]),
            ("bias_gelu_share", &[4096, 768], [2048, 1, 1], [192, 1, 1]),
            ("bias_gelu_bulk", &[4096, 768], [256, 1, 1], [192, 4, 1]),
            ("bias_gelu_few", &[4096, 768], [3, 171, 1], [64, 8, 1]),
            ("bias_gelu_whole", &[4096, 768], [512, 1, 1], [192, 4, 1]),
            ("bias_gelu_loop", &[4096, 768], [512, 1, 1], [192, 4, 1]),
            ("copy_whole", &[4096, 768], [512, 1, 1], [192, 4, 1]),
            ("bias_gelu_stream", &[4096, 768], [3, 171, 1], [64, 4, 1]),
            ("copy_two", &[4096, 768], [3072, 1, 1], [128, 1, 1]),
            ("copy_rows", &[4096, 768], [512, 1, 1], [192, 1, 1]),
            ("copy_pair", &[4096, 768], [2048, 1, 1], [192, 1, 1]),
            ("copy_full", &[4096, 768], [3, 171, 1], [64, 8, 1]),
            ("copy_bulk", &[4096, 768], [256, 1, 1], [32, 1, 1]),
            ("multiply_resident", &[4096, 768], [4096, 1, 1], [192, 1, 1]),
            ("layer_norm_single", &[4096, 768], [512, 1, 1], [192, 1, 1]),
            ("layer_norm_four", &[4096, 768], [1024, 1, 1], [192, 1, 1]),
            ("layer_norm_two", &[4096, 768], [2048, 1, 1], [192, 1, 1]),
            ("layer_norm_shared", &[4096, 768], [128, 1, 1], [1024, 1, 1]),
            ("layer_norm_swift", &[4096, 768], [128, 1, 1], [1024, 1, 1]),
            ("copy_wide", &[4096, 768], [128, 1, 1], [1024, 1, 1]),
            ("triangle_ring", &[128, 32], [2, 8, 8], [256, 1, 1]),
            ("triangle_box", &[128, 32], [8, 8, 2], [288, 1, 1]),
            ("triangle_cluster", &[128, 32], [16, 4, 2], [288, 1, 1]),
            ("triangle_masked", &[128, 32], [8, 8, 2], [288, 1, 1]),
            ("triangle_halves", &[128, 32], [16, 4, 2], [288, 1, 1]),
            ("triangle_async", &[128, 32], [16, 4, 2], [256, 1, 1]),
            ("triangle_octet", &[128, 32], [8, 4, 4], [288, 1, 1]),
            ("triangle_stagger", &[128, 32], [16, 4, 2], [288, 1, 1]),
            ("triangle_groups", &[128, 32], [16, 4, 2], [544, 1, 1]),
            ("copy_ring", &[128, 32], [2, 8, 8], [256, 1, 1]),
            ("copy_halves", &[128, 32], [16, 4, 2], [256, 1, 1]),
            ("multiply_ring", &[128, 32], [2, 8, 8], [256, 1, 1]),
            ("neighbor", &[4096, 64, 65_536], [1024, 1, 1], [256, 1, 1]),
            (
                "neighbor_warp",
                &[4096, 64, 65_536],
                [512, 1, 1],
                [256, 1, 1],
            ),
            (
                "neighbor_block",
                &[4096, 64, 65_536],
                [128, 1, 1],
                [1024, 1, 1],
            ),
            (
                "neighbor_direct",
                &[4096, 64, 65_536],
                [512, 1, 1],
                [256, 1, 1],
            ),
            (
                "neighbor_half",
                &[4096, 64, 65_536],
                [256, 1, 1],
                [256, 1, 1],
            ),
            ("read_edges", &[4096, 64, 65_536], [128, 1, 1], [1024, 1, 1]),
        ];
        assert_eq!(cases.len(), VARIANTS.len());
        for (id, dims, grid, block) in cases {
            let variant = find(id).unwrap();
            variant.takes(dims).unwrap();
            let launch = variant.launch(dims);
            assert_eq!((launch.grid, launch.block), (grid, block), "{id}");
            assert_eq!(launch.grid[0] % variant.cluster, 0, "{id}");
        }
    }

    #[test]
    fn tails_and_degenerate_dims_are_covered_by_blocks() {
        let cases: [(&str, &[u32], [u32; 3]); 8] = [
            ("tiled_matmul", &[17, 19, 23], [2, 2, 1]),
            ("tiled_matmul", &[1, 1, 1], [1, 1, 1]),
            ("tiled_matmul", &[1, 33, 1], [3, 1, 1]),
            ("bias_gelu", &[3, 257], [4, 1, 1]),
            ("layer_norm", &[2, 1], [2, 1, 1]),
            ("layer_norm_warp", &[9, 4], [2, 1, 1]),
            ("triangle", &[7, 5], [1, 1, 1]),
            ("neighbor", &[7, 9, 0], [1, 1, 1]),
        ];
        for (id, dims, grid) in cases {
            let variant = find(id).unwrap();
            variant.takes(dims).unwrap();
            assert_eq!(variant.launch(dims).grid, grid, "{id} {dims:?}");
        }
    }

    #[test]
    fn dims_that_do_not_fit_run_the_general_variant() {
        let cases: [(&str, &[u32], &str); 13] = [
            ("tiled_matmul_registers", &[17, 19, 23], "tiled_matmul"),
            ("tiled_matmul_registers", &[64, 64, 16], "tiled_matmul"),
            (
                "tiled_matmul_registers",
                &[64, 128, 96],
                "tiled_matmul_registers",
            ),
            ("tiled_matmul_8x4", &[64, 64, 32], "tiled_matmul"),
            ("layer_norm_warp", &[3, 257], "layer_norm"),
            ("layer_norm_tile", &[2, 1028], "layer_norm"),
            ("layer_norm_tile", &[2, 1024], "layer_norm_tile"),
            ("layer_norm_once", &[3, 772], "layer_norm"),
            ("layer_norm_pair", &[12, 768], "layer_norm"),
            ("bias_gelu_quad", &[3, 257], "bias_gelu"),
            ("triangle_tf32", &[48, 32], "triangle"),
            ("triangle_tf32", &[32, 8], "triangle_tf32"),
            ("neighbor_warp", &[7, 9, 23], "neighbor"),
        ];
        for (requested, dims, runs) in cases {
            assert_eq!(
                dispatch(find(requested).unwrap(), dims, (9, 0)).id,
                runs,
                "{dims:?}"
            );
        }
    }

    #[test]
    fn a_device_that_lacks_the_instructions_runs_the_general_variant() {
        assert!(Target::Sm80.runs_on((8, 0)) && Target::Sm80.runs_on((12, 1)));
        assert!(!Target::Sm80.runs_on((7, 5)));
        assert!(Target::Sm90a.runs_on((9, 0)));
        for variant in VARIANTS.iter().filter(|v| v.target == Target::Sm90a) {
            let dims: &[u32] = match variant.operation {
                Operation::Matmul => &[1024, 1024, 1024],
                Operation::Triangle => &[128, 32],
                _ => &[4096, 768],
            };
            let runs = |capability| dispatch(variant, dims, capability).id;
            assert_eq!(runs((9, 0)), variant.id);
            for other in [(8, 0), (8, 9), (10, 0), (12, 0)] {
                assert_eq!(runs(other), general(variant.operation).id, "{other:?}");
            }
        }
    }

    #[test]
    fn scratch_memory_holds_the_halves_and_what_blocks_tell_each_other() {
        let bytes = |id| find(id).unwrap().scratch_bytes(&[1024, 1024, 1024]);
        assert_eq!(bytes("matmul_presplit"), Some((8 << 20) + 257 * 4));
        assert_eq!(bytes("matmul_local"), Some((8 << 20) + (256 + 128) * 4));
        let (parts, part) = (2 * 8 * 32, 128 * 128);
        assert_eq!(bytes("matmul_narrow"), Some(parts * (part + 4)));
        assert_eq!(bytes("matmul_meet"), Some((8 << 20) + (16 + 8 + 128) * 4));
        assert_eq!(bytes("tiled_matmul"), None);
    }

    #[test]
    fn a_launch_before_covers_both_inputs() {
        let narrow = find("matmul_narrow").unwrap();
        let first = narrow.first_launch(&[128, 384, 64]).unwrap();
        assert_eq!((first.grid, first.block), ([2, 3, 2], [256, 1, 1]));
        let entries: Vec<_> = narrow.entries().map(|entry| entry.id).collect();
        assert_eq!(entries, ["matmul_narrow_first", "matmul_narrow"]);
        for variant in VARIANTS {
            assert_eq!(variant.first.is_some(), variant.entries().count() == 2);
            assert!(!variant.id.ends_with(FIRST));
            let of = |entry: Entry| is_of(entry.id, variant.id);
            assert!(variant.entries().all(of), "{}", variant.id);
        }
    }

    #[test]
    fn blocks_wait_where_the_source_reads_what_other_blocks_of_the_launch_wrote() {
        // The ways that the device's `gpu` has.
        let ways = ["GridBarrier", "Meeting", ".acquire("];
        let waits = |text: &str| ways.iter().any(|way| text.contains(way));
        for variant in VARIANTS {
            let found = waits(&crate::header::with_parts(variant));
            assert_eq!(variant.blocks_wait, found, "{}", variant.id);
            assert!(
                variant.scratch_bytes.is_some() || !variant.blocks_wait,
                "{} has no memory to wait through",
                variant.id
            );
        }
        assert!(VARIANTS.iter().any(|variant| variant.blocks_wait));
    }

    #[test]
    fn a_launch_that_begins_early_waits_for_what_the_one_before_wrote() {
        for variant in VARIANTS {
            let waits = crate::header::with_parts(variant).contains("wait_for_prerequisites()");
            assert_eq!(variant.programmatic(), waits, "{}", variant.id);
            // The instruction is of compute capability 9.0.
            assert!(variant.target == Target::Sm90a || !waits, "{}", variant.id);
        }
        assert!(VARIANTS.iter().any(Variant::programmatic));
    }

    #[test]
    fn a_refusal_gives_its_reason() {
        let reason = |id, dims: &[u32]| find(id).unwrap().takes(dims).unwrap_err();
        assert_eq!(
            reason("tiled_matmul_registers", &[64, 64, 48]),
            "tiled_matmul_registers takes k a multiple of 32, not 48"
        );
        assert_eq!(
            reason("layer_norm_tile", &[1, 2048]),
            "layer_norm_tile takes width up to 1024, not 2048"
        );
        assert!(reason("tiled_matmul", &[1_048_577, 1, 1]).contains("65537 x 1 blocks"));
        assert!(reason("matmul_narrow", &[128, 8_388_608, 64]).contains("65536 x 2 blocks"));
        let most = reason("matmul_narrow", &[46_336, 46_336, 46_336]);
        assert!(
            most.contains("4295098144 words of scratch memory"),
            "{most}"
        );
        assert!(reason("layer_norm", &[0, 1]).contains("rows"));
    }
}
