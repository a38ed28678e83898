//! The note's claims, judged by the committed evidence.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::claims::{Claims, Outcome, Verdicts, judge};
use mage_evidence::counts::Counts;
use mage_evidence::diff::Side;
use mage_evidence::verdict::MARGIN;
use std::path::Path;

#[test]
fn every_claim_has_an_outcome_and_what_is_open_says_why() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let claims = Claims::read(&Claims::path(&root, "mage-002")).unwrap();
    assert_eq!(claims.claims.len(), 13);
    let side = |name: &str| Side::read(name, &root.join("docs/assets/results").join(name)).unwrap();
    let (a, b) = (side(&claims.baseline), side(&claims.experiment));
    let counts = Counts::read(&root, "mage-002").unwrap().unwrap();
    let verdicts = judge(&claims, Some(&a), &b, Some(&counts), MARGIN).unwrap();
    println!("{}", verdicts.text());
    println!("{}", verdicts.markdown("Claims"));
    let outcome = |number: usize| verdicts.claims[number - 1].outcome();
    for number in [1, 2, 3, 13] {
        assert_eq!(outcome(number), Outcome::Reproduced, "claim {number}");
    }
    assert_eq!(outcome(12), Outcome::NotTestable);
    // The note's arithmetic of its own kernels: right after the rewrite, wrong before it.
    assert_eq!(outcome(9), Outcome::NotReproduced);
    let parts = |verdicts: &Verdicts| {
        let parts = verdicts.claims[8].parts.iter();
        parts
            .map(|p| (p.figure.clone(), p.outcome))
            .collect::<Vec<_>>()
    };
    let nine = parts(&verdicts);
    let outcomes: Vec<Outcome> = nine.iter().map(|(_, outcome)| *outcome).collect();
    let (yes, no) = (Outcome::Reproduced, Outcome::NotReproduced);
    assert_eq!(outcomes, [no, yes, no, yes]);
    let figure = |i: usize| nine[i].0.clone().unwrap();
    assert!(figure(0).starts_with("2 shared reads for 1 multiply-add"));
    assert!(figure(2).starts_with("10 barriers a tree reduction"));
    // Without counts, or where another kernel ran, nothing is said.
    let without = judge(&claims, Some(&a), &b, None, MARGIN).unwrap();
    let elsewhere = judge(&claims, Some(&b), &b, Some(&counts), MARGIN).unwrap();
    assert!(
        parts(&without)
            .iter()
            .all(|p| *p == (None, Outcome::NotTestable))
    );
    assert_eq!(parts(&elsewhere)[0], (None, Outcome::NotTestable));
    assert!(
        elsewhere.claims[8].parts[0]
            .why
            .contains("ran tiled_matmul_registers")
    );
    for part in verdicts.claims.iter().flat_map(|claim| &claim.parts) {
        match part.outcome {
            Outcome::NotTestable => assert!(!part.why.is_empty(), "{part:?}"),
            _ => assert!(part.figure.is_some(), "{part:?}"),
        }
    }
}

/// The goals of limit-001 judged by mage-002, which has neither its kernels nor its peers: each can fail.
#[test]
fn goals_are_not_met_where_the_evidence_does_not_have_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let claims = Claims::read(&Claims::path(&root, "limit-001")).unwrap();
    let side = |name: &str| Side::read(name, &root.join("docs/assets/results").join(name)).unwrap();
    let verdicts = judge(&claims, None, &side("mage-002"), None, MARGIN).unwrap();
    let part = |claim: usize, part: usize| {
        let part = &verdicts.claims[claim - 1].parts[part];
        (
            part.figure.as_deref().unwrap_or("-"),
            verdicts.outcome(part),
        )
    };
    let (figure, outcome) = part(1, 0);
    assert!(
        figure.starts_with("84.7") && figure.contains("; best of the others: PyTorch, 55."),
        "{figure}"
    );
    assert!(outcome.contains("PyTorch: too few captures"), "{outcome}");
    assert_eq!(part(2, 0).1, "not met: behind PyTorch");
    assert_eq!(part(2, 1).1, "met");
    let (figure, outcome) = part(3, 0);
    assert!(figure.starts_with("84.7"), "{figure}");
    assert_eq!(outcome, "not met");
    let (figure, outcome) = part(4, 0);
    assert!(
        figure.contains(" against ") && outcome.contains("met"),
        "{figure}: {outcome}"
    );
    let (_, outcome) = part(5, 0);
    assert!(outcome.contains("no evidence of mage-002"), "{outcome}");
    assert_eq!(part(6, 0), ("1, 1, 1, 1, 1", "met".into()));
    let text = verdicts.markdown("T");
    assert!(
        text.contains("| claim | part | the goal | here |"),
        "{text}"
    );
    assert!(
        text.contains("6 goals: 2 met, 2 not met, 2 not testable here."),
        "{text}"
    );
    assert!(!text.contains("The note's"), "{text}");
}
