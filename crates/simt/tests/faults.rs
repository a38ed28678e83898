//! Faulty kernels, each caught with the message that its author needs.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_simt::gpu::{
    F32x4, In, Kernel, Out, barrier, block_x, broadcast, close_copies, kernel, mma_tf32, shared,
    shuffle_down, thread_x, wait_for_copies, warp_barrier,
};
use mage_simt::{Error, Fault, Finished, Launch};
use std::num::NonZero;

/// The line of this file that ends in the comment `marker`.
fn at(marker: &str) -> String {
    let comment = format!("// {marker}");
    let mut lines = include_str!("faults.rs").lines();
    let line = lines.position(|line| line.ends_with(&comment)).unwrap();
    format!("crates/simt/tests/faults.rs:{}", line + 1)
}

fn run(launch: &Launch) -> Result<Finished, Error> {
    let finished = launch.run(NonZero::new(2).unwrap());
    let alone = launch.run(NonZero::<usize>::MIN);
    let text = |result: &Result<Finished, Error>| result.as_ref().err().map(ToString::to_string);
    assert_eq!(text(&finished), text(&alone), "on two threads and on one");
    finished
}

fn message(launch: &Launch) -> String {
    run(launch).unwrap_err().to_string()
}

/// A launch of so many blocks and threads.
fn launch(kernel: Kernel, blocks: u32, threads: u32) -> Launch {
    Launch::new(kernel, [blocks, 1, 1], [threads, 1, 1])
}

shared! {
    /// An element a thread.
    fn tile() -> Shared<f32, 64>;
}

kernel! {
    /// Each thread copies an element: nothing is wrong.
    pub fn copy(a: In<f32>, out: Out<f32>) {
        let i = block_x() * 4 + thread_x();
        out.set(i, a.get(i)); // copy
    }
}

#[test]
fn a_read_out_of_bounds() {
    let copy = launch(copy(), 2, 4).floats("a", &[0.0; 6]).output("out", 8);
    assert_eq!(
        message(&copy),
        format!(
            "out of bounds: read of a[6], which has 6 elements, by thread (2, 0, 0) of block (1, 0, 0) at {}",
            at("copy")
        )
    );
}

#[test]
fn a_write_out_of_bounds() {
    let copy = launch(copy(), 1, 4).floats("a", &[0.0; 4]).output("out", 3);
    assert_eq!(
        message(&copy),
        format!(
            "out of bounds: write of out[3], which has 3 elements, by thread (3, 0, 0) of block (0, 0, 0) at {}",
            at("copy")
        )
    );
}

kernel! {
    /// Each thread copies a quad.
    pub fn copy4(a: In<f32>, out: Out<f32>) {
        let i = thread_x();
        let quad = a.get4(i); // read quad
        out.set4(i, quad); // write quad
    }
}

#[test]
fn a_quad_that_is_not_whole() {
    let copy = launch(copy4(), 1, 2)
        .floats("a", &[0.0; 7])
        .output("out", 8);
    assert_eq!(
        message(&copy),
        format!(
            "out of bounds: read of a[4..8], which has 7 elements, by thread (1, 0, 0) of block (0, 0, 0) at {}",
            at("read quad")
        )
    );
    let copy = launch(copy4(), 1, 2)
        .floats("a", &[0.0; 8])
        .output("out", 7);
    assert!(message(&copy).starts_with("out of bounds: write of out[4..8], which has 7 elements"));
}

#[test]
fn a_quad_that_is_not_aligned() {
    let copy = launch(copy4(), 1, 2)
        .floats("a", &[0.0; 8])
        .offset(1)
        .output("out", 8);
    assert_eq!(
        message(&copy),
        format!(
            "misaligned: 128-bit read of a[0..4], 4 bytes past a multiple of 16, \
             by thread (0, 0, 0) of block (0, 0, 0) at {}",
            at("read quad")
        )
    );
    let copy = launch(copy4(), 1, 2)
        .floats("a", &[0.0; 8])
        .output("out", 8)
        .offset(2);
    assert_eq!(
        message(&copy),
        format!(
            "misaligned: 128-bit write of out[0..4], 8 bytes past a multiple of 16, \
             by thread (0, 0, 0) of block (0, 0, 0) at {}",
            at("write quad")
        )
    );
}

