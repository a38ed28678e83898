//! Counters of one worker, by source site.
//!
//! A site is a place in the source (line and column) and what is done there to which array. The executions of
//! a site that different lanes of a warp make count as one warp instruction where they have the same number:
//! each lane numbers its executions of a site from 0, and begins anew at each rendezvous, where the lanes of
//! the warp stand together again. So a warp whose lanes pass a loop a different number of times counts as
//! many instructions as the longest of them, and an access inside it has the addresses of those lanes that
//! still take part, as on a GPU that reconverges after each pass.

use super::memory::{Addresses, LANES, NONE, sectors, wavefronts, wavefronts2, wavefronts4};
use super::op::{Kind, Op};
use crate::source::Source;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};

/// A site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) source: Source,
    pub(crate) op: Op,
}

/// The sites that the workers of a launch have met. A site has the same number for all of them.
#[derive(Debug, Default)]
pub(crate) struct Registry(Mutex<Vec<Site>>);

impl Registry {
    fn number(&self, site: Site) -> u16 {
        let mut sites = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sites.iter().position(|&known| known == site);
        let number = number.unwrap_or_else(|| {
            sites.push(site);
            sites.len() - 1
        });
        u16::try_from(number).expect("a kernel has fewer than 65536 sites")
    }

    /// The site of this number.
    pub(crate) fn site(&self, number: u16) -> Site {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)[usize::from(number)]
    }

    /// Every site, by number.
    pub(crate) fn sites(&self) -> Vec<Site> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// What one site did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SiteCounts {
    /// Warp instructions.
    pub(crate) instructions: u64,
    /// Executions by lanes.
    pub(crate) executions: u64,
    /// Sectors of global memory, wavefronts of shared memory, bytes of copies that no thread carries out.
    pub(crate) transactions: u64,
    /// Wavefronts beyond those that an access without bank conflicts takes.
    pub(crate) conflicts: u64,
}

impl SiteCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.executions += other.executions;
        self.transactions += other.transactions;
        self.conflicts += other.conflicts;
    }
}

/// State of one site.
#[derive(Debug)]
struct State {
    kind: Kind,
    /// Executions by the lane that runs, since its last rendezvous.
    lane: u32,
    /// Most executions by a lane of the warp since its last rendezvous.
    most: u32,
    /// Whether a lane of the warp was here since its last rendezvous.
    active: bool,
    /// Of an access: the addresses of each warp instruction since the last rendezvous; beyond them
    /// [`NONE`].
    addresses: Vec<Addresses>,
    counts: SiteCounts,
}

/// Entry of the table from the place of a call to its site.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Address of the location and number of the operation; 0 of an empty entry.
    key: u64,
    site: u16,
}

/// Counters of one worker.
#[derive(Debug)]
pub(crate) struct Sites {
    registry: Arc<Registry>,
    /// Open addressing, at most half full; the length is a power of two.
    table: Vec<Entry>,
    used: usize,
    /// By number.
    states: Vec<State>,
    /// Numbers of the sites that are active.
    active: Vec<u16>,
}

/// Entries of the table at first.
const TABLE: usize = 1 << 10;

