//! Whether the kernels that were counted are those that the namespace's captures hold.

use mage_evidence::Invalid;
use mage_evidence::artifact::Capture;
use mage_evidence::counters::artifact::Call;
use mage_evidence::store::{self, StoreError};
use std::path::Path;

/// Compares a call with the first capture of its case below `captures`, the artifacts of `mage-profile run`; nothing
/// is compared where there is none.
///
/// # Errors
/// [`Invalid`] where the call has other kernels, or the capture cannot be read.
pub(super) fn check(captures: &Path, call: &Call) -> Result<(), StoreError> {
    let name = format!("captures/{}-{}-1.json", call.operation, call.implementation);
    let path = captures.join(name);
    if !path.exists() {
        return Ok(());
    }
    let capture: Capture = store::read_json(&path)?;
    let launches = capture.launches().map_err(|e| e.in_file(&path))? as usize;
    let then: Vec<&str> = capture.kernels[..launches]
        .iter()
        .map(|kernel| kernel.name.as_str())
        .collect();
    let now: Vec<&str> = call.kernels.iter().map(|k| k.name.as_str()).collect();
    let same = then.len() == now.len() && then.iter().zip(&now).all(|(a, b)| same(a, b));
    if same {
        return Ok(());
    }
    let shown = |names: &[&str]| {
        let names: Vec<&str> = names.iter().map(|name| base(name)).collect();
        format!("{} kernels ({})", names.len(), names.join(", "))
    };
    Err(Invalid::new(
        format!("kernels of {} {}", call.operation, call.implementation),
        shown(&now),
        format!("{}, as {} has them", shown(&then), path.display()),
    )
    .help("counters of other kernels say nothing of this namespace: use the programs and packages that it was measured with, or another --namespace")
    .into())
}

/// Whether two profilers mean one kernel: they word template arguments and parameters differently.
fn same(a: &str, b: &str) -> bool {
    a == b || base(a) == base(b)
}

/// The name without its return type, template arguments and parameters.
fn base(name: &str) -> &str {
    let name = name.strip_prefix("void ").unwrap_or(name);
    let mut at = 0;
    // Names of anonymous namespaces begin with what ends others.
    for anonymous in ["(anonymous namespace)", "<unnamed>"] {
        while let Some(found) = name[at..].find(anonymous) {
            let plain = name[at..at + found].contains(['<', '(']);
            if plain {
                break;
            }
            at += found + anonymous.len();
        }
    }
    let end = name[at..]
        .find(['<', '('])
        .map_or(name.len(), |end| at + end);
    name[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kernel_is_told_from_another_whatever_the_profiler_prints() {
        for (a, b) in [
            ("tiled_matmul", "tiled_matmul"),
            (
                "void gemm<(int)4, float>(float const*)",
                "void gemm<4, float>(const float *)",
            ),
            (
                "void at::native::(anonymous namespace)::norm<float>(int)",
                "at::native::(anonymous namespace)::norm<float>",
            ),
            ("void <unnamed>::f<1>(int)", "void <unnamed>::f<2>(int)"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [
            ("tiled_matmul", "tiled_matmul_registers"),
            (
                "void (anonymous namespace)::a(int)",
                "void (anonymous namespace)::b(int)",
            ),
            ("void f<int>()", "void g<int>()"),
        ] {
            assert!(!same(a, b), "{a} {b}");
        }
    }
}
