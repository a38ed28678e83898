//! Counters of small kernels, each computed by hand.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_simt::gpu::{
    F32x4, In, Mbarrier, Out, barrier, block_x, broadcast, close_copies, close_stores,
    cluster_arrive, cluster_wait, div, exp, fma, kernel, mma_f16, mma_tf32, reciprocal, rsqrt,
    shared, shuffle_down, thread_x, wait_for_copies, wait_for_stores, warp_barrier,
};
use mage_simt::{Bulk, Counts, Global, Launch, Shared, Tally, Work};
use std::num::NonZero;

fn count(launch: &Launch) -> Counts {
    let counts = launch.run(NonZero::<usize>::MIN).unwrap().counts;
    let mut sum = Tally::default();
    for line in &counts.lines {
        sum += line.tally;
    }
    assert_eq!(sum, counts.total, "the lines add up");
    counts
}

fn work(instructions: u64, operations: u64) -> Work {
    Work {
        instructions,
        operations,
    }
}

shared! {
    /// Two arrays, so that the second does not begin at bank 0.
    fn first() -> Shared<f32, 4>;
    /// The second.
    fn second() -> Shared<f32, 1024>;
}

kernel! {
    /// Each thread copies an element, `stride` apart.
    pub fn copy(a: In<f32>, out: Out<f32>, stride: u32) {
        let i = (block_x() * 64 + thread_x()) * stride;
        out.set(i, a.get(i));
    }
}

#[test]
fn global_accesses_touch_sectors() {
    // Two blocks of two warps; 128 bytes a warp are 4 sectors.
    let a = vec![0.0; 4096];
    let launch = |stride, offset| {
        Launch::new(copy(), [2, 1, 1], [64, 1, 1])
            .floats("a", &a)
            .offset(offset)
            .output("out", 4096)
            .dim(stride)
    };
    let one = |sectors| Global {
        instructions: 4,
        accesses: 128,
        bytes: 512,
        sectors,
    };
    let expected = Tally {
        global_loads: one(16),
        global_stores: one(16),
        ..Tally::default()
    };
    let counts = count(&launch(1, 0));
    assert_eq!(counts.total, expected);
    assert_eq!(counts.lines.len(), 1);
    assert_eq!(counts.lines[0].file, "crates/simt/tests/counts.rs");
    assert_eq!(counts.shared_bytes, 0);
    // Every second word: 8 sectors a warp. Eight words apart: each its own.
    assert_eq!(count(&launch(2, 0)).total.global_loads, one(32));
    assert_eq!(count(&launch(8, 0)).total.global_loads, one(128));
    // One word past a sector: 5 sectors a warp, of the reads alone.
    let astray = count(&launch(1, 1)).total;
    assert_eq!(
        (astray.global_loads, astray.global_stores),
        (one(20), one(16))
    );
}

kernel! {
    /// Each thread copies a quad; only the first 20 do.
    pub fn copy4(a: In<f32>, out: Out<f32>) {
        if thread_x() < 20 {
            out.set4(thread_x(), a.get4(thread_x()));
        }
    }
}

#[test]
fn quads_are_one_instruction() {
    let launch = Launch::new(copy4(), [1, 1, 1], [32, 1, 1])
        .floats("a", &[1.0; 80])
        .output("out", 80);
    let quads = Global {
        instructions: 1,
        accesses: 20,
        bytes: 320,
        sectors: 10,
    };
    let total = count(&launch).total;
    assert_eq!((total.global_loads, total.global_stores), (quads, quads));
}

kernel! {
    /// Writes and reads shared memory, `stride` apart.
    pub fn strides(stride: u32) {
        let (_, tile) = (first(), second());
        tile.set(thread_x() * stride, 1.0);
        tile.get(thread_x() * stride);
    }
}

#[test]
fn shared_accesses_conflict_in_banks() {
    let launch = |stride| Launch::new(strides(), [1, 1, 1], [32, 1, 1]).dim(stride);
    let one = |wavefronts| Shared {
        instructions: 1,
        accesses: 32,
        bytes: 128,
        wavefronts,
        conflicts: wavefronts - 1,
    };
    for (stride, wavefronts) in [(1, 1), (2, 2), (4, 4), (31, 1), (32, 32)] {
        let counts = count(&launch(stride));
        assert_eq!(
            counts.total.shared_stores,
            one(wavefronts),
            "stride {stride}"
        );
        assert_eq!(
            counts.total.shared_loads,
            one(wavefronts),
            "stride {stride}"
        );
        assert_eq!(counts.shared_bytes, 4 * (4 + 1024));
    }
}

