//! Names of the kernels that a call of a variant launches.

use crate::error::Invalid;

/// What follows the variant's name in that of the kernel of a launch before its own.
pub const FIRST: &str = "_first";

/// Whether a kernel is one of `variant`: its own, which has its name, or that of a launch before.
pub fn is_of(kernel: &str, variant: &str) -> bool {
    kernel == variant || kernel.strip_suffix(FIRST) == Some(variant)
}

/// Refuses the kernels of a call, by name in the list `list` with the names in `field`, where one is not `variant`'s or its
/// own is not among them.
pub(crate) fn check<'a>(
    kernels: impl Iterator<Item = &'a str> + Clone,
    variant: &str,
    list: &str,
    field: &str,
) -> Result<(), Invalid> {
    let wrong = |field, found: String| {
        Err(Invalid::new(
            field,
            found,
            format!("the variant's, {variant:?}"),
        ))
    };
    let mut named = kernels.clone().enumerate();
    if let Some((i, name)) = named.find(|(_, name)| !is_of(name, variant)) {
        return wrong(format!("{list}[{i}].{field}"), format!("{name:?}"));
    }
    let names: Vec<&str> = kernels.collect();
    match names.contains(&variant) {
        true => Ok(()),
        false => wrong(list.into(), format!("{names:?}")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_has_the_variants_own_kernel_and_launches_before_it_alone() {
        let wrong = |names: &[&str]| {
            let checked = super::check(names.iter().copied(), "sum", "kernels", "name");
            checked.err().map(|error| (error.field, error.found))
        };
        for right in [&["sum"][..], &["sum_first", "sum"]] {
            assert_eq!(wrong(right), None, "{right:?}");
        }
        let one = |i: u32, name: &str| Some((format!("kernels[{i}].name"), format!("{name:?}")));
        assert_eq!(wrong(&["sum", "sum_warp"]), one(1, "sum_warp"));
        assert_eq!(wrong(&["sum_first_first"]), one(0, "sum_first_first"));
        let list = ("kernels".into(), "[\"sum_first\"]".into());
        assert_eq!(wrong(&["sum_first"]), Some(list));
    }
}
