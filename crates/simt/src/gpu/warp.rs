//! Values passed between the 32 lanes of a warp. All lanes must take part.

use crate::count::memory::LANES;
use crate::count::op::Kind;
use crate::fault::Fault;
use crate::lane::{self, Event, Together};
use crate::worker::{Worker, checked, with};
use std::panic::Location;

/// Waits for every lane of the warp, and makes what each did and saw before it visible to all.
#[track_caller]
pub fn warp_barrier() {
    let (at, together) = (Location::caller(), Together::Barrier);
    with(|worker| worker.count(Kind::WarpBarrier, at));
    lane::wait(Event::Warp { at, together });
}

/// The `value` of the lane `offset` places up; a lane with none so far up keeps its own.
#[track_caller]
pub fn shuffle_down(value: f32, offset: u32) -> f32 {
    let lanes = LANES as u32;
    let from = |lane: u32| match lane.checked_add(offset) {
        Some(from) if from < lanes => from,
        _ => lane,
    };
    f32::from_bits(pass(value.to_bits(), Location::caller(), from))
}

/// The `value` of lane `lane`, below 32, in every lane.
#[track_caller]
pub fn broadcast(value: f32, lane: u32) -> f32 {
    f32::from_bits(pass(value.to_bits(), Location::caller(), |_| lane))
}

/// The `value` of lane `lane`, below 32, which each lane chooses for itself.
#[track_caller]
pub fn shuffle(value: f32, lane: u32) -> f32 {
    f32::from_bits(pass(value.to_bits(), Location::caller(), |_| lane))
}

/// As [`shuffle`], of an integer.
#[track_caller]
pub fn shuffle_u32(value: u32, lane: u32) -> u32 {
    pass(value, Location::caller(), |_| lane)
}

/// The `value` of the lane whose number differs in the bits of `mask`, below 32.
#[track_caller]
pub fn shuffle_xor(value: f32, mask: u32) -> f32 {
    f32::from_bits(pass(value.to_bits(), Location::caller(), |lane| {
        lane ^ mask
    }))
}

/// As [`shuffle_xor`], of an integer.
#[track_caller]
pub fn shuffle_xor_u32(value: u32, mask: u32) -> u32 {
    pass(value, Location::caller(), |lane| lane ^ mask)
}

/// `value`, which is the same in all lanes of the warp: that of lane 0.
#[track_caller]
pub fn uniform(value: u32) -> u32 {
    pass(value, Location::caller(), |_| 0)
}

/// Offers `value` and gives that of the lane `from` names for the number of this one.
fn pass(value: u32, at: &'static Location<'static>, from: impl FnOnce(u32) -> u32) -> u32 {
    let from = checked(|worker| {
        let lane = u32::from(worker.lane) % LANES as u32;
        let from = from(lane);
        let lanes = warp_lanes(worker);
        if from >= lanes {
            return Err(Box::new(Fault::NoLane {
                lane: from,
                lanes,
                place: worker.place(at),
            }));
        }
        worker.count(Kind::Shuffle, at);
        Ok(from)
    });
    lane::wait(Event::Shuffle { at, value, from })
}

/// Lanes of the warp that runs: 32, or what is left for the last of the block.
pub(super) fn warp_lanes(worker: &Worker) -> u32 {
    let lanes = LANES as u32;
    let first = u32::from(worker.lane) / lanes * lanes;
    (worker.job.threads() - first).min(lanes)
}