kernel! {
    /// All read one element, then two elements of one bank; then quads are written.
    pub fn broadcasts() {
        let tile = second();
        tile.set4(thread_x(), F32x4([1.0; 4])); // 32 quads in a row
        barrier();
        tile.get(5); // one word
        tile.get(thread_x() % 2 * 32); // two words of one bank
        barrier();
        tile.set4(thread_x() * 8, F32x4([1.0; 4])); // quads of one group of banks
    }
}

#[test]
fn broadcasts_are_free_and_quads_take_a_quarter_warp_each() {
    let counts = count(&Launch::new(broadcasts(), [1, 1, 1], [32, 1, 1]));
    assert_eq!(
        counts.total.shared_loads,
        Shared {
            instructions: 2,
            accesses: 64,
            bytes: 256,
            wavefronts: 3,
            conflicts: 1
        }
    );
    assert_eq!(
        counts.total.shared_stores,
        Shared {
            instructions: 2,
            accesses: 64,
            bytes: 1024,
            wavefronts: 36,
            conflicts: 28
        }
    );
    assert_eq!(counts.total.barriers, work(2, 64));
    assert_eq!(counts.block_barriers(), 2);
}

kernel! {
    /// Each maths function once. The plain operators are not seen.
    pub fn maths(out: Out<f32>) {
        let x = thread_x() as f32 + 1.0;
        let y = fma(x, x, 1.0);
        let y = div(y, x);
        let y = exp(-y);
        let y = reciprocal(y);
        out.set(block_x() * 40 + thread_x(), rsqrt(y) * 2.0);
    }
}

#[test]
fn maths_count_what_they_are_made_of() {
    // Three blocks of 40 threads, which are two warps each.
    let counts = count(&Launch::new(maths(), [3, 1, 1], [40, 1, 1]).output("out", 120));
    let total = counts.total;
    assert_eq!(total.fma, work(3 * 6, 3 * 120)); // itself, two in div
    assert_eq!(total.other_fp32, work(2 * 6, 2 * 120)); // one in div, one in exp
    assert_eq!(total.special, work(4 * 6, 4 * 120)); // div, exp, reciprocal, rsqrt
    assert_eq!(counts.thread_instructions(), (3 + 2 + 4 + 1) * 120);
    assert_eq!((counts.blocks(), counts.threads()), (3, 40));
    assert_eq!(counts.lines.len(), 5);
}

kernel! {
    /// Lane `i` passes the loop `i` times, each time with a read of its own row.
    pub fn trips(a: In<f32>, out: Out<f32>) {
        let lane = thread_x();
        let mut sum = 0.0;
        for i in 0..lane {
            sum = fma(a.get(i * 32 + lane), 2.0, sum);
        }
        out.set(lane, sum);
    }
}

#[test]
fn a_loop_counts_as_its_longest_lane() {
    let launch = Launch::new(trips(), [1, 1, 1], [32, 1, 1])
        .floats("a", &[1.0; 1024])
        .output("out", 32);
    let total = count(&launch).total;
    let executions = 31 * 32 / 2;
    assert_eq!(total.fma, work(31, executions));
    assert_eq!(total.global_loads.instructions, 31);
    assert_eq!(total.global_loads.accesses, executions);
    // Pass i has the lanes above i: sectors of 8 words, the first cut.
    let sectors: u64 = (0..31u64).map(|i| 4 - (i + 1) / 8).sum();
    assert_eq!(total.global_loads.sectors, sectors);
}

kernel! {
    /// Even lanes pass a site once before a rendezvous, all lanes once after it.
    pub fn anew(out: Out<f32>, shuffles: u32) {
        let mut value = 0.0;
        for i in 0..2 {
            if i == 1 || thread_x().is_multiple_of(2) {
                value = fma(value, value, 1.0);
            }
            if shuffles == 1 {
                value = shuffle_down(value, 1);
                value = broadcast(value, 3);
            } else {
                barrier();
            }
        }
        out.set(thread_x(), value);
    }
}

