//! Which counters are read, and which quantity of the executor each is to be held against.

use crate::report::Entry;
use mage_simt::Tally;

/// Counters that are read together, in one run of `ncu`. A name that `ncu` does not know fails its whole run.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name in files.
    pub name: &'static str,
    /// Whether a run without it is refused. The others depend on the version of `ncu`.
    pub required: bool,
    /// Whether the counters have instances, which are wanted too.
    pub instances: bool,
    /// Names of the counters.
    pub metrics: &'static [&'static str],
}

/// Warp instructions by opcode; the instances are the opcodes.
pub const OPCODES: &str = "sass__inst_executed_per_opcode";

/// Every counter that is read.
pub const GROUPS: [Group; 3] = [
    Group {
        name: "core",
        required: true,
        instances: false,
        metrics: &[
            "launch__registers_per_thread",
            "launch__shared_mem_per_block_static",
            "smsp__sass_inst_executed_op_global_ld.sum",
            "smsp__sass_inst_executed_op_global_st.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "smsp__sass_inst_executed_op_shared_ld.sum",
            "smsp__sass_inst_executed_op_shared_st.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
            "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
            "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
            "smsp__inst_executed.sum",
        ],
    },
    Group {
        name: "opcodes",
        required: false,
        instances: true,
        metrics: &[OPCODES],
    },
    Group {
        name: "wavefronts",
        required: false,
        instances: false,
        metrics: &[
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        ],
    },
];

/// Something that both count.
#[derive(Debug)]
pub struct Quantity {
    /// Its name in data.
    pub id: &'static str,
    /// Its name to readers, with its unit.
    pub label: &'static str,
    /// The counter.
    pub metric: &'static str,
    /// The instance of the counter, where it is one.
    pub instance: Option<&'static str>,
    /// What the executor counted, or the compiler reported.
    pub counted: fn(&Entry) -> u64,
}

/// Shorthand for a quantity that is a counter.
const fn counter(
    id: &'static str,
    label: &'static str,
    metric: &'static str,
    counted: fn(&Entry) -> u64,
) -> Quantity {
    Quantity {
        id,
        label,
        metric,
        instance: None,
        counted,
    }
}

/// Shorthand for warp instructions of an opcode.
const fn opcode(
    id: &'static str,
    label: &'static str,
    opcode: &'static str,
    counted: fn(&Entry) -> u64,
) -> Quantity {
    Quantity {
        instance: Some(opcode),
        ..counter(id, label, OPCODES, counted)
    }
}

fn total(entry: &Entry) -> &Tally {
    &entry.counts.total
}

/// Everything that both count. Plain `+`, `-` and `*` of the source are not seen by the executor, so FADD and
/// FMUL stand among the counters and not here.
#[rustfmt::skip]
pub const QUANTITIES: [Quantity; 18] = [
    counter("registers", "registers a thread", "launch__registers_per_thread", |e| e.resources.registers_per_thread.into()),
    counter("shared_bytes", "shared memory a block (bytes)", "launch__shared_mem_per_block_static", |e| e.counts.shared_bytes.into()),
    counter("global_loads", "global loads (warp instructions)", "smsp__sass_inst_executed_op_global_ld.sum", |e| total(e).global_loads.instructions),
    counter("global_stores", "global stores (warp instructions)", "smsp__sass_inst_executed_op_global_st.sum", |e| total(e).global_stores.instructions),
    counter("global_load_sectors", "global loads (32-byte sectors)", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", |e| total(e).global_loads.sectors),
    counter("global_store_sectors", "global stores (32-byte sectors)", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", |e| total(e).global_stores.sectors),
    counter("shared_loads", "shared loads (warp instructions)", "smsp__sass_inst_executed_op_shared_ld.sum", |e| total(e).shared_loads.instructions),
    counter("shared_stores", "shared stores (warp instructions)", "smsp__sass_inst_executed_op_shared_st.sum", |e| total(e).shared_stores.instructions),
    counter("shared_load_wavefronts", "shared loads (wavefronts)", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", |e| total(e).shared_loads.wavefronts),
    counter("shared_store_wavefronts", "shared stores (wavefronts)", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", |e| total(e).shared_stores.wavefronts),
    counter("shared_load_wavefronts_sass", "shared loads (wavefronts, by instruction)", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", |e| total(e).shared_loads.wavefronts),
    counter("shared_store_wavefronts_sass", "shared stores (wavefronts, by instruction)", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", |e| total(e).shared_stores.wavefronts),
    counter("shared_load_conflicts", "shared loads (bank conflicts)", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", |e| total(e).shared_loads.conflicts),
    counter("shared_store_conflicts", "shared stores (bank conflicts)", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", |e| total(e).shared_stores.conflicts),
    counter("multiply_adds", "fused multiply-adds (operations of threads)", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", |e| total(e).fma.operations),
    opcode("barriers", "barriers (warp instructions)", "BAR", |e| total(e).barriers.instructions),
    opcode("shuffles", "shuffles (warp instructions)", "SHFL", |e| total(e).shuffles.instructions),
    opcode("special", "special functions (warp instructions)", "MUFU", |e| total(e).special.instructions),
];

/// The quantity of this name.
pub fn find(id: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().find(|quantity| quantity.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_quantity_is_named_once_and_read_by_a_group() {
        let ids: BTreeSet<&str> = QUANTITIES.iter().map(|quantity| quantity.id).collect();
        assert_eq!(ids.len(), QUANTITIES.len());
        for quantity in &QUANTITIES {
            let group = GROUPS.iter().find(|g| g.metrics.contains(&quantity.metric));
            let group = group.unwrap_or_else(|| panic!("{} is not read", quantity.metric));
            assert_eq!(
                group.instances,
                quantity.instance.is_some(),
                "{}",
                quantity.id
            );
        }
        let all: Vec<&str> = GROUPS.iter().flat_map(|g| g.metrics).copied().collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
