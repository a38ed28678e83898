//! Scratch memory and launches in a sequence: what is right, and faults, each with the message that its author needs.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_simt::gpu::{
    In, Kernel, Mbarrier, Out, Scratch, barrier, block_x, close_stores, fence_async_shared, kernel,
    shared, thread_x, wait_for_prerequisites, wait_for_reads_of_stores, wait_for_stores,
};
use mage_simt::{Error, Finished, Launch};
use std::num::NonZero;

/// The line of this file that ends in the comment `marker`.
fn at(marker: &str) -> String {
    let comment = format!("// {marker}");
    let mut lines = include_str!("scratch.rs").lines();
    let line = lines.position(|line| line.ends_with(&comment)).unwrap();
    format!("crates/simt/tests/scratch.rs:{}", line + 1)
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
    /// 16 quads.
    fn words() -> Shared<u32, 64>, aligned 128;
    /// An mbarrier.
    fn barriers() -> Shared<u32, 2>;
}

kernel! {
    /// A block of 64 threads writes 64 words by a copy, and a word behind the 64 of each block.
    pub fn write(a: In<f32>, out: Out<f32>, blocks: u32, fences: u32, scratch: Scratch) {
        let (i, words) = (thread_x(), words());
        words.set(i, a.get(64 * block_x() + i).to_bits()); // staged
        if fences != 0 {
            fence_async_shared();
        }
        barrier();
        words.start_store(i == 3, 0, scratch, 16 * block_x(), 16); // store
        close_stores();
        scratch.set_if(i == 0, 64 * blocks + block_x(), block_x());
        out.set(64 * block_x() + i, -1.0);
        wait_for_reads_of_stores::<0>();
    }
}

kernel! {
    /// A block reads the 64 words of the block after it, by a copy, and its word, by every thread.
    pub fn read(_a: In<f32>, out: Out<f32>, blocks: u32, _fences: u32, scratch: Scratch) {
        let (i, words, arrived) = (thread_x(), words(), Mbarrier::at(barriers(), 0));
        let next = (block_x() + 1) % blocks;
        if i == 0 {
            arrived.init(1);
            arrived.arrive_and_expect(256);
            words.start_load(0, scratch, 16 * next, 16, arrived); // load
        }
        barrier();
        arrived.wait(0);
        let number = scratch.get(64 * blocks + next); // get
        out.set(64 * next + i, f32::from_bits(words.get(i)) + number as f32);
    }
}

kernel! {
    /// A block reads the word of the block after it, in every thread: with `fences` 1 thread 0 waits for the launch before,
    /// and a barrier follows; with 2 there is no barrier, with 3 no wait.
    pub fn read_after_wait(_a: In<f32>, out: Out<f32>, blocks: u32, fences: u32, scratch: Scratch) {
        let i = thread_x();
        if i == 0 && fences < 3 {
            wait_for_prerequisites();
        }
        if fences == 1 {
            barrier();
        }
        let number = scratch.get(64 * blocks + (block_x() + 1) % blocks); // read early
        out.set(64 * block_x() + i, number as f32);
    }
}

kernel! {
    /// A block writes a word with no wait for the launch before.
    pub fn set_early(_a: In<f32>, out: Out<f32>, blocks: u32, _fences: u32, scratch: Scratch) {
        scratch.set_if(thread_x() == 0, 64 * blocks + block_x(), 1); // set early
        out.set(64 * block_x() + thread_x(), 0.0);
    }
}

kernel! {
    /// A block writes 64 words by a copy with no wait for the launch before.
    pub fn store_early(a: In<f32>, out: Out<f32>, _blocks: u32, _fences: u32, scratch: Scratch) {
        let (i, words) = (thread_x(), words());
        words.set(i, a.get(i).to_bits());
        fence_async_shared();
        barrier();
        words.start_store(i == 3, 0, scratch, 16 * block_x(), 16); // store early
        close_stores();
        wait_for_stores();
        out.set(64 * block_x() + i, 0.0);
    }
}

