//! What one access of a warp costs: from the addresses of its 32 lanes, in 4-byte words.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// The address of a lane that takes no part.
pub(crate) const NONE: u32 = u32::MAX;
/// Addresses of a warp's lanes, in 4-byte words.
pub(crate) type Addresses = [u32; LANES];

/// Words of a sector of 32 bytes, as a shift.
const SECTOR: u32 = 3;

/// Cost of an access of shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wavefronts {
    /// Passes over the banks that it takes.
    pub(crate) taken: u32,
    /// Passes that it would take without bank conflicts.
    pub(crate) least: u32,
}

/// 32-byte sectors that an access of global memory touches. Each lane's elements lie in one sector.
pub(crate) fn sectors(addresses: &Addresses) -> u32 {
    let mut count = 0;
    let mut last = None;
    for &address in addresses {
        let sector = address >> SECTOR;
        if address == NONE || last == Some(sector) {
            continue;
        }
        if last.is_some_and(|last| sector < last) {
            return sectors_unsorted(*addresses);
        }
        last = Some(sector);
        count += 1;
    }
    count
}

fn sectors_unsorted(mut addresses: Addresses) -> u32 {
    addresses.sort_unstable();
    let active = addresses.partition_point(|&address| address != NONE);
    let runs = addresses[..active].chunk_by(|a, b| a >> SECTOR == b >> SECTOR);
    runs.count() as u32
}

/// Wavefronts of an access of one word a lane. Lanes that access the same word are served together; words of
/// one bank are served one after the other.
pub(crate) fn wavefronts(addresses: &Addresses) -> Wavefronts {
    Wavefronts {
        taken: deepest::<32>(addresses, 0),
        least: 1,
    }
}

/// Wavefronts of a 64-bit access. Half of the warp is served at a time, sixteen lanes of two banks each.
pub(crate) fn wavefronts2(addresses: &Addresses) -> Wavefronts {
    parts::<16>(addresses, 1)
}

/// Wavefronts of a 128-bit access. A quarter of the warp is served at a time, eight lanes of four banks each.
pub(crate) fn wavefronts4(addresses: &Addresses) -> Wavefronts {
    parts::<8>(addresses, 2)
}

/// Wavefronts of an access of `1 << shift` words a lane, of which `LANES` lanes are served at a time.
fn parts<const LANES: usize>(addresses: &Addresses, shift: u32) -> Wavefronts {
    let (parts, _) = addresses.as_chunks::<LANES>();
    let mut sum = Wavefronts { taken: 0, least: 0 };
    for part in parts {
        let taken = deepest::<LANES>(part, shift);
        sum.taken += taken;
        sum.least += taken.min(1);
    }
    sum
}

