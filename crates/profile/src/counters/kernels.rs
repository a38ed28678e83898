//! Whether the kernels that were counted are those that the namespace's captures hold.

use mage_evidence::Invalid;
use mage_evidence::artifact::Capture;
use mage_evidence::counters::artifact::Call;
use mage_evidence::store::{self, StoreError};
use std::path::Path;

/// Compares a call with the first capture of its case below `captures`, the artifacts of `mage-profile run`; whether
/// there is one.
///
/// # Errors
/// [`Invalid`] where the call has other kernels, or the capture cannot be read.
pub(super) fn check(captures: &Path, call: &Call) -> Result<bool, StoreError> {
    let name = format!("captures/{}-{}-1.json", call.operation, call.implementation);
    let path = captures.join(name);
    if !path.exists() {
        return Ok(false);
    }
    let capture: Capture = store::read_json(&path)?;
    let launches = capture.launches().map_err(|e| e.in_file(&path))? as usize;
    let then: Vec<&str> = capture.kernels[..launches]
        .iter()
        .map(|kernel| kernel.name.as_str())
        .collect();
    let now: Vec<&str> = call.kernels.iter().map(|k| k.name.as_str()).collect();
    let same = then.len() == now.len() && then.iter().zip(&now).all(|(then, now)| same(then, now));
    if same {
        return Ok(true);
    }
    let shown = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| base(name)).collect();
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

/// Whether two profilers mean one kernel. Nsight Systems words a whole signature; `ncu` leaves out namespaces, and here
/// and there a bracket, so that the name is looked for among its words.
fn same(captured: &str, counted: &str) -> bool {
    let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let base = base(captured);
    captured == counted
        || counted
            .split(|c: char| !of_name(c))
            .any(|word| word == base)
}

/// The name alone, without return type, namespaces, template arguments and parameters, which `ncu` leaves out.
fn base(name: &str) -> String {
    let mut depth = 0u32;
    let mut plain = String::new();
    for c in name.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            c if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let last = plain.split_whitespace().next_back().unwrap_or_default();
    match last.rsplit("::").next() {
        Some(base) if !base.is_empty() => base.to_owned(),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kernel_is_told_from_another_whatever_the_profiler_prints() {
        for (a, b) in [
            ("tiled_matmul", "tiled_matmul"),
            // As an H200 gave them: Nsight Systems 2025.3.1 and Nsight Compute 2025.3.1.
            (
                "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float>>(at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
                "void elementwise_kernel<128, 2, void gpu_kernel_impl_nocast<CUDAFunctor_add<float>>(TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
            ),
            (
                "void at::native::vectorized_elementwise_kernel<(int)4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &, at::native::GeluType)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 2)]::operator ()() const::[lambda(float) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)",
                "void vectorized_elementwise_kernel<4, GeluCUDAKernelImpl(TensorIteratorBase &, GeluType)::[lambda() (instance 1)]::operator ()() lambda() (instance 2)]::operator ()() lambda(float) (instance 1)], std::array<char *, 2>>(int, T2, T3)",
            ),
            (
                "void at::native::indexFuncLargeIndex<float, long, unsigned int, (int)2, (int)2, (int)-2, (bool)1, at::native::<unnamed>::ReduceAdd>(at::cuda::detail::TensorInfo<T1, T3>, at::cuda::detail::TensorInfo<const T1, T3>, at::cuda::detail::TensorInfo<const T2, T3>, int, int, T3, T3, long, long, const T8 &, T1)",
                "void indexFuncLargeIndex<float, long, unsigned int, 2, 2, (int)-2, 1, unnamed>::ReduceAdd>(cuda::TensorInfo<T1, T3>, cuda::TensorInfo<const T1, T3>, cuda::TensorInfo<const T2, T3>, int, int, T3, T3, long, long, const T8 &, T1)",
            ),
            (
                "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, (bool)0>(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)",
                "void unnamed>::vectorized_layer_norm_kernel<float, float, 0>(int, T2, const T1 *, const T1 *, const T1 *, T2 *, T2 *, T1 *)",
            ),
            (
                "void at::native::elementwise_kernel<(int)128, (int)2>(int, T3)",
                "void elementwise_kernel<128, 2, void nocast<add<float>>(Base &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
            ),
            (
                "std::enable_if<!(bool)0, void>::type internal::gemvx::kernel<int, float>(T13)",
                "type kernel<int, float>(T13)",
            ),
            (
                "void at::native::<unnamed>::norm<float, (bool)0>(int)",
                "void unnamed>::norm<float, 0>(int)",
            ),
            (
                "void at::native::(anonymous namespace)::norm<float>(int)",
                "void norm<float>(int)",
            ),
            (
                "void at::native::index<float, at::native::<unnamed>::Add>(cuda::Info<T1>)",
                "void index<float, (int)-2, unnamed>::Add>(cuda::Info<T1>)",
            ),
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
