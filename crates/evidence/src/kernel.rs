//! Names of the kernels that a call of a variant launches.

/// What follows the variant's name in that of the kernel of a launch before its own.
pub const FIRST: &str = "_first";

/// Whether a kernel is one of `variant`: its own, which has its name, or that of a launch before.
pub fn is_of(kernel: &str, variant: &str) -> bool {
    kernel == variant || kernel.strip_suffix(FIRST) == Some(variant)
}

/// The position and the name of a kernel that is not `variant`'s, or `None` in place of a position where all are and its own is not
/// among them.
pub(crate) fn other<'a>(
    kernels: impl Iterator<Item = &'a str> + Clone,
    variant: &str,
) -> Option<(Option<usize>, String)> {
    if let Some((i, name)) = kernels
        .clone()
        .enumerate()
        .find(|(_, name)| !is_of(name, variant))
    {
        return Some((Some(i), format!("{name:?}")));
    }
    let names: Vec<&str> = kernels.collect();
    (!names.contains(&variant)).then(|| (None, format!("{names:?}")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_has_the_variants_own_kernel_and_launches_before_it_alone() {
        let other = |names: &[&str]| super::other(names.iter().copied(), "sum");
        for right in [&["sum"][..], &["sum_first", "sum"]] {
            assert_eq!(other(right), None, "{right:?}");
        }
        assert_eq!(
            other(&["sum", "sum_warp"]),
            Some((Some(1), "\"sum_warp\"".into()))
        );
        assert_eq!(other(&["sum_first_first"]).unwrap().0, Some(0));
        assert_eq!(
            other(&["sum_first"]),
            Some((None, "[\"sum_first\"]".into()))
        );
    }
}
