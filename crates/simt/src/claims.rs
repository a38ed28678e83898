//! What the original note says of the structure of its kernels, against the counts. These are the parts of
//! claims 7 to 9 that no compiler and no GPU is needed for; registers are the compiler's to report.

use crate::structure::Structure;
use mage_kernels::suite::default_case;
use mage_kernels::variants;
use serde::{Deserialize, Serialize};

/// Tree reductions of a row in `layer_norm`: of the mean and of the variance.
const REDUCTIONS: u64 = 2;

/// One sentence of the note, and what was counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the claim.
    pub claim: u32,
    /// The variant that the sentence is about.
    pub variant: String,
    /// What the note says.
    pub says: String,
    /// What was counted, in words; why not, where nothing was.
    pub counted: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Whether a count agrees with the note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The count is what the note says.
    Reproduced,
    /// The count is another.
    NotReproduced,
    /// The variant was not run, or not at the dims that the sentence is about.
    NotTestable,
}

/// A sentence and how to judge it.
struct Sentence {
    claim: u32,
    variant: &'static str,
    says: &'static str,
    /// Whether it holds at the default dims only.
    at_default_dims: bool,
    /// Whether it is so, and what was counted.
    count: fn(&Structure) -> (bool, String),
}

/// The sentences of claims 7 to 9, in order.
const SENTENCES: [Sentence; 10] = [
    Sentence {
        claim: 7,
        variant: "layer_norm",
        says: "1024 bytes of shared memory",
        at_default_dims: false,
        count: |s| shared_bytes(s, 1024),
    },
    Sentence {
        claim: 7,
        variant: "layer_norm",
        says: "4096 blocks",
        at_default_dims: true,
        count: |s| blocks(s, 4096),
    },
    Sentence {
        claim: 7,
        variant: "layer_norm_warp",
        says: "0 bytes of shared memory",
        at_default_dims: false,
        count: |s| shared_bytes(s, 0),
    },
    Sentence {
        claim: 7,
        variant: "layer_norm_warp",
        says: "512 blocks",
        at_default_dims: true,
        count: |s| blocks(s, 512),
    },
    Sentence {
        claim: 8,
        variant: "tiled_matmul",
        says: "4096 blocks",
        at_default_dims: true,
        count: |s| blocks(s, 4096),
    },
    Sentence {
        claim: 8,
        variant: "tiled_matmul_registers",
        says: "256 blocks, 16384 bytes of shared memory",
        at_default_dims: true,
        count: |s| {
            let (so_many, blocks) = blocks(s, 256);
            let (so_large, bytes) = shared_bytes(s, 16_384);
            (so_many && so_large, format!("{blocks}, {bytes}"))
        },
    },
    Sentence {
        claim: 9,
        variant: "tiled_matmul",
        says: "one multiply-add costs 16 shared reads",
        at_default_dims: false,
        count: |s| reads(s, 16, 1),
    },
    Sentence {
        claim: 9,
        variant: "tiled_matmul_registers",
        says: "16 multiply-adds cost 8 shared reads",
        at_default_dims: false,
        count: |s| reads(s, 8, 16),
    },
    Sentence {
        claim: 9,
        variant: "layer_norm",
        says: "each tree reduction passes five barriers",
        at_default_dims: false,
        count: |s| {
            let barriers = s.barriers_per_block / REDUCTIONS as f64;
            let text = format!(
                "{barriers} barriers a tree reduction ({} a row, {REDUCTIONS} reductions)",
                s.barriers_per_block
            );
            (barriers == 5.0, text)
        },
    },
    Sentence {
        claim: 9,
        variant: "layer_norm_warp",
        says: "a reduction passes no barrier",
        at_default_dims: false,
        count: |s| {
            let barriers = s.barriers_per_block;
            let text = format!("{barriers} barriers, {} shuffles a row", s.shuffles_per_row);
            (barriers == 0.0, text)
        },
    },
];

fn blocks(s: &Structure, expected: u64) -> (bool, String) {
    (s.blocks == expected, format!("{} blocks", s.blocks))
}

fn shared_bytes(s: &Structure, expected: u32) -> (bool, String) {
    let text = format!("{} bytes of shared memory", s.shared_bytes);
    (s.shared_bytes == expected, text)
}

/// Whether so many shared reads feed so many multiply-adds.
fn reads(s: &Structure, reads: u64, multiply_adds: u64) -> (bool, String) {
    let so = s.multiply_adds > 0 && s.shared_reads * multiply_adds == s.multiply_adds * reads;
    let counted = multiply_adds as f64 * s.shared_reads_per_multiply_add.unwrap_or(0.0);
    let plural = if multiply_adds == 1 { "" } else { "s" };
    let text = format!(
        "{counted} shared reads for {multiply_adds} multiply-add{plural} ({} reads, {} multiply-adds)",
        s.shared_reads, s.multiply_adds
    );
    (so, text)
}

/// Judges the structural parts of the note's claims 7 to 9 from the structures at hand, any of which may be
/// missing.
pub fn judge(structures: &[Structure]) -> Vec<Finding> {
    SENTENCES
        .iter()
        .map(|sentence| sentence.judge(structures))
        .collect()
}

impl Sentence {
    fn judge(&self, structures: &[Structure]) -> Finding {
        let (verdict, counted) = match self.applies(structures) {
            Err(reason) => (Verdict::NotTestable, reason),
            Ok(structure) => match (self.count)(structure) {
                (true, counted) => (Verdict::Reproduced, counted),
                (false, counted) => (Verdict::NotReproduced, counted),
            },
        };
        Finding {
            claim: self.claim,
            variant: self.variant.to_owned(),
            says: self.says.to_owned(),
            counted,
            verdict,
        }
    }

    /// The structure that the sentence is about, or why there is none.
    fn applies<'a>(&self, structures: &'a [Structure]) -> Result<&'a Structure, String> {
        let found = structures.iter().find(|s| s.variant == self.variant);
        let structure = found.ok_or_else(|| format!("{} was not run", self.variant))?;
        let default = variants::find(self.variant).map(|v| default_case(v.operation).dims);
        match default {
            Some(dims) if self.at_default_dims && structure.dims != dims => Err(format!(
                "{} was run at {:?}, the note's dims are {dims:?}",
                self.variant, structure.dims
            )),
            _ => Ok(structure),
        }
    }
}