kernel! {
    /// Writes one element past the end of shared memory, or reads there.
    pub fn beyond(write: u32) {
        let i = thread_x() + 33;
        if write == 1 {
            tile().set(i, 1.0); // write beyond
        } else if write == 4 {
            tile().set4(thread_x(), F32x4::ZERO); // write quad beyond
        } else {
            tile().get(64); // read beyond
        }
    }
}

#[test]
fn shared_memory_out_of_bounds() {
    for (write, access, element, thread, line) in [
        (1, "write", "[64]", 31, "write beyond"),
        (4, "write", "[64..68]", 16, "write quad beyond"),
        (0, "read", "[64]", 0, "read beyond"),
    ] {
        assert_eq!(
            message(&launch(beyond(), 1, 32).dim(write)),
            format!(
                "out of bounds: {access} of tile{element}, which has 64 elements, \
                 by thread ({thread}, 0, 0) of block (0, 0, 0) at {}",
                at(line)
            )
        );
    }
}

kernel! {
    /// Block 0 writes shared memory; the blocks after it read what it left.
    pub fn leftover(out: Out<f32>) {
        if block_x() == 0 {
            tile().set(thread_x(), 1.0);
        }
        out.set(block_x(), tile().get(0)); // read nothing
    }
}

#[test]
fn a_read_of_shared_memory_that_nothing_wrote() {
    assert_eq!(
        message(&launch(leftover(), 2, 1).output("out", 2)),
        format!(
            "uninitialised: read of tile[0], which nothing wrote, \
             by thread (0, 0, 0) of block (1, 0, 0) at {}",
            at("read nothing")
        )
    );
}

kernel! {
    /// Each thread writes its element and reads that of the next, with a barrier between or without.
    pub fn read_after_write(out: Out<f32>, barriers: u32) {
        let i = thread_x();
        tile().set(i, 0.0);
        barrier();
        tile().set(i, i as f32); // raw write
        if barriers == 1 {
            barrier();
        }
        out.set(i, tile().get((i + 63) % 64)); // raw read
    }
}

#[test]
fn a_read_after_a_write() {
    let launch = |barriers| {
        launch(read_after_write(), 1, 64)
            .output("out", 64)
            .dim(barriers)
    };
    let race = message(&launch(0));
    assert_eq!(
        race,
        format!(
            "data race on tile[0]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then read by thread (1, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("raw write"),
            at("raw read")
        )
    );
    assert_eq!(run(&launch(1)).unwrap().outputs[0][5], 4.0);
}

kernel! {
    /// Every thread reads an element that one thread then writes.
    pub fn write_after_read(writer: u32, barriers: u32) {
        tile().set(thread_x(), 0.0);
        barrier();
        tile().get(7); // war read
        if barriers == 1 {
            barrier();
        }
        if thread_x() == writer {
            tile().set(7, 1.0); // war write
        }
    }
}

#[test]
fn a_write_after_a_read() {
    // The first reader writes too: its own read does not hide that of the others.
    for (writer, barriers) in [(63, 0), (0, 0)] {
        let race = message(&launch(write_after_read(), 1, 64).dim(writer).dim(barriers));
        let (first, second) = (at("war read"), at("war write"));
        let expected = match writer {
            0 => format!(
                "data race on tile[7]: write by thread (0, 0, 0) of block (0, 0, 0) at {second}, \
                 then read by thread (1, 0, 0) of block (0, 0, 0) at {first}, with no barrier between"
            ),
            _ => format!(
                "data race on tile[7]: read by thread (0, 0, 0) of block (0, 0, 0) at {first}, \
                 then write by thread (63, 0, 0) of block (0, 0, 0) at {second}, with no barrier between"
            ),
        };
        assert_eq!(race, expected);
    }
    run(&launch(write_after_read(), 1, 64).dim(63).dim(1)).unwrap();
}

kernel! {
    /// Threads 0 and 1 read an element and meet at a shuffle, which orders nothing; then thread 0 writes it.
    pub fn shuffled() {
        tile().set(thread_x(), 0.0);
        barrier();
        if thread_x() < 2 {
            tile().get(7); // shuffled read
        }
        broadcast(1.0, 0);
        if thread_x() == 0 {
            tile().set(7, 1.0); // shuffled write
        }
    }
}

