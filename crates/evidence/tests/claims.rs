//! The note's claims, judged by the committed evidence.
#![allow(clippy::unwrap_used, reason = "test")]

use mage_evidence::claims::{Claims, Outcome, judge};
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
    let verdicts = judge(&claims, Some(&a), &b, MARGIN).unwrap();
    println!("{}", verdicts.text());
    println!("{}", verdicts.markdown("Claims"));
    let outcome = |number: usize| verdicts.claims[number - 1].outcome();
    for number in [1, 2, 3, 13] {
        assert_eq!(outcome(number), Outcome::Reproduced, "claim {number}");
    }
    for number in [9, 12] {
        assert_eq!(outcome(number), Outcome::NotTestable, "claim {number}");
    }
    for part in verdicts.claims.iter().flat_map(|claim| &claim.parts) {
        match part.outcome {
            Outcome::NotTestable => assert!(!part.why.is_empty(), "{part:?}"),
            _ => assert!(part.figure.is_some(), "{part:?}"),
        }
    }
}
