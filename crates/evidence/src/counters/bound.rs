//! The rule that names what bounds a kernel.
//!
//! 1. Each resource has a level: the share of its capacity that was used over the kernel's duration, by the counters
//!    in percent of peak and by the rate against the measured limit, whichever is larger.
//! 2. The resource of the highest level bounds the kernel where that level is at least [`BOUND_SHARE`]; of equal
//!    levels the first in the order of [`Levels`]. The data stage of L1 goes by the name of shared memory where at
//!    least half of its use was shared memory's.
//! 3. Otherwise, where a level that could have changed this is not known, nothing is named.
//! 4. Otherwise no resource is near its capacity. A grid that does not fill the device once is bound by its own size;
//!    any other kernel waits: for memory, for barriers, for too few warps. The stall reasons say for what.

use super::Reading;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The level from which on a resource bounds a kernel. Nsight Compute's own guidance draws the line between a busy
/// resource and a kernel that waits at the same 60%.
pub const BOUND_SHARE: f64 = 0.6;

/// What bounds something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundBy {
    /// DRAM.
    DramBandwidth,
    /// L2.
    L2Bandwidth,
    /// The data stage of L1, for global memory.
    L1Bandwidth,
    /// The data stage of L1, for shared memory.
    SharedMemory,
    /// The FP32 pipe.
    Fp32Arithmetic,
    /// The tensor cores.
    TensorArithmetic,
    /// The issue slots.
    InstructionIssue,
    /// No resource: the grid does not fill the device once.
    LaunchSize,
    /// No resource: warps wait.
    LatencyOrOccupancy,
    /// Not known: a counter is absent.
    Unknown,
}

impl BoundBy {
    /// The words that readers see.
    pub const fn label(self) -> &'static str {
        match self {
            Self::DramBandwidth => "DRAM bandwidth",
            Self::L2Bandwidth => "L2 bandwidth",
            Self::L1Bandwidth => "L1 bandwidth",
            Self::SharedMemory => "shared memory",
            Self::Fp32Arithmetic => "FP32 arithmetic",
            Self::TensorArithmetic => "tensor arithmetic",
            Self::InstructionIssue => "instruction issue",
            Self::LaunchSize => "launch size",
            Self::LatencyOrOccupancy => "latency or occupancy",
            Self::Unknown => "not known",
        }
    }
}

impl fmt::Display for BoundBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

/// What bounds a kernel or a call, and why it is said to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// What.
    pub by: BoundBy,
    /// The highest level of any resource that is known, 0 to about 1.
    pub level: Reading,
    /// Share of the call's duration in kernels that this bounds; 1 for a kernel.
    pub duration_share: f64,
    /// Why, in words.
    pub because: String,
}

/// How much of each resource was used, as shares of its capacity, in the order in which ties are resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    /// DRAM.
    pub dram: Reading,
    /// L2.
    pub l2: Reading,
    /// The data stage of L1.
    pub l1: Reading,
    /// FP32 pipe.
    pub fp32: Reading,
    /// Tensor pipe.
    pub tensor: Reading,
    /// Issue slots.
    pub issue: Reading,
    /// The part of `l1` that is shared memory's.
    pub shared: Reading,
    /// How often the grid fills the device.
    pub waves: Reading,
    /// Achieved occupancy.
    pub occupancy: Reading,
    /// The largest stall reason and its share.
    pub stall: Option<(String, f64)>,
}

