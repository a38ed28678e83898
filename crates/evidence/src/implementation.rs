//! Implementations: their names, labels and order.

/// Known implementations in the order in which they are shown, with the label that readers see.
pub const KNOWN: [(&str, &str); 6] = [
    ("python", "PyTorch"),
    ("torch-compile", "torch.compile"),
    ("triton", "Triton"),
    ("triton-tuned", "Triton (tuned)"),
    ("cusparse", "cuSPARSE"),
    ("rust", "Rust"),
];

/// The label of an implementation; a name that is not known is its own label.
pub fn label(name: &str) -> &str {
    KNOWN
        .iter()
        .find(|(known, _)| *known == name)
        .map_or(name, |(_, label)| label)
}

/// Sorts names into the order in which they are shown: known ones first, others by name.
pub fn sort(names: &mut [String]) {
    names.sort_by_key(|name| (rank(name), name.clone()));
}

fn rank(name: &str) -> usize {
    KNOWN
        .iter()
        .position(|(known, _)| *known == name)
        .unwrap_or(KNOWN.len())
}
