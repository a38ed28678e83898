//! Who accessed a word last, in 64 bits.

/// A thread at a site, and when (an epoch of its block) or in which block it was there. 0 of nobody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp(u64);

impl Stamp {
    /// `when` is above 0.
    #[inline]
    pub(crate) fn new(when: u32, lane: u16, site: u16) -> Self {
        Self(u64::from(when) << 32 | u64::from(lane) << 16 | u64::from(site))
    }

    /// The epoch or the block, 0 of nobody.
    #[inline]
    pub(crate) fn when(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Linear index of the thread in its block.
    #[inline]
    pub(crate) fn lane(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Number of the site.
    pub(crate) fn site(self) -> u16 {
        self.0 as u16
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_keeps_its_parts() {
        let stamp = Stamp::new(u32::MAX, 1023, 65_535);
        assert_eq!(
            (stamp.when(), stamp.lane(), stamp.site()),
            (u32::MAX, 1023, 65_535)
        );
        assert_eq!(Stamp::from_bits(stamp.bits()), stamp);
        assert_eq!(Stamp::default().when(), 0);
    }
}