#[test]
fn a_shuffle_is_no_barrier() {
    assert_eq!(
        message(&launch(shuffled(), 1, 32)),
        format!(
            "data race on tile[7]: read by thread (1, 0, 0) of block (0, 0, 0) at {}, \
             then write by thread (0, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("shuffled read"),
            at("shuffled write")
        )
    );
}

kernel! {
    /// Every thread whose number is a multiple of `every` writes the same element: its number / `same`.
    pub fn write_after_write(every: u32, same: u32) {
        if thread_x().is_multiple_of(every) {
            tile().set(9, (thread_x() / same) as f32); // waw
        }
    }
}

#[test]
fn two_writes_of_shared_memory() {
    let place = at("waw");
    let launch = |every, same| {
        let launch = launch(write_after_write(), 1, 64);
        launch.dim(every).dim(same)
    };
    for (every, same, other) in [(2, 1, 2), (32, 64, 32)] {
        assert_eq!(
            message(&launch(every, same)),
            format!(
                "data race on tile[9]: write by thread (0, 0, 0) of block (0, 0, 0) at {place}, \
                 then write by thread ({other}, 0, 0) of block (0, 0, 0) at {place}, with no barrier between"
            )
        );
    }
}

kernel! {
    /// The lanes of a warp write one value to one element, which another warp reads after a barrier.
    pub fn one_value(out: Out<f32>) {
        if thread_x() < 32 {
            tile().set(9, 7.0);
        }
        barrier();
        out.set(thread_x(), tile().get(9));
    }
}

#[test]
fn lanes_of_a_warp_that_write_one_value_are_one_write() {
    let launch = launch(one_value(), 1, 64).output("out", 64);
    assert_eq!(run(&launch).unwrap().outputs[0], [7.0; 64]);
}

kernel! {
    /// Two threads of a block write the same output, with a barrier between or without.
    pub fn same_output(out: Out<f32>, barriers: u32) {
        if thread_x() == 0 {
            out.set(3, 1.0); // output first
        }
        if barriers == 1 {
            barrier();
        }
        if thread_x() == 40 {
            out.set(3, 2.0); // output second
        }
    }
}

#[test]
fn two_writes_of_an_output_in_one_block() {
    let launch = |barriers| launch(same_output(), 1, 64).output("out", 4).dim(barriers);
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on out[3]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then write by thread (40, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("output first"),
            at("output second")
        )
    );
    assert_eq!(run(&launch(1)).unwrap().outputs[0][3], 2.0);
}

kernel! {
    /// Blocks 2 and 5 write the same output; no barrier orders two blocks.
    pub fn across_blocks(out: Out<f32>) {
        let block = block_x();
        barrier();
        out.set(if block == 5 { 2 } else { block }, 1.0); // across
    }
}

#[test]
fn two_writes_of_an_output_in_two_blocks() {
    let place = at("across");
    assert_eq!(
        message(&launch(across_blocks(), 8, 1).output("out", 8)),
        format!(
            "data race on out[2]: write by thread (0, 0, 0) of block (2, 0, 0) at {place}, \
             then write by thread (0, 0, 0) of block (5, 0, 0) at {place}, with no barrier between"
        )
    );
}

kernel! {
    /// Some threads return before a barrier, some wait at another.
    pub fn divergent() {
        let i = thread_x();
        if i == 5 || i > 40 {
            return;
        }
        if i < 3 {
            barrier(); // other barrier
        }
        barrier(); // barrier
    }
}

#[test]
fn a_barrier_that_some_threads_never_reach() {
    assert_eq!(
        message(&launch(divergent(), 1, 48)),
        format!(
            "divergence in block (0, 0, 0): threads 0-2 wait at the barrier at {}; \
             threads 3-4, 6-40 never reach it: they wait at the barrier at {}; \
             threads 5, 41-47 never reach it: they returned",
            at("other barrier"),
            at("barrier")
        )
    );
}

kernel! {
    /// A whole warp returns before the barrier of its block.
    pub fn early_warp() {
        if thread_x() < 32 {
            return;
        }
        barrier(); // late barrier
    }
}

