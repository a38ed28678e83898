//! Faulty kernels whose threads wait for less than their block: at mbarriers, for bulk copies, for a cluster and for
//! products of a warpgroup. Each is caught with the message that its author needs.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

use mage_simt::gpu::{
    Accumulators, Columns, F32x4, In, Kernel, Mbarrier, Out, Shared, barrier, block_x,
    close_stores, cluster_arrive, cluster_arrive_relaxed, cluster_rank, cluster_wait,
    fence_async_shared, kernel, publish_barriers, shared, thread_x, wait_for_stores, warp_barrier,
};
use mage_simt::{Error, Finished, Launch};
use std::num::NonZero;

/// The line of this file that ends in the comment `marker`.
fn at(marker: &str) -> String {
    let comment = format!("// {marker}");
    let mut lines = include_str!("waits.rs").lines();
    let line = lines.position(|line| line.ends_with(&comment)).unwrap();
    format!("crates/simt/tests/waits.rs:{}", line + 1)
}

fn run(launch: &Launch) -> Result<Finished, Error> {
    launch.run(NonZero::new(2).unwrap())
}

fn message(launch: &Launch) -> String {
    run(launch).unwrap_err().to_string()
}

/// A launch of so many blocks and threads.
fn launch(kernel: Kernel, blocks: u32, threads: u32) -> Launch {
    Launch::new(kernel, [blocks, 1, 1], [threads, 1, 1])
}

/// Counts from 0.
fn numbers(count: u16) -> Vec<f32> {
    (0..count).map(f32::from).collect()
}

shared! {
    /// Two stages of 64 elements.
    fn stages() -> Shared<f32, 128>;
    /// Mbarriers: two for what has arrived, two for what is read.
    fn barriers() -> Shared<u32, 8>;
}

/// The mbarrier that is complete when a stage has arrived.
fn arrived(stage: u32) -> Mbarrier {
    Mbarrier::at(barriers(), stage)
}

/// The mbarrier that is complete when a stage is read.
fn read(stage: u32) -> Mbarrier {
    Mbarrier::at(barriers(), 2 + stage)
}

kernel! {
    /// Thread 0 has two stages copied; every thread reads the second, after a wait for one of them or none.
    pub fn early(a: In<f32>, out: Out<f32>, waits: u32) {
        let (i, stages) = (thread_x(), stages());
        if i == 0 {
            for stage in 0..2 {
                arrived(stage).init(1);
                arrived(stage).arrive_and_expect(256);
                stages.start_load(16 * stage, a, 16 * stage, 16, arrived(stage)); // bulk copy
            }
        }
        barrier();
        if waits < 2 {
            arrived(waits).wait(0);
        }
        out.set(i, stages.get(64 + i)); // bulk read
    }
}

#[test]
fn a_read_of_a_bulk_copy_before_its_wait() {
    let a = numbers(128);
    let launch = |waits| {
        launch(early(), 1, 64)
            .floats("a", &a)
            .output("out", 64)
            .dim(waits)
    };
    for waits in [0, 2] {
        assert_eq!(
            message(&launch(waits)),
            format!(
                "asynchronous copy not waited for: read of stages[64] by thread (0, 0, 0) of block (0, 0, 0) at {}, \
                 which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be filling",
                at("bulk read"),
                at("bulk copy")
            )
        );
    }
    assert_eq!(run(&launch(1)).unwrap().outputs[0], a[64..]);
}

kernel! {
    /// A ring of one stage. Warp 1 asks for it, warp 0 reads it; a part of what keeps them apart may be left out.
    pub fn ring(a: In<f32>, out: Out<f32>, without: u32) {
        let (i, stages) = (thread_x(), stages());
        if i == 0 {
            arrived(0).init(1);
            read(0).init(1);
        }
        barrier();
        if i == 32 {
            for round in 0..3 {
                if without != 1 {
                    read(0).wait(round + 1);
                }
                arrived(0).arrive_and_expect(128);
                stages.start_load(0, a, 8 * round, 8, arrived(0)); // refill
            }
        } else if i < 32 {
            let mut sum = 0.0;
            for round in 0..3 {
                arrived(0).wait(round);
                sum += stages.get(31 - i); // use
                if without != 2 {
                    warp_barrier();
                }
                if i == 0 {
                    read(0).arrive();
                }
            }
            out.set(i, sum);
        }
    }
}