/// As many of `a` as the first launch reads; it has so many blocks, the second `of` them.
fn sequence(blocks: u32, of: u32, fences: u32) -> Launch {
    let a: Vec<f32> = (0..64 * blocks as u16).map(f32::from).collect();
    launch(write(), blocks, 64)
        .then(read(), [of, 1, 1], [64, 1, 1])
        .floats("a", &a)
        .output("out", 64 * of as usize)
        .dim(of)
        .dim(fences)
        .scratch("scratch", 65 * of as usize)
}

#[test]
fn a_launch_reads_what_the_one_before_wrote() {
    let finished = run(&sequence(3, 3, 1)).unwrap();
    let expected = (0..192u16).map(|i| f32::from(i) + f32::from(i / 64));
    assert!(finished.outputs[0].iter().copied().eq(expected));
    // Each launch by itself, and both together.
    let counts = finished.counts;
    let [first] = &counts.before[..] else {
        panic!("one launch before")
    };
    assert_eq!((first.grid, counts.grid), ([3, 1, 1], [3, 1, 1]));
    assert_eq!(first.total.bulk_stores.bytes, 3 * 256);
    assert_eq!(first.total.bulk_loads.bytes, 0);
    assert_eq!(counts.total.bulk_loads.bytes, 3 * 256);
    assert_eq!(counts.total.bulk_stores.bytes, 0);
    // A word a block, and the output; every thread reads the word of the next block, a sector a warp.
    assert_eq!(first.total.global_stores.accesses, 3 + 3 * 64);
    assert_eq!(counts.total.global_loads.accesses, 3 * 64);
    assert_eq!(counts.total.global_loads.sectors, 3 * 2);
    let sum = counts.sum();
    assert_eq!(sum.bulk_loads, counts.total.bulk_loads);
    assert_eq!(sum.bulk_stores, first.total.bulk_stores);
    assert_eq!(sum.barriers.operations, 2 * 3 * 64);
    assert_eq!((counts.all_blocks(), counts.block_barriers()), (6, 6));
}

#[test]
fn a_launch_that_begins_before_the_end_of_the_one_before() {
    let programmatic = |fences: u32| {
        let a = [0.0; 128];
        launch(write(), 2, 64)
            .then(read_after_wait(), [2, 1, 1], [64, 1, 1])
            .programmatic()
            .floats("a", &a)
            .output("out", 128)
            .dim(2)
            .dim(fences)
            .scratch("scratch", 130)
    };
    let finished = run(&programmatic(1)).unwrap();
    let (first, second) = finished.outputs[0].split_at(64);
    assert!(first.iter().all(|&x| x == 1.0) && second.iter().all(|&x| x == 0.0));
    let early = |thread| {
        format!(
            "launch before not waited for: read of scratch[129] by thread ({thread}, 0, 0) of block (0, 0, 0) at {}, \
             with no wait_for_prerequisites before",
            at("read early")
        )
    };
    assert_eq!(message(&programmatic(2)), early(1));
    assert_eq!(message(&programmatic(3)), early(0));
}

#[test]
fn every_access_of_scratch_memory_waits_for_the_launch_before() {
    let a = [0.0; 128];
    for (kernel, access, marker) in [
        (read(), "read", "load"),
        (store_early(), "write", "store early"),
        (set_early(), "write", "set early"),
    ] {
        let early = launch(write(), 2, 64)
            .then(kernel, [2, 1, 1], [64, 1, 1])
            .programmatic()
            .floats("a", &a)
            .output("out", 128)
            .dim(2)
            .dim(1)
            .scratch("scratch", 130);
        let message = message(&early);
        let expected = format!("launch before not waited for: {access} of scratch[");
        assert!(message.starts_with(&expected), "{message}");
        let place = format!("at {}, with no wait_for_prerequisites before", at(marker));
        assert!(message.contains(&place), "{message}");
    }
}

