//! The note's claims 7 to 9: those about structure from the counts, those about registers from the compiler.

use mage_kernels::resources::Pins;
use mage_kernels::variants::VARIANTS;
use mage_simt::{Finding, Structure, Verdict, judge};

/// Registers a thread that the note states: claim, variant, number.
const REGISTERS: [(u32, &str, u32); 4] = [
    (7, "layer_norm", 27),
    (7, "layer_norm_warp", 40),
    (8, "tiled_matmul", 37),
    (8, "tiled_matmul_registers", 55),
];

/// Every sentence of claims 7 to 9, judged; by claim, then by variant.
pub fn findings(structures: &[Structure], pins: &Pins) -> Vec<Finding> {
    let mut findings = judge(structures);
    findings.extend(REGISTERS.map(|sentence| registers(sentence, pins)));
    let position = |id: &str| VARIANTS.iter().position(|variant| variant.id == id);
    findings.sort_by_key(|finding| (finding.claim, position(&finding.variant)));
    findings
}

fn registers((claim, variant, says): (u32, &str, u32), pins: &Pins) -> Finding {
    let pinned = pins.objects.get(variant);
    let (counted, verdict) = match pinned.map(|resources| resources.registers_per_thread) {
        None => (format!("{variant} is not pinned"), Verdict::NotTestable),
        Some(found) => (
            format!(
                "{found} registers a thread, by ptxas {} for {}; the note's are of another compiler and an RTX 4090",
                pins.ptxas, pins.arch
            ),
            if found == says {
                Verdict::Reproduced
            } else {
                Verdict::NotReproduced
            },
        ),
    };
    Finding {
        claim,
        variant: variant.to_owned(),
        says: format!("{says} registers a thread"),
        counted,
        verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mage_kernels::resources::pins;

    #[test]
    fn registers_are_judged_from_the_pins() {
        let found = findings(&[], &pins());
        assert_eq!(found.len(), 14);
        let claims: Vec<u32> = found.iter().map(|finding| finding.claim).collect();
        assert!(claims.is_sorted());
        let of = |variant: &str| {
            let sentence = |f: &&Finding| f.variant == variant && f.says.contains("registers");
            found.iter().find(sentence).unwrap().verdict
        };
        assert_eq!(of("layer_norm"), Verdict::Reproduced);
        assert_eq!(of("layer_norm_warp"), Verdict::NotReproduced);
        // Nothing was counted: every other sentence says so.
        let untested = |f: &&Finding| f.verdict == Verdict::NotTestable;
        assert_eq!(found.iter().filter(untested).count(), 10);
    }

    #[test]
    fn what_is_not_pinned_is_not_testable() {
        let mut none = pins();
        none.objects.clear();
        let found = findings(&[], &none);
        assert!(found.iter().all(|f| f.verdict == Verdict::NotTestable));
        assert!(
            found
                .iter()
                .any(|f| f.counted == "tiled_matmul is not pinned")
        );
    }
}