#[test]
fn executions_are_numbered_anew_after_a_rendezvous() {
    let launch = |shuffles| {
        Launch::new(anew(), [1, 1, 1], [32, 1, 1])
            .output("out", 32)
            .dim(shuffles)
    };
    let with_barriers = count(&launch(0)).total;
    assert_eq!(with_barriers.fma, work(2, 48));
    assert_eq!(with_barriers.barriers, work(2, 64));
    assert_eq!(with_barriers.shuffles, work(0, 0));
    let with_shuffles = count(&launch(1)).total;
    assert_eq!(with_shuffles.fma, work(2, 48));
    assert_eq!(with_shuffles.shuffles, work(4, 128));
    assert_eq!(with_shuffles.barriers, work(0, 0));
}

kernel! {
    /// Each thread copies a quad to shared memory, every one `stride` quads apart, and reads it in halves.
    pub fn copies(a: In<f32>, out: Out<f32>, stride: u32) {
        let (tile, i) = (second(), thread_x());
        tile.start_copy4(stride * i, a, i);
        close_copies();
        wait_for_copies::<0>();
        warp_barrier();
        out.set2(i, tile.get2(2 * stride * i));
    }
}

#[test]
fn an_asynchronous_copy_is_a_read_and_a_write() {
    let launch = |stride| {
        Launch::new(copies(), [1, 1, 1], [32, 1, 1])
            .floats("a", &[1.0; 128])
            .output("out", 64)
            .dim(stride)
    };
    for (stride, wavefronts, of_pairs) in [(1, 4, 4), (8, 32, 32)] {
        let total = count(&launch(stride)).total;
        let expected = Tally {
            copy_reads: Global {
                instructions: 1,
                accesses: 32,
                bytes: 512,
                sectors: 16,
            },
            copy_writes: Shared {
                instructions: 1,
                accesses: 32,
                bytes: 512,
                wavefronts,
                conflicts: wavefronts - 4,
            },
            // Pairs that are the first halves of quads: of a half warp, two in each pair of banks that is used.
            shared_loads: Shared {
                instructions: 1,
                accesses: 32,
                bytes: 256,
                wavefronts: of_pairs,
                conflicts: of_pairs - 2,
            },
            global_stores: Global {
                instructions: 1,
                accesses: 32,
                bytes: 256,
                sectors: 8,
            },
            warp_barriers: work(1, 32),
            ..Tally::default()
        };
        assert_eq!(total, expected, "stride {stride}");
    }
}

kernel! {
    /// Two products of each kind a warp.
    pub fn products(out: Out<f32>) {
        let mut sum = [0.0; 4];
        for _ in 0..2 {
            mma_f16(&mut sum, [0; 4], [0; 2]);
            sum = mma_tf32([0.0; 4], [0.0; 2], sum);
        }
        out.set(thread_x(), sum[0]);
    }
}

#[test]
fn a_product_counts_once_a_warp() {
    let launch = Launch::new(products(), [1, 1, 1], [64, 1, 1]).output("out", 64);
    let total = count(&launch).total;
    assert_eq!(total.products, work(8, 4 * (2048 + 1024)));
}

shared! {
    /// An mbarrier.
    fn mbarrier() -> Shared<u32, 2>;
}

kernel! {
    /// A thread has 64 bytes copied in and out; all wait for them.
    pub fn bulk(a: In<f32>, out: Out<f32>) {
        let (tile, arrived) = (second(), Mbarrier::at(mbarrier(), 0));
        if thread_x() == 0 {
            arrived.init(1);
        }
        cluster_arrive();
        cluster_wait();
        if thread_x() == 0 {
            arrived.arrive_and_expect(64);
            tile.start_load(0, a, 0, 4, arrived);
        }
        arrived.wait(0);
        if thread_x() == 0 {
            tile.start_store(0, out, 0, 4);
            close_stores();
            wait_for_stores();
        }
    }
}

#[test]
fn bulk_copies_count_by_their_bytes() {
    let launch = Launch::new(bulk(), [1, 1, 1], [64, 1, 1])
        .floats("a", &[1.0; 16])
        .output("out", 16);
    let bulk = Bulk {
        copies: 1,
        bytes: 64,
    };
    let expected = Tally {
        bulk_loads: bulk,
        bulk_stores: bulk,
        arrivals: work(1, 1),
        waits: work(2, 64),
        cluster_barriers: work(2, 64),
        ..Tally::default()
    };
    assert_eq!(count(&launch).total, expected);
}
