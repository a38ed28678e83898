//! Memory of a launch and of a block, each access checked.

pub(crate) mod clock;
pub(crate) mod global;
pub(crate) mod mbarrier;
pub(crate) mod order;
pub(crate) mod scratch;
pub(crate) mod shared;
pub(crate) mod stamp;

use crate::fault::Elements;
use global::{Input, Output};
use scratch::Scratch;

/// The arrays in global memory of launches in a sequence.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) inputs: Vec<Input>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) scratch: Vec<Scratch>,
}

impl Memory {
    /// A launch has ended: all that it did is before the next.
    pub(crate) fn end_launch(&self) {
        self.outputs.iter().for_each(Output::end_launch);
        self.scratch.iter().for_each(Scratch::end_launch);
    }
}

/// What is wrong with an access; the worker adds who made it and where.
#[derive(Debug)]
pub(crate) enum Refusal {
    OutOfBounds {
        elements: Elements,
        length: usize,
    },
    Misaligned {
        elements: Elements,
        bytes: usize,
    },
    Uninitialised {
        elements: Elements,
    },
    /// A copy that nobody waited for, which thread `lane` of the cluster started, or which counts at an mbarrier.
    Early {
        elements: Elements,
        lane: u16,
        site: u16,
    },
    /// A write by thread `lane` of the cluster of what a copy or product, started by thread `by` at the site `start`,
    /// was still reading.
    Overwritten {
        elements: Elements,
        lane: u16,
        site: u16,
        by: u16,
        start: u16,
    },
    /// What thread `lane` of the cluster wrote and did not make visible to copies and products.
    Unfenced {
        elements: Elements,
        lane: u16,
        site: u16,
    },
    /// Another thread: `lane` of the block, or of the cluster where `block` is none.
    Race {
        elements: Elements,
        other_wrote: bool,
        block: Option<u32>,
        lane: u16,
        site: u16,
    },
}