#[test]
fn a_part_that_the_launch_before_did_not_write() {
    // Block 2 writes neither its quads nor its word, which block 1 asks for.
    assert_eq!(
        message(&sequence(2, 3, 1)),
        format!(
            "uninitialised: read of scratch[128], which nothing wrote, by thread (0, 0, 0) of block (1, 0, 0) at {}",
            at("load")
        )
    );
}

#[test]
fn a_bulk_store_to_scratch_memory_without_a_fence() {
    assert_eq!(
        message(&sequence(2, 2, 0)),
        format!(
            "no fence: thread (3, 0, 0) of block (0, 0, 0) at {} reads words[0] by a copy or a product of a \
             warpgroup, which thread (0, 0, 0) of block (0, 0, 0) at {} wrote without a later fence_async_shared",
            at("store"),
            at("staged")
        )
    );
}

#[test]
fn scratch_memory_out_of_bounds() {
    let beyond = |access, elements, words, place| {
        format!(
            "out of bounds: {access} of scratch{elements}, which has {words} elements, \
             by thread (0, 0, 0) of block (0, 0, 0) at {place}"
        )
    };
    let store = launch(stored(), 1, 2).dim(2).scratch("scratch", 3);
    let expected = beyond("write", "[0..4]", 3, at("stored"));
    assert_eq!(message(&store), expected);
    let load = launch(overwritten(), 1, 1).dim(1).scratch("scratch", 6);
    let expected = beyond("read", "[4..8]", 6, at("copied"));
    assert_eq!(message(&load), expected);
    let set = launch(in_a_block(), 1, 1).dim(0).dim(0);
    let expected = beyond("write", "[5]", 5, at("first"));
    assert_eq!(message(&set.scratch("scratch", 5)), expected);
}

kernel! {
    /// Thread 0 writes, thread 1 reads or writes the word, after so many barriers of the block.
    pub fn in_a_block(barriers: u32, reads: u32, scratch: Scratch) {
        scratch.set_if(thread_x() == 0, 5, 1); // first
        for _ in 0..barriers {
            barrier();
        }
        if reads == 0 {
            scratch.set_if(thread_x() == 1, 5, 2); // second
        } else if thread_x() == 1 {
            scratch.get(5); // read
        }
    }
}

kernel! {
    /// Thread 0 writes a word that thread 1 has read, after so many barriers of the block.
    pub fn read_before(barriers: u32, scratch: Scratch) {
        if thread_x() == 1 {
            scratch.get(5); // read before
        }
        for _ in 0..barriers {
            barrier();
        }
        scratch.set_if(thread_x() == 0, 5, 1); // written after
    }
}

#[test]
fn threads_of_a_block_race_on_a_word() {
    let race = |first: &str, at_first: &str, second: &str, at_second: &str, by: [u32; 2]| {
        format!(
            "data race on scratch[5]: {first} by thread ({}, 0, 0) of block (0, 0, 0) at {}, \
             then {second} by thread ({}, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            by[0],
            at(at_first),
            by[1],
            at(at_second)
        )
    };
    let launch_of = |barriers, reads| {
        let launch = launch(in_a_block(), 1, 64).dim(barriers).dim(reads);
        launch.scratch("scratch", 8)
    };
    let expected = race("write", "first", "write", "second", [0, 1]);
    assert_eq!(message(&launch_of(0, 0)), expected);
    let expected = race("write", "first", "read", "read", [0, 1]);
    assert_eq!(message(&launch_of(0, 1)), expected);
    for reads in [0, 1] {
        run(&launch_of(1, reads)).unwrap();
    }
    // The word is written by a launch before, so that it can be read.
    let launch = |barriers| {
        launch(read_before_written(), 1, 1)
            .then(read_before(), [1, 1, 1], [64, 1, 1])
            .dim(barriers)
            .scratch("scratch", 8)
    };
    // Thread 0 runs first: it writes before thread 1 reads.
    let expected = race("write", "written after", "read", "read before", [0, 1]);
    assert_eq!(message(&launch(0)), expected);
    run(&launch(1)).unwrap();
}