impl Levels {
    /// The rule of this module.
    pub fn bound(&self) -> Bound {
        let half = self.l1.value().map(|l1| l1 / 2.0);
        let l1 = match self.shared.value() >= half && half.is_some() {
            true => BoundBy::SharedMemory,
            false => BoundBy::L1Bandwidth,
        };
        let levels = [
            (BoundBy::DramBandwidth, &self.dram),
            (BoundBy::L2Bandwidth, &self.l2),
            (l1, &self.l1),
            (BoundBy::Fp32Arithmetic, &self.fp32),
            (BoundBy::TensorArithmetic, &self.tensor),
            (BoundBy::InstructionIssue, &self.issue),
        ];
        let known = levels
            .iter()
            .filter_map(|(by, level)| Some((*by, level.value()?)));
        // Of equal ones the first.
        let highest = known.fold(None, |best: Option<(BoundBy, f64)>, (by, level)| match best
            .is_some_and(|(_, most)| most >= level)
        {
            true => best,
            false => Some((by, level)),
        });
        let bound = |by, because: String| Bound {
            by,
            level: match highest {
                Some((_, level)) => Reading::Value(level),
                None => Reading::absent("no level is known"),
            },
            duration_share: 1.0,
            because,
        };
        if let Some((by, level)) = highest.filter(|(_, level)| *level >= BOUND_SHARE) {
            return bound(by, format!("{by} at {} of its capacity", percent(level)));
        }
        let missing = levels.iter().find_map(|(by, level)| match level {
            Reading::Absent { absent } => Some(format!("the level of {by} is not known: {absent}")),
            Reading::Value(_) => None,
        });
        if let Some(missing) = missing {
            return bound(BoundBy::Unknown, missing);
        }
        let (nearest, level) = highest.unwrap_or((BoundBy::Unknown, 0.0));
        let idle = format!(
            "no resource above {}, {nearest} the nearest",
            percent(level)
        );
        match &self.waves {
            Reading::Absent { absent } => bound(
                BoundBy::Unknown,
                format!("{idle}; how often the grid fills the device is not known: {absent}"),
            ),
            Reading::Value(waves) if *waves < 1.0 => {
                let filled = format!("the grid fills {} of the device", percent(*waves));
                bound(BoundBy::LaunchSize, format!("{idle}; {filled}"))
            }
            Reading::Value(_) => {
                let mut because = idle;
                if let Some(occupancy) = self.occupancy.value() {
                    because.push_str(&format!("; occupancy {}", percent(occupancy)));
                }
                if let Some((reason, share)) = &self.stall {
                    because.push_str(&format!("; {} of stalls {reason}", percent(*share)));
                }
                bound(BoundBy::LatencyOrOccupancy, because)
            }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything idle, the device full.
    fn idle() -> Levels {
        let at = Reading::Value;
        Levels {
            dram: at(0.1),
            l2: at(0.1),
            l1: at(0.1),
            fp32: at(0.1),
            tensor: at(0.0),
            issue: at(0.1),
            shared: at(0.0),
            waves: at(4.0),
            occupancy: at(0.5),
            stall: Some(("long_scoreboard".to_owned(), 0.7)),
        }
    }

    #[test]
    fn the_highest_level_above_the_line_bounds() {
        type Set = fn(&mut Levels, f64);
        let cases: [(Set, BoundBy); 6] = [
            (|l, v| l.dram = Reading::Value(v), BoundBy::DramBandwidth),
            (|l, v| l.l2 = Reading::Value(v), BoundBy::L2Bandwidth),
            (|l, v| l.l1 = Reading::Value(v), BoundBy::L1Bandwidth),
            (|l, v| l.fp32 = Reading::Value(v), BoundBy::Fp32Arithmetic),
            (
                |l, v| l.tensor = Reading::Value(v),
                BoundBy::TensorArithmetic,
            ),
            (
                |l, v| l.issue = Reading::Value(v),
                BoundBy::InstructionIssue,
            ),
        ];
        for (set, by) in cases {
            for level in [BOUND_SHARE, 0.9, 1.04] {
                let mut levels = idle();
                set(&mut levels, level);
                let bound = levels.bound();
                assert_eq!((bound.by, bound.level), (by, Reading::Value(level)));
                assert!(bound.because.contains(by.label()), "{}", bound.because);
            }
            let mut levels = idle();
            set(&mut levels, 0.599);
            assert_eq!(levels.bound().by, BoundBy::LatencyOrOccupancy, "{by}");
        }
    }

    #[test]
    fn of_equal_levels_the_first_bounds() {
        let mut levels = idle();
        levels.l2 = Reading::Value(0.8);
        levels.fp32 = Reading::Value(0.8);
        assert_eq!(levels.bound().by, BoundBy::L2Bandwidth);
        levels.dram = Reading::Value(0.8);
        assert_eq!(levels.bound().by, BoundBy::DramBandwidth);
        levels.issue = Reading::Value(0.81);
        assert_eq!(levels.bound().by, BoundBy::InstructionIssue);
    }

    #[test]
    fn l1_is_shared_memory_where_that_took_half() {
        let mut levels = idle();
        levels.l1 = Reading::Value(0.8);
        for (shared, by) in [
            (Reading::Value(0.4), BoundBy::SharedMemory),
            (Reading::Value(0.39), BoundBy::L1Bandwidth),
            (Reading::absent("no such counter"), BoundBy::L1Bandwidth),
        ] {
            levels.shared = shared;
            assert_eq!(levels.bound().by, by);
        }
    }

    #[test]
    fn an_idle_device_is_unfilled_or_waits() {
        let mut levels = idle();
        let bound = levels.bound();
        assert_eq!(bound.by, BoundBy::LatencyOrOccupancy);
        assert!(bound.because.contains("70% of stalls long_scoreboard"));
        levels.waves = Reading::Value(1.0);
        assert_eq!(levels.bound().by, BoundBy::LatencyOrOccupancy);
        levels.waves = Reading::Value(0.97);
        let bound = levels.bound();
        assert_eq!(bound.by, BoundBy::LaunchSize);
        assert!(bound.because.contains("fills 97%"), "{}", bound.because);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let mut levels = idle();
        levels.tensor = Reading::absent("no such counter");
        let bound = levels.bound();
        assert_eq!(bound.by, BoundBy::Unknown);
        assert!(
            bound
                .because
                .contains("tensor arithmetic is not known: no such counter")
        );
        // Another resource is known to be at its capacity.
        levels.dram = Reading::Value(0.9);
        assert_eq!(levels.bound().by, BoundBy::DramBandwidth);
        let mut levels = idle();
        levels.waves = Reading::absent("no such counter");
        assert_eq!(levels.bound().by, BoundBy::Unknown);
    }
}