#[test]
fn a_stage_that_is_filled_again_while_it_is_read() {
    let a = numbers(96);
    let launch = |without| {
        launch(ring(), 1, 33)
            .floats("a", &a)
            .output("out", 32)
            .dim(without)
    };
    // The copy is asked for again before anybody has waited for the first.
    assert_eq!(
        message(&launch(1)),
        format!(
            "asynchronous copy not waited for: write of stages[0] by thread (32, 0, 0) of block (0, 0, 0) at {0}, \
             which a copy started by thread (32, 0, 0) of block (0, 0, 0) at {0} may still be filling",
            at("refill")
        )
    );
    // Lane 0 says that all have read, and stands for itself alone.
    assert_eq!(
        message(&launch(2)),
        format!(
            "data race on stages[0]: read by thread (31, 0, 0) of block (0, 0, 0) at {}, \
             then write by thread (32, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("use"),
            at("refill")
        )
    );
    let sums: Vec<f32> = (0..32u8).rev().map(|i| 3.0 * f32::from(i) + 96.0).collect();
    assert_eq!(run(&launch(0)).unwrap().outputs[0], sums);
}

kernel! {
    /// Waits for bytes or for a thread that do not come.
    pub fn in_vain(a: In<f32>, bytes: u32, threads: u32) {
        let i = thread_x();
        if i == 0 {
            arrived(1).init(threads);
            arrived(1).arrive_and_expect(bytes);
            stages().start_load(0, a, 0, 2, arrived(1));
        }
        barrier();
        if i % 2 == 1 {
            arrived(1).wait(0); // in vain
        }
        barrier();
    }
}

#[test]
fn a_wait_that_can_never_end() {
    let launch = |bytes, threads| {
        let launch = launch(in_vain(), 1, 8).floats("a", &[0.0; 8]);
        launch.dim(bytes).dim(threads)
    };
    for (bytes, threads, lacks) in [
        (48, 1, "arrivals: 0, bytes: 16"),
        (32, 3, "arrivals: 2, bytes: 0"),
    ] {
        assert_eq!(
            message(&launch(bytes, threads)),
            format!(
                "deadlock in block (0, 0, 0): threads 1, 3, 5, 7 wait at the mbarrier wait at {} \
                 for phase 0 of the mbarrier at barriers[2..4], which lacks {lacks}, and no thread can go on",
                at("in vain")
            )
        );
    }
    run(&launch(32, 1)).unwrap();
}

kernel! {
    /// Uses an mbarrier that nothing prepared, or that thread 0 did with no barrier since.
    pub fn unprepared(prepares: u32) {
        if prepares == 1 && thread_x() == 0 {
            arrived(0).init(2); // init
        }
        barriers();
        if thread_x() == 1 {
            arrived(0).arrive(); // unprepared
        }
    }
}

#[test]
fn an_mbarrier_that_is_not_prepared() {
    assert_eq!(
        message(&launch(unprepared(), 1, 2).dim(0)),
        format!(
            "uninitialised: read of barriers[0..2], which nothing wrote, \
             by thread (1, 0, 0) of block (0, 0, 0) at {}",
            at("unprepared")
        )
    );
    assert_eq!(
        message(&launch(unprepared(), 1, 2).dim(1)),
        format!(
            "data race on barriers[0..2]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then read by thread (1, 0, 0) of block (0, 0, 0) at {}, with no barrier between",
            at("init"),
            at("unprepared")
        )
    );
}

kernel! {
    /// Threads write a stage, which one then has copied to the output, and write it again.
    pub fn store(out: Out<f32>, fences: u32, waits: u32) {
        let (i, stages) = (thread_x(), stages());
        stages.set(i, i as f32); // staged
        if fences == 1 {
            fence_async_shared();
        }
        barrier();
        if i == 0 {
            stages.start_store(0, out, 0, 16); // bulk store
            close_stores();
            if waits == 1 {
                wait_for_stores();
            }
        }
        barrier();
        stages.set(i, 0.0); // staged again
        barrier();
        if i == 0 {
            wait_for_stores(); // late wait
        }
    }
}

