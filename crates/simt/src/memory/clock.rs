//! What a thread knows of the others.

use std::rc::Rc;

/// For each thread a time before which all that it did happened before. Threads that know the same share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock(Rc<Vec<u32>>);

impl Clock {
    /// Whether what `lane` did at time `when` happened before.
    pub(crate) fn knows(&self, lane: u16, when: u32) -> bool {
        self.0
            .get(usize::from(lane))
            .is_some_and(|&time| when < time)
    }

    /// Nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that `lane` did before `time` happened before.
    pub(crate) fn set(&mut self, lane: u16, time: u32) {
        let times = Rc::make_mut(&mut self.0);
        let lane = usize::from(lane);
        if times.len() <= lane {
            times.resize(lane + 1, 0);
        }
        times[lane] = times[lane].max(time);
    }

    /// What `other` knows is known here too.
    pub(crate) fn join(&mut self, other: &Self) {
        if other.is_empty() || Rc::ptr_eq(&self.0, &other.0) || self.covers(other) {
            return;
        }
        if other.covers(self) {
            self.0 = other.0.clone();
            return;
        }
        let times = Rc::make_mut(&mut self.0);
        times.resize(times.len().max(other.0.len()), 0);
        for (time, other) in times.iter_mut().zip(other.0.iter()) {
            *time = (*time).max(*other);
        }
    }

    fn covers(&self, other: &Self) -> bool {
        self.0.len() >= other.0.len() && self.0.iter().zip(other.0.iter()).all(|(a, b)| a >= b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_knows_what_both_knew() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.set(1, 5);
        b.set(3, 2);
        b.set(1, 4);
        let before = a.clone();
        a.join(&b);
        assert!(a.knows(1, 4) && !a.knows(1, 5));
        assert!(a.knows(3, 1) && !a.knows(3, 2));
        assert!(!a.knows(0, 0) && !a.knows(9, 0));
        assert!(
            !before.knows(3, 1),
            "the copy that another has is as it was"
        );
        b.join(&a);
        assert!(b.knows(1, 4) && b.knows(3, 1));
    }
}