kernel! {
    /// Writes every word.
    pub fn read_before_written(_barriers: u32, scratch: Scratch) {
        for word in 0..8 {
            scratch.set_if(true, word, 0);
        }
    }
}

kernel! {
    /// Of many blocks that read a word, block `writer` writes it too.
    pub fn across(writer: u32, scratch: Scratch) {
        scratch.get(0); // read by all
        scratch.set_if(block_x() == writer, 0, 1); // written by one
    }
}

#[test]
fn blocks_of_a_launch_race_on_a_word() {
    let launch = |writer| {
        launch(read_before_written(), 1, 1)
            .then(across(), [5, 1, 1], [1, 1, 1])
            .dim(writer)
            .scratch("scratch", 8)
    };
    run(&launch(5)).unwrap();
    let (read, written) = (at("read by all"), at("written by one"));
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on scratch[0]: write by thread (0, 0, 0) of block (0, 0, 0) at {written}, \
             then read by thread (0, 0, 0) of block (1, 0, 0) at {read}, with no barrier between"
        )
    );
    for writer in [1, 2, 4] {
        assert_eq!(
            message(&launch(writer)),
            format!(
                "data race on scratch[0]: read by thread (0, 0, 0) of block (0, 0, 0) at {read}, \
                 then write by thread (0, 0, 0) of block ({writer}, 0, 0) at {written}, with no barrier between"
            )
        );
    }
}

kernel! {
    /// Thread 0 stores four words, which thread 1 reads after a barrier: after a wait of thread 0 for the store (2), for
    /// its reads (1), or for nothing.
    pub fn stored(waits: u32, scratch: Scratch) {
        if thread_x() == 0 {
            for word in 0..4 {
                words().set(word, word);
            }
            fence_async_shared();
        }
        words().start_store(thread_x() == 0, 0, scratch, 0, 1); // stored
        close_stores();
        if waits == 2 {
            wait_for_stores();
        } else if waits == 1 {
            wait_for_reads_of_stores::<0>();
        }
        barrier();
        if thread_x() == 1 {
            assert_eq!(scratch.get(3), 3); // read of stored
        }
        barrier();
        wait_for_stores();
    }
}

#[test]
fn a_read_of_what_a_store_may_still_be_writing() {
    let launch = |waits| launch(stored(), 1, 2).dim(waits).scratch("scratch", 4);
    for waits in [0, 1] {
        assert_eq!(
            message(&launch(waits)),
            format!(
                "asynchronous copy not waited for: read of scratch[3] by thread (1, 0, 0) of block (0, 0, 0) at {}, \
                 which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be filling",
                at("read of stored"),
                at("stored")
            )
        );
    }
    run(&launch(2)).unwrap();
}

kernel! {
    /// Thread 0 has a quad copied and writes one of its words, after it waited for the copy or not.
    pub fn overwritten(waits: u32, scratch: Scratch) {
        let arrived = Mbarrier::at(barriers(), 0);
        arrived.init(1);
        arrived.arrive_and_expect(16);
        words().start_load(0, scratch, 1, 1, arrived); // copied
        if waits == 1 {
            arrived.wait(0);
        }
        scratch.set_if(true, 6, 1); // overwritten
    }
}

#[test]
fn a_write_of_what_a_copy_may_still_be_reading() {
    let launch = |waits| {
        launch(read_before_written(), 1, 1)
            .then(overwritten(), [1, 1, 1], [1, 1, 1])
            .dim(waits)
            .scratch("scratch", 8)
    };
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on scratch[6]: read by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then write by thread (0, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("copied"),
            at("overwritten")
        )
    );
    run(&launch(1)).unwrap();
}
