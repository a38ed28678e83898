//! Names of the counters, as Nsight Compute has them, and what each is read as.

/// Duration of a launch; the one counter without which nothing can be said.
pub const DURATION: &str = "gpu__time_duration.sum";
/// Bytes read from DRAM.
pub const DRAM_READ: &str = "dram__bytes_read.sum";
/// Bytes written to DRAM.
pub const DRAM_WRITE: &str = "dram__bytes_write.sum";
/// Bytes through L2.
pub const L2_BYTES: &str = "lts__t_bytes.sum";
/// Bank conflicts of shared loads.
pub const LOAD_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
/// Bank conflicts of shared stores.
pub const STORE_CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum";
/// Warp instructions.
pub const INSTRUCTIONS: &str = "smsp__inst_executed.sum";
/// Fused multiply-adds of threads.
pub const FFMA: &str = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum";
/// Additions of threads.
pub const FADD: &str = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum";
/// Multiplications of threads.
pub const FMUL: &str = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum";
/// Tensor operations by precision, a multiply-add counted as two.
pub const TENSOR: [&str; 4] = [
    "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp16_dst_fp32.sum",
    "sm__ops_path_tensor_src_fp16_dst_fp16.sum",
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
];
/// Percent of peak of DRAM.
pub const DRAM_BUSY: &str = "dram__throughput.avg.pct_of_peak_sustained_elapsed";
/// Percent of peak of L2.
pub const L2_BUSY: &str = "lts__t_sectors.avg.pct_of_peak_sustained_elapsed";
/// Percent of peak of the data stage of L1.
pub const L1_BUSY: &str = "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed";
/// The part of it that is shared memory's.
pub const SHARED_BUSY: &str =
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed";
/// Percent of peak of the FP32 pipe.
pub const FP32_BUSY: &str = "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed";
/// Percent of peak of the tensor pipe.
pub const TENSOR_BUSY: &str = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed";
/// Percent of issue slots that issued.
pub const ISSUE_BUSY: &str = "smsp__issue_active.avg.pct_of_peak_sustained_elapsed";
/// Hit rate of L1.
pub const L1_HITS: &str = "l1tex__t_sector_hit_rate.pct";
/// Hit rate of L2.
pub const L2_HITS: &str = "lts__t_sector_hit_rate.pct";
/// Achieved occupancy.
pub const OCCUPANCY: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
/// Theoretical occupancy.
pub const MOST_OCCUPANCY: &str = "sm__maximum_warps_per_active_cycle_pct";
/// How often the grid fills the device.
pub const WAVES: &str = "launch__waves_per_multiprocessor";
/// Registers a thread.
pub const REGISTERS: &str = "launch__registers_per_thread";
/// Static shared bytes a block.
pub const STATIC_SHARED: &str = "launch__shared_mem_per_block_static";
/// Dynamic shared bytes a block.
pub const DYNAMIC_SHARED: &str = "launch__shared_mem_per_block_dynamic";
/// Blocks that a multiprocessor holds, by what limits them.
pub const BLOCKS_BY: [(&str, &str); 5] = [
    ("barriers", "launch__occupancy_limit_barriers"),
    ("blocks", "launch__occupancy_limit_blocks"),
    ("registers", "launch__occupancy_limit_registers"),
    ("shared_memory", "launch__occupancy_limit_shared_mem"),
    ("warps", "launch__occupancy_limit_warps"),
];
/// Reasons for which a warp does not issue; `selected` is that it does.
pub const STALLS: [&str; 19] = [
    "barrier",
    "branch_resolving",
    "dispatch_stall",
    "drain",
    "gmma",
    "imc_miss",
    "lg_throttle",
    "long_scoreboard",
    "math_pipe_throttle",
    "membar",
    "mio_throttle",
    "misc",
    "no_instruction",
    "not_selected",
    "selected",
    "short_scoreboard",
    "sleeping",
    "tex_throttle",
    "wait",
];

/// The counter of a stall reason: warps in that state for each issue.
pub fn stall(reason: &str) -> String {
    format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio")
}

/// Every counter, each once.
pub fn all() -> Vec<String> {
    let plain = [
        DURATION,
        DRAM_READ,
        DRAM_WRITE,
        L2_BYTES,
        LOAD_CONFLICTS,
        STORE_CONFLICTS,
        INSTRUCTIONS,
        FFMA,
        FADD,
        FMUL,
        DRAM_BUSY,
        L2_BUSY,
        L1_BUSY,
        SHARED_BUSY,
        FP32_BUSY,
        TENSOR_BUSY,
        ISSUE_BUSY,
        L1_HITS,
        L2_HITS,
        OCCUPANCY,
        MOST_OCCUPANCY,
        WAVES,
        REGISTERS,
        STATIC_SHARED,
        DYNAMIC_SHARED,
    ];
    let plain = plain.iter().chain(&TENSOR).map(|name| (*name).to_owned());
    let blocks = BLOCKS_BY.iter().map(|(_, name)| (*name).to_owned());
    plain
        .chain(blocks)
        .chain(STALLS.iter().map(|reason| stall(reason)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_counter_is_asked_for_once() {
        let all = all();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|name| !name.contains(',')));
        // A name is told from others by what stands before its first dot.
        let bases: BTreeSet<&str> = all
            .iter()
            .filter_map(|name| name.split('.').next())
            .collect();
        assert_eq!(bases.len(), all.len());
    }
}