#[test]
fn a_barrier_that_a_warp_never_reaches() {
    assert_eq!(
        message(&launch(early_warp(), 1, 64)),
        format!(
            "divergence in block (0, 0, 0): threads 32-63 wait at the barrier at {}; \
             threads 0-31 never reach it: they returned",
            at("late barrier")
        )
    );
}

kernel! {
    /// Half of a warp shuffles; the rest waits at a barrier or returns.
    pub fn half_a_shuffle(barriers: u32) {
        if thread_x() % 32 < 16 {
            shuffle_down(1.0, 8); // half shuffle
        } else if barriers == 1 {
            barrier(); // half barrier
        }
    }
}

#[test]
fn a_shuffle_that_some_lanes_never_reach() {
    assert_eq!(
        message(&launch(half_a_shuffle(), 1, 64).dim(0)),
        format!(
            "divergence in block (0, 0, 0): threads 0-15 wait at the shuffle at {}; \
             threads 16-31 never reach it: they returned",
            at("half shuffle")
        )
    );
    assert_eq!(
        message(&launch(half_a_shuffle(), 1, 64).dim(1)),
        format!(
            "divergence in block (0, 0, 0): threads 0-15 wait at the shuffle at {}; \
             threads 16-31 never reach it: they wait at the barrier at {}",
            at("half shuffle"),
            at("half barrier")
        )
    );
}

kernel! {
    /// Every lane asks for the value of one.
    pub fn ask(lane: u32) {
        broadcast(1.0, lane); // ask
    }
}

#[test]
fn a_shuffle_from_a_lane_that_is_not_there() {
    run(&launch(ask(), 1, 40).dim(7)).unwrap();
    // The second warp has 8 lanes.
    assert_eq!(
        message(&launch(ask(), 1, 40).dim(8)),
        format!(
            "lane 8 of a warp or warpgroup of 8 lanes is asked for by thread (32, 0, 0) of block (0, 0, 0) at {}",
            at("ask")
        )
    );
    assert!(message(&launch(ask(), 1, 32).dim(32)).starts_with("lane 32"));
}

kernel! {
    /// Reads outside a local array.
    pub fn local(out: Out<f32>) {
        let values = [1.0, 2.0];
        out.set(thread_x(), values[thread_x() as usize]);
    }
}

#[test]
fn a_panic() {
    assert_eq!(
        message(&launch(local(), 1, 3).output("out", 3)),
        "panic in thread (2, 0, 0) of block (0, 0, 0): \
         index out of bounds: the len is 2 but the index is 2"
    );
}

kernel! {
    /// Each thread copies a quad to shared memory and reads it back, after a wait for its group or without.
    pub fn early(a: In<f32>, out: Out<f32>, wait: u32) {
        let i = thread_x();
        tile().start_copy4(i, a, i); // early copy
        if wait != 1 {
            close_copies();
        }
        match wait {
            0 => wait_for_copies::<1>(), // one group may be left: this one
            _ => wait_for_copies::<0>(), // without a group there is nothing to wait for
        }
        out.set4(i, tile().get4(i)); // early read
    }
}

#[test]
fn a_read_of_an_asynchronous_copy_before_its_wait() {
    let a: Vec<f32> = (0..64u8).map(f32::from).collect();
    let launch = |wait| {
        launch(early(), 1, 16)
            .floats("a", &a)
            .output("out", 64)
            .dim(wait)
    };
    for wait in [0, 1] {
        assert_eq!(
            message(&launch(wait)),
            format!(
                "asynchronous copy not waited for: read of tile[0] by thread (0, 0, 0) of block (0, 0, 0) at {}, \
                 which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be filling",
                at("early read"),
                at("early copy")
            )
        );
    }
    assert_eq!(run(&launch(2)).unwrap().outputs[0], a);
}

kernel! {
    /// Thread 0 copies a quad and waits for it; thread 1 reads it, with a barrier between or without.
    pub fn unordered(a: In<f32>, out: Out<f32>, barriers: u32) {
        if thread_x() == 0 {
            tile().start_copy4(3, a, 0); // unordered copy
            close_copies();
            wait_for_copies::<0>();
        }
        if barriers == 1 {
            barrier();
        }
        if thread_x() == 1 {
            out.set(0, tile().get(13)); // unordered read
        }
    }
}