#[test]
fn a_bulk_store_of_what_no_fence_made_visible() {
    let launch = |fences, waits| {
        let launch = launch(store(), 1, 64).output("out", 64);
        launch.dim(fences).dim(waits)
    };
    assert_eq!(
        message(&launch(0, 1)),
        format!(
            "no fence: thread (0, 0, 0) of block (0, 0, 0) at {} reads stages[0] by a copy or a product of a \
             warpgroup, which thread (0, 0, 0) of block (0, 0, 0) at {} wrote without a later fence_async_shared",
            at("bulk store"),
            at("staged")
        )
    );
    assert_eq!(run(&launch(1, 1)).unwrap().outputs[0], numbers(64));
}

#[test]
fn a_write_of_what_a_bulk_store_still_reads() {
    let launch = launch(store(), 1, 64).output("out", 64).dim(1).dim(0);
    assert_eq!(
        message(&launch),
        format!(
            "asynchronous copy not waited for: write of stages[0] by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be reading",
            at("staged again"),
            at("bulk store")
        )
    );
}

kernel! {
    /// Each block writes to the next one's memory, which that then reads, after a barrier of the cluster, one that
    /// makes no writes visible, or none.
    pub fn neighbours(out: Out<f32>, kind: u32) {
        let (rank, words) = (cluster_rank(), barriers());
        words.set_in((rank + 1) % 2, 5, 10 + rank); // remote write
        match kind {
            0 => {}
            1 => {
                cluster_arrive_relaxed();
                cluster_wait();
            }
            _ => {
                cluster_arrive();
                cluster_wait();
            }
        }
        if kind > 0 || rank == 1 {
            out.set(block_x(), words.get(5) as f32); // remote read
        }
    }
}

#[test]
fn memory_of_another_block_before_the_barrier_of_the_cluster() {
    let launch = |kind| {
        let launch = launch(neighbours(), 4, 1).cluster(2);
        launch.output("out", 4).dim(kind)
    };
    for (kind, reader, writer) in [(0, 1, 0), (1, 1, 0)] {
        assert_eq!(
            message(&launch(kind)),
            format!(
                "data race on barriers[5]: write by thread (0, 0, 0) of block ({writer}, 0, 0) at {}, \
                 then read by thread (0, 0, 0) of block ({reader}, 0, 0) at {}, with no barrier between",
                at("remote write"),
                at("remote read")
            )
        );
    }
    assert_eq!(
        run(&launch(2)).unwrap().outputs[0],
        [11.0, 10.0, 11.0, 10.0]
    );
}

kernel! {
    /// One block prepares an mbarrier of its own at which the other arrives.
    pub fn published(publishes: u32) {
        barriers();
        if cluster_rank() == 0 && thread_x() == 0 {
            arrived(0).init(1); // published
            if publishes == 1 {
                publish_barriers();
            }
        }
        barrier();
        cluster_arrive_relaxed();
        cluster_wait();
        if cluster_rank() == 1 && thread_x() == 0 {
            arrived(0).arrive_in(0); // remote arrival
        }
        if cluster_rank() == 0 {
            arrived(0).wait(0);
        }
    }
}

#[test]
fn an_mbarrier_that_is_not_published_to_the_cluster() {
    let launch = |publishes| launch(published(), 2, 4).cluster(2).dim(publishes);
    assert_eq!(
        message(&launch(0)),
        format!(
            "data race on barriers[0..2]: write by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             then read by thread (0, 0, 0) of block (1, 0, 0) at {}, with no barrier between",
            at("published"),
            at("remote arrival")
        )
    );
    run(&launch(1)).unwrap();
}

kernel! {
    /// Each thread copies a quad, arrives when it is there, and reads that of the next, after a wait or without.
    pub fn after_copies(a: In<f32>, out: Out<f32>, waits: u32) {
        let (i, stages) = (thread_x(), stages());
        if i == 0 {
            arrived(0).init(16);
        }
        barrier();
        stages.start_copy4(i, a, i); // handed over
        arrived(0).arrive_after_copies();
        if waits == 1 {
            arrived(0).wait(0);
        }
        out.set4(i, stages.get4((i + 1) % 16 * waits)); // read of next
    }
}

#[test]
fn copies_that_arrive_at_an_mbarrier() {
    let launch = |waits| {
        launch(after_copies(), 1, 16)
            .floats("a", &numbers(64))
            .output("out", 64)
            .dim(waits)
    };
    assert_eq!(
        message(&launch(0)),
        format!(
            "asynchronous copy not waited for: read of stages[0] by thread (0, 0, 0) of block (0, 0, 0) at {}, \
             which a copy started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be filling",
            at("read of next"),
            at("handed over")
        )
    );
    assert_eq!(
        run(&launch(1)).unwrap().outputs[0][..4],
        [4.0, 5.0, 6.0, 7.0]
    );
}