impl Sites {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            table: vec![Entry::default(); TABLE],
            used: 0,
            states: Vec::new(),
            active: Vec::new(),
        }
    }

    /// Number of the site where `location` does `op`.
    #[inline]
    pub(crate) fn find(&mut self, location: &'static Location<'static>, op: Op) -> u16 {
        // Addresses have 48 bits.
        let key = std::ptr::from_ref(location).addr() as u64 | u64::from(op.number()) << 48;
        let mask = self.table.len() - 1;
        let mut at = hash(key);
        loop {
            let entry = self.table[at & mask];
            if entry.key == key {
                return entry.site;
            }
            if entry.key == 0 {
                return self.enter(key, location, op);
            }
            at += 1;
        }
    }

    /// Number of a site for messages alone, which counts nothing.
    pub(crate) fn find_source(&mut self, source: Source) -> u16 {
        self.find(source.location(), Op::of(Kind::Wait))
    }

    #[cold]
    fn enter(&mut self, key: u64, location: &'static Location<'static>, op: Op) -> u16 {
        let source = Source::new(location);
        let site = self.registry.number(Site { source, op });
        let registry = &self.registry;
        if usize::from(site) >= self.states.len() {
            let known = registry.sites();
            let new = known[self.states.len()..].iter().map(|site| State {
                kind: site.op.kind(),
                lane: 0,
                most: 0,
                active: false,
                addresses: Vec::new(),
                counts: SiteCounts::default(),
            });
            self.states.extend(new);
        }
        self.used += 1;
        if 2 * self.used > self.table.len() {
            let old = std::mem::take(&mut self.table);
            self.table = vec![Entry::default(); 2 * old.len()];
            for entry in old.into_iter().filter(|entry| entry.key != 0) {
                self.place(entry);
            }
        }
        self.place(Entry { key, site });
        site
    }

    fn place(&mut self, entry: Entry) {
        let mask = self.table.len() - 1;
        let mut at = hash(entry.key) & mask;
        while self.table[at].key != 0 {
            at = (at + 1) & mask;
        }
        self.table[at] = entry;
    }

    /// Counts an execution of a site by the lane that runs.
    #[inline]
    pub(crate) fn count(&mut self, site: u16) {
        self.next(site);
    }

    /// Counts an execution that moves so many bytes.
    pub(crate) fn count_bytes(&mut self, site: u16, bytes: u64) {
        self.next(site);
        self.states[usize::from(site)].counts.transactions += bytes;
    }

    /// Counts an access by the `lane` of the warp that runs, whose first word has this address.
    #[inline]
    pub(crate) fn access(&mut self, site: u16, lane: u32, address: u32) {
        let (state, execution) = self.next(site);
        if execution == state.addresses.len() {
            state.addresses.push([NONE; LANES]);
        }
        state.addresses[execution][lane as usize % LANES] = address;
    }

    /// Counts an execution; gives its number since the last rendezvous.
    #[inline]
    fn next(&mut self, site: u16) -> (&mut State, usize) {
        let state = &mut self.states[usize::from(site)];
        let execution = state.lane;
        state.lane = execution + 1;
        if execution == 0 && !state.active {
            state.active = true;
            self.active.push(site);
        }
        (state, execution as usize)
    }

    /// The lane that runs has come to a rendezvous or to its end.
    pub(crate) fn end_lane(&mut self) {
        for &site in &self.active {
            let state = &mut self.states[usize::from(site)];
            state.most = state.most.max(state.lane);
            state.counts.executions += u64::from(state.lane);
            state.lane = 0;
        }
    }

    /// All lanes of the warp have come to a rendezvous or to their end.
    pub(crate) fn end_warp(&mut self) {
        for site in self.active.drain(..) {
            let state = &mut self.states[usize::from(site)];
            let counts = &mut state.counts;
            counts.instructions += u64::from(state.most);
            if state.kind.is_access() {
                for addresses in &mut state.addresses[..state.most as usize] {
                    let (transactions, conflicts) = cost(state.kind, addresses);
                    counts.transactions += u64::from(transactions);
                    counts.conflicts += u64::from(conflicts);
                    *addresses = [NONE; LANES];
                }
            }
            state.most = 0;
            state.active = false;
        }
    }

    /// What was counted, by number of the site.
    pub(crate) fn into_counts(self) -> Vec<SiteCounts> {
        self.states.into_iter().map(|state| state.counts).collect()
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// Transactions and bank conflicts of an access.
fn cost(kind: Kind, addresses: &Addresses) -> (u32, u32) {
    let cost = match kind {
        Kind::SharedLoad | Kind::SharedStore => wavefronts(addresses),
        Kind::SharedLoad2 | Kind::SharedStore2 => wavefronts2(addresses),
        Kind::SharedLoad4 | Kind::SharedStore4 | Kind::CopyWrite => wavefronts4(addresses),
        _ => return (sectors(addresses), 0),
    };
    (cost.taken, cost.taken - cost.least)
}

#[inline]
fn hash(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_keeps_its_number_while_the_table_grows() {
        let location = Location::caller();
        let mut sites = Sites::new(Arc::default());
        let kinds = [Kind::GlobalLoad, Kind::GlobalStore, Kind::SharedLoad];
        let numbers = |sites: &mut Sites| -> Vec<u16> {
            let ops = kinds
                .into_iter()
                .flat_map(|kind| (0..TABLE as u16).map(move |array| Op::on(kind, array)));
            ops.map(|op| sites.find(location, op)).collect()
        };
        let expected: Vec<u16> = (0..3 * TABLE as u16).collect();
        assert_eq!(numbers(&mut sites), expected);
        assert_eq!(numbers(&mut sites), expected);
        // Another worker of the launch meets them in another order.
        let mut other = Sites::new(sites.registry.clone());
        assert_eq!(other.find(location, Op::on(Kind::GlobalLoad, 7)), 7);
        assert_eq!(numbers(&mut other), expected);
    }
}