#[test]
fn the_wait_of_one_thread_is_not_that_of_another() {
    let launch = |barriers| {
        launch(unordered(), 1, 2)
            .floats("a", &[1.0, 2.0, 3.0, 4.0])
            .output("out", 1)
            .dim(barriers)
    };
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on tile[13]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then read by thread (1, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("unordered copy"),
            at("unordered read")
        )
    );
    assert_eq!(run(&launch(1)).unwrap().outputs[0], [2.0]);
}

kernel! {
    /// A ring of two stages, each filled again while it is read, with a barrier after the read or without.
    pub fn ring(a: In<f32>, out: Out<f32>, barriers: u32) {
        let (i, tile) = (thread_x(), tile());
        let mut sum = 0.0;
        tile.start_copy4(i, a, i);
        close_copies();
        for stage in 0..4 {
            if stage < 3 {
                let to = (stage + 1) % 2 * 8 + i;
                tile.start_copy4(to, a, i + 8 * stage); // ring copy
            }
            close_copies();
            wait_for_copies::<1>();
            barrier();
            sum += tile.get4(stage % 2 * 8 + (i + 1) % 8).sum(); // ring read
            if barriers == 1 {
                barrier();
            }
        }
        out.set(i, sum);
    }
}

#[test]
fn a_copy_into_a_stage_that_others_still_read() {
    let launch = |barriers| {
        launch(ring(), 1, 8)
            .floats("a", &[1.0; 96])
            .output("out", 8)
            .dim(barriers)
    };
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on tile[4]: read by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then write by thread (1, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("ring read"),
            at("ring copy")
        )
    );
    assert_eq!(run(&launch(1)).unwrap().outputs[0], [16.0; 8]);
}

kernel! {
    /// Writes, or copies to, what a copy is still filling.
    pub fn overwrite(a: In<f32>, copies: u32) {
        tile().start_copy4(0, a, 0); // first copy
        close_copies();
        if copies == 1 {
            tile().start_copy4(0, a, 0); // second copy
        } else {
            tile().set(2, 1.0); // overwrite
        }
    }
}

#[test]
fn a_write_of_a_stage_that_a_copy_is_still_filling() {
    for (copies, element, line) in [(0, 2, "overwrite"), (1, 0, "second copy")] {
        let launch = launch(overwrite(), 1, 1).floats("a", &[0.0; 4]).dim(copies);
        assert_eq!(
            message(&launch),
            format!(
                "asynchronous copy not waited for: write of tile[{element}] \
                 by thread (0, 0, 0) of block (0, 0, 0) at {}, \
                 which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be filling",
                at(line),
                at("first copy")
            )
        );
    }
}

kernel! {
    /// Leaves a copy behind that nobody waits for. The next block reads where it went.
    pub fn abandoned(a: In<f32>, out: Out<f32>) {
        if block_x() == 0 {
            tile().start_copy4(0, a, 0);
        } else {
            out.set(0, tile().get(0)); // abandoned read
        }
    }
}

#[test]
fn a_copy_does_not_reach_the_next_block() {
    let launch = launch(abandoned(), 2, 1)
        .floats("a", &[0.0; 4])
        .output("out", 1);
    assert!(message(&launch).starts_with("uninitialised: read of tile[0]"));
}

shared! {
    /// As much as the launch gives.
    dynamic fn given() -> Shared<f32, 64>, aligned 128;
}

kernel! {
    /// Each thread writes an element of the memory that the launch gives.
    pub fn in_given(out: Out<f32>) {
        let (tile, given) = (tile(), given());
        tile.set(thread_x(), 1.0);
        given.set(thread_x(), 2.0); // given
        out.set(thread_x(), tile.get(thread_x()) + given.get(thread_x()));
    }
}

#[test]
fn an_access_beyond_the_shared_memory_that_the_launch_gives() {
    let launch = |bytes| launch(in_given(), 1, 17).shared(bytes).output("out", 17);
    assert_eq!(
        message(&launch(64)),
        format!(
            "out of bounds: write of given[16], which has 16 elements, \
             by thread (16, 0, 0) of block (0, 0, 0) at {}",
            at("given")
        )
    );
    let finished = run(&launch(1000)).unwrap();
    assert_eq!(finished.outputs[0], [3.0; 17]);
    assert_eq!(
        finished.counts.shared_bytes,
        2 * 64 * 4,
        "as much as it uses"
    );
}

