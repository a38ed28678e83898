//! When a session that may end early is looked at.

use super::LEVEL;

/// Units (rotation cycles) after which a session is looked at. Where its time is up before the last, it is looked at
/// then in place of those that are left: never more often than there are looks here.
///
/// They are far apart because each costs width: four looks make an interval 1.27 times as wide as one look
/// would, and between two of them the width halves.
pub const LOOKS: [usize; 4] = [12, 48, 192, 768];

/// Coverage of the interval at each look: one minus an equal share of the level (Bonferroni's inequality). The chance
/// that any of the intervals misses the truth is then at most one minus [`LEVEL`], whatever decides when to stop, so
/// it holds for the one that is shown at the end. A boundary of Pocock's or of O'Brien and Fleming's is narrower and
/// holds for normal means of known variance; this one holds as Student's t does.
pub const LOOK_LEVEL: f64 = 1.0 - (1.0 - LEVEL) / LOOKS.len() as f64;

/// The number of units of the first look after `done` units; none after the last.
pub fn next_look(done: usize) -> Option<usize> {
    LOOKS.into_iter().find(|look| *look > done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_in_order_and_share_the_level() {
        assert!(LOOKS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(next_look(0), Some(12));
        assert_eq!(next_look(12), Some(48));
        assert_eq!(next_look(13), Some(48));
        assert_eq!(next_look(768), None);
        assert!((LOOK_LEVEL - 0.9875).abs() < 1e-12);
    }
}