kernel! {
    /// Each thread sends a quad to the other block, where a thread reads what it got, after a wait or without.
    pub fn sent(out: Out<f32>, waits: u32) {
        let (i, rank, stages) = (thread_x(), cluster_rank(), stages());
        if i == 0 {
            arrived(0).init(1);
            publish_barriers();
            arrived(0).arrive_and_expect(64);
        }
        warp_barrier();
        cluster_arrive_relaxed();
        cluster_wait();
        let value = F32x4([(10 * rank + i) as f32; 4]);
        stages.send4(rank ^ 1, i, value, arrived(0)); // send
        if waits == 1 {
            arrived(0).wait(0);
        } else {
            cluster_arrive();
            cluster_wait();
        }
        out.set(4 * rank + i, stages.get(4 * (3 - i))); // received
    }
}

#[test]
fn what_another_block_sends_before_its_wait() {
    let launch = |waits| {
        let launch = launch(sent(), 2, 4).cluster(2);
        launch.output("out", 8).dim(waits)
    };
    // No barrier of the cluster stands for the wait.
    let early = message(&launch(0));
    assert!(
        early.starts_with("asynchronous copy not waited for: read of stages["),
        "{early}"
    );
    assert!(
        early.contains(&at("send")) && early.contains(&at("received")),
        "{early}"
    );
    assert_eq!(
        run(&launch(1)).unwrap().outputs[0],
        [13.0, 12.0, 11.0, 10.0, 3.0, 2.0, 1.0, 0.0]
    );
}

kernel! {
    /// A thread of the second block waits where its block never comes.
    pub fn absent(rank: u32) {
        if cluster_rank() == 1 && thread_x() == 2 {
            arrived(0).init(1);
            arrived(0).wait(0); // absent
        }
        cluster_arrive();
        cluster_wait(); // present
        barriers().set_in(rank, 0, 1); // no such block
    }
}

#[test]
fn a_cluster_of_which_a_thread_does_not_arrive() {
    assert_eq!(
        message(&launch(absent(), 2, 4).cluster(2).dim(0)),
        format!(
            "deadlock in block (0, 0, 0): threads 0-3 wait at the barrier of the cluster at {} \
             for thread 2 of block (1, 0, 0), and no thread can go on",
            at("present")
        )
    );
    assert_eq!(
        message(&launch(absent(), 1, 1).dim(1)),
        format!(
            "block 1 of a cluster of 1 blocks is asked for by thread (0, 0, 0) of block (0, 0, 0) at {}",
            at("no such block")
        )
    );
    assert_eq!(
        message(&launch(absent(), 3, 4).cluster(2).dim(0)),
        "absent: clusters of 2 blocks in a grid of [3, 1, 1], expected a divisor of 3 up to 8"
    );
}

shared! {
    /// 64 columns of 64 values of binary16.
    fn columns() -> Shared<u32, 2048>, aligned 1024;
}

kernel! {
    /// A product of a warpgroup reads what its threads wrote, who write it again.
    pub fn group(fences: u32, waits: u32, lanes: u32) {
        let (i, columns): (u32, Shared<u32, 2048>) = (thread_x(), columns());
        for word in (i..2048).step_by(128) {
            columns.set(word, 0); // column
        }
        if fences == 1 {
            fence_async_shared();
        }
        barrier();
        let mut products = Accumulators::<32>::ZERO;
        let (mut high, mut low) = ([[0; 4]; 4], [[0; 4]; 4]);
        if i < lanes {
            products.fence(&mut [&mut high, &mut low]);
            products.multiply::<false>(high[0], Columns::swizzled(columns, 0)); // group product
            products.commit();
        }
        if waits == 1 {
            products.wait(&mut [&mut high, &mut low]);
        }
        barrier();
        if i == 127 {
            columns.set(0, 1); // column again
        }
        fence_async_shared();
        barrier();
        products.wait(&mut [&mut high, &mut low]); // group wait
    }
}