/// The largest number of different words that fall into one of `BANKS` banks, each `1 << shift` words wide.
fn deepest<const BANKS: usize>(addresses: &[u32], shift: u32) -> u32 {
    /// No entry.
    const END: u8 = u8::MAX;
    // A list of the different words of each bank.
    let mut head = [END; BANKS];
    let mut depth = [0u8; BANKS];
    let mut next = [END; LANES];
    let mut deepest = 0;
    for (lane, &address) in addresses.iter().enumerate() {
        if address == NONE {
            continue;
        }
        let bank = (address >> shift) as usize % BANKS;
        let mut at = head[bank];
        while at != END && addresses[usize::from(at)] != address {
            at = next[usize::from(at)];
        }
        if at == END {
            next[lane] = head[bank];
            head[bank] = lane as u8;
            depth[bank] += 1;
            deepest = deepest.max(depth[bank]);
        }
    }
    deepest.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array::from_fn;

    fn every(address: impl Fn(u32) -> u32) -> Addresses {
        from_fn(|lane| address(lane as u32))
    }

    #[test]
    fn neighbours_share_sectors_and_strides_do_not() {
        assert_eq!(sectors(&every(|lane| lane)), 4);
        assert_eq!(sectors(&every(|lane| lane + 1)), 5);
        assert_eq!(sectors(&every(|_| 77)), 1);
        assert_eq!(sectors(&every(|lane| 8 * lane)), 32);
        assert_eq!(sectors(&every(|lane| 4 * lane)), 16);
        assert_eq!(sectors(&every(|lane| 31 - lane)), 4);
        assert_eq!(sectors(&every(|lane| if lane % 2 == 0 { 0 } else { 8 })), 2);
        assert_eq!(
            sectors(&every(|lane| if lane < 8 { lane } else { NONE })),
            1
        );
        assert_eq!(sectors(&[NONE; LANES]), 0);
    }

    #[test]
    fn words_of_one_bank_conflict_unless_they_are_the_same() {
        let taken = |addresses| wavefronts(&addresses).taken;
        assert_eq!(taken(every(|lane| lane)), 1);
        assert_eq!(taken(every(|_| 5)), 1);
        assert_eq!(taken(every(|lane| 31 - lane)), 1);
        assert_eq!(taken(every(|lane| 2 * lane)), 2);
        assert_eq!(taken(every(|lane| 32 * lane)), 32);
        assert_eq!(taken(every(|lane| 33 * lane)), 1);
        assert_eq!(taken(every(|lane| lane / 16 * 128)), 2);
        assert_eq!(taken(every(|lane| lane % 2 * 32)), 2);
        assert_eq!(taken(every(|lane| if lane == 9 { 40 } else { NONE })), 1);
    }

    #[test]
    fn pairs_are_served_half_a_warp_at_a_time() {
        let both = |addresses| {
            let Wavefronts { taken, least } = wavefronts2(&addresses);
            (taken, least)
        };
        assert_eq!(both(every(|lane| 2 * lane)), (2, 2));
        assert_eq!(both(every(|_| 6)), (2, 2));
        assert_eq!(both(every(|lane| 4 * lane)), (4, 2));
        assert_eq!(both(every(|lane| 32 * lane)), (32, 2));
        assert_eq!(both(every(|lane| 2 * (lane % 16))), (2, 2));
    }

    #[test]
    fn quads_are_served_a_quarter_warp_at_a_time() {
        let both = |addresses| {
            let Wavefronts { taken, least } = wavefronts4(&addresses);
            (taken, least)
        };
        assert_eq!(both(every(|lane| 4 * lane)), (4, 4));
        assert_eq!(both(every(|_| 0)), (4, 4));
        assert_eq!(both(every(|lane| 8 * lane)), (8, 4));
        assert_eq!(both(every(|lane| 32 * lane)), (32, 4));
        // Two quarters that access the same banks do not conflict with each other.
        assert_eq!(both(every(|lane| 4 * (lane % 8) + 32 * (lane / 8))), (4, 4));
        assert_eq!(
            both(every(|lane| if lane < 8 { 4 * lane } else { NONE })),
            (1, 1)
        );
    }

    /// Both costs against their definitions, for addresses without a pattern and with lanes left out.
    #[test]
    fn costs_are_those_of_their_definitions() {
        use std::collections::BTreeSet;
        let mut state = 1u32;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for range in [4, 40, 400, 100_000] {
            for _ in 0..200 {
                let words = from_fn(|_| if draw(5) == 0 { NONE } else { draw(range) });
                let active: Vec<u32> = words.iter().copied().filter(|&w| w != NONE).collect();
                let touched: BTreeSet<u32> = active.iter().map(|w| w / 8).collect();
                assert_eq!(sectors(&words), touched.len() as u32, "{words:?}");
                let different: BTreeSet<u32> = active.into_iter().collect();
                let in_bank = |bank| different.iter().filter(|w| **w % 32 == bank).count();
                let fullest = (0..32).map(in_bank).max().unwrap();
                assert_eq!(wavefronts(&words).taken, fullest as u32, "{words:?}");
            }
        }
    }
}