kernel! {
    /// A lane writes what another of its warp reads, with a barrier of the warp between or without.
    pub fn in_warp(out: Out<f32>, barriers: u32) {
        let i = thread_x();
        tile().set(i, i as f32); // warp write
        if barriers == 1 {
            warp_barrier();
        }
        out.set(i, tile().get(i ^ 1)); // warp read
    }
}

#[test]
fn a_barrier_of_a_warp_orders_its_lanes() {
    let launch = |barriers| launch(in_warp(), 1, 64).output("out", 64).dim(barriers);
    assert_eq!(
        message(&launch(0)),
        format!(
            "uninitialised: read of tile[1], which nothing wrote, by thread (0, 0, 0) of block (0, 0, 0) at {}",
            at("warp read")
        )
    );
    assert_eq!(run(&launch(1)).unwrap().outputs[0][6], 7.0);
}

kernel! {
    /// Warps read what the other wrote, with no more than a barrier of the warp between.
    pub fn across_warps(out: Out<f32>) {
        let i = thread_x();
        tile().set(i, i as f32); // other warp write
        warp_barrier();
        if i >= 32 {
            out.set(i - 32, tile().get(i - 32)); // other warp read
        }
    }
}

#[test]
fn a_barrier_of_a_warp_orders_no_other() {
    assert_eq!(
        message(&launch(across_warps(), 1, 64).output("out", 32)),
        format!(
            "data race on tile[0]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then read by thread (32, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("other warp write"),
            at("other warp read")
        )
    );
}

kernel! {
    /// Some lanes take no part in a product.
    pub fn half_a_product(out: Out<f32>, lanes: u32) {
        if thread_x() < lanes {
            let [d, ..] = mma_tf32([1.0; 4], [1.0; 2], [0.0; 4]); // half product
            out.set(thread_x(), d);
        }
    }
}

#[test]
fn a_product_in_which_some_lanes_take_no_part() {
    let run_with = |threads, lanes| {
        let launch = launch(half_a_product(), 1, threads).output("out", 32);
        run(&launch.dim(lanes))
    };
    assert_eq!(
        run_with(32, 20).unwrap_err().to_string(),
        format!(
            "divergence in block (0, 0, 0): threads 0-19 wait at the tensor-core product at {}; \
             threads 20-31 never reach it: they returned",
            at("half product")
        )
    );
    assert!(
        run_with(20, 20)
            .unwrap_err()
            .to_string()
            .starts_with("lane 20 of a warp or warpgroup of 20 lanes")
    );
    assert_eq!(run_with(32, 32).unwrap().outputs[0], [8.0; 32]);
}

/// Threads that wait are unwound when another thread stops the launch, and the next launch is not disturbed.
#[test]
fn a_fault_leaves_nothing_behind() {
    for _ in 0..3 {
        let faulty = launch(write_after_read(), 1, 64).dim(63).dim(0);
        assert!(matches!(
            run(&faulty),
            Err(Error::Fault(Fault::Race { .. }))
        ));
        run(&launch(write_after_read(), 1, 64).dim(63).dim(1)).unwrap();
    }
}

#[test]
fn a_launch_that_cannot_be() {
    let refused = |launch: Launch| match run(&launch) {
        Err(Error::Launch(reason)) => reason,
        other => panic!("{other:?}"),
    };
    let a = [0.0; 4];
    let floats = |launch: Launch| launch.floats("a", &a).output("out", 4);
    assert_eq!(
        refused(floats(launch(copy(), 1, 1025))),
        "copy: [1025, 1, 1] threads of a block, expected 1 to 1024"
    );
    assert_eq!(
        refused(floats(launch(copy(), 0, 4))),
        "copy: a grid of [0, 1, 1] blocks"
    );
    assert_eq!(
        refused(launch(copy(), 1, 4).integers("a", &[0; 4]).output("out", 4)),
        "copy: given [Integers, Output], expected [(\"a\", Floats), (\"out\", Output)]"
    );
}

#[test]
#[should_panic(expected = "not outside")]
fn a_call_outside_a_kernel() {
    barrier();
}