#[test]
fn a_product_of_a_warpgroup_of_what_no_fence_made_visible() {
    let launch_of_group = |threads| launch(group(), 1, threads).dim(1).dim(1).dim(threads);
    let launch = |fences, lanes| {
        let launch = launch(group(), 1, 128);
        launch.dim(fences).dim(1).dim(lanes)
    };
    assert_eq!(
        message(&launch(0, 128)),
        format!(
            "no fence: thread (0, 0, 0) of block (0, 0, 0) at {} reads columns[0] by a copy or a product of a \
             warpgroup, which thread (0, 0, 0) of block (0, 0, 0) at {} wrote without a later fence_async_shared",
            at("group product"),
            at("column")
        )
    );
    assert!(message(&launch(1, 100)).starts_with(&format!(
        "divergence in block (0, 0, 0): threads 0-99 wait at the product of a warpgroup at {}; \
         threads 100-127 never reach it: they wait at the barrier at",
        at("group product")
    )));
    run(&launch(1, 128)).unwrap();
    let short = launch_of_group(100);
    assert!(message(&short).starts_with("lane 100 of a warp or warpgroup of 100 lanes"));
}

kernel! {
    /// A warpgroup makes a product while one more warp waits for it at a barrier.
    pub fn awaited(out: Out<f32>) {
        let columns: Shared<u32, 2048> = columns();
        let mut products = Accumulators::<32>::ZERO;
        if thread_x() < 128 {
            for word in (thread_x()..2048).step_by(128) {
                columns.set(word, 0x3c00_3c00); // ones
            }
            fence_async_shared();
        }
        barrier();
        if thread_x() < 128 {
            products.fence_shared();
            let ones = Columns::swizzled(columns, 0);
            products.multiply_shared::<false>(ones, ones);
            products.commit();
            products.wait_shared::<0>();
        }
        barrier();
        out.set(thread_x(), products.0[31]);
    }
}

#[test]
fn a_warp_may_wait_at_a_barrier_for_a_product() {
    let launch = launch(awaited(), 1, 160).output("out", 160);
    let out = run(&launch).unwrap().outputs.remove(0);
    assert_eq!(out[..128], [16.0; 128]);
    assert_eq!(out[128..], [0.0; 32]);
}

kernel! {
    /// A product whose rows lie in shared memory, of which thread 127 writes one before the product is waited for.
    pub fn rows(fences: u32, waits: u32) {
        let columns: Shared<u32, 4096> = rows_and_columns();
        for word in (thread_x()..4096).step_by(128) {
            columns.set(word, 0); // row
        }
        if fences == 1 {
            fence_async_shared();
        }
        barrier();
        let mut products = Accumulators::<32>::ZERO;
        products.fence_shared();
        products.multiply_shared::<false>(Columns::swizzled(columns, 512), Columns::swizzled(columns, 0)); // rows
        products.commit();
        if waits == 1 {
            products.wait_shared::<0>();
        } else {
            products.wait_shared::<1>();
        }
        barrier();
        if thread_x() == 127 {
            columns.set(4 * 512, 1); // row again
        }
        barrier();
        products.wait_shared::<0>();
    }
}

shared! {
    /// 64 columns and 64 rows of 64 values of binary16.
    fn rows_and_columns() -> Shared<u32, 4096>, aligned 1024;
}

#[test]
fn a_product_reads_rows_in_shared_memory_until_its_wait() {
    let launch = |fences, waits| launch(rows(), 1, 128).dim(fences).dim(waits);
    assert_eq!(
        message(&launch(0, 1)),
        format!(
            "no fence: thread (0, 0, 0) of block (0, 0, 0) at {} reads rows_and_columns[2048] by a copy or a product \
             of a warpgroup, which thread (0, 0, 0) of block (0, 0, 0) at {} wrote without a later fence_async_shared",
            at("rows"),
            at("row")
        )
    );
    assert_eq!(
        message(&launch(1, 0)),
        format!(
            "asynchronous product not waited for: write of rows_and_columns[2048] by thread (127, 0, 0) of block \
             (0, 0, 0) at {}, which a product started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be reading",
            at("row again"),
            at("rows")
        )
    );
    run(&launch(1, 1)).unwrap();
}

#[test]
fn a_write_of_what_a_product_of_a_warpgroup_still_reads() {
    let launch = launch(group(), 1, 128).dim(1).dim(0).dim(128);
    assert_eq!(
        message(&launch),
        format!(
            "asynchronous product not waited for: write of columns[0] by thread (127, 0, 0) of block (0, 0, 0) at {}, \
             which a product started by thread (0, 0, 0) of block (0, 0, 0) at {} may still be reading",
            at("column again"),
            at("group product")
        )
    );
}
