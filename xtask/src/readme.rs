//! The README's result table, spliced from evidence between two markers.

use crate::table;
use anyhow::{Context, bail};
use mage_evidence::experiment::Experiment;
use mage_evidence::store;
use std::path::Path;

const FILE: &str = "README.md";
const BEGIN: &str = "<!-- results of ";
const END: &str = "<!-- end of results -->";

/// Splices, or with `check` proves, every block between `<!-- results of A or B -->` and `<!-- end of results -->`:
/// the results of the first of these namespaces that has evidence.
pub fn run(root: &Path, check: bool) -> anyhow::Result<()> {
    let path = root.join(FILE);
    let text = store::read_text(&path)?;
    let known = mage_workspace::namespaces(root)?;
    let spliced = splice(&text, |named| {
        let namespace = first(named, &known)?;
        let experiment = Experiment::load(root, namespace)?;
        let rows = table::Rows::read(root, &experiment, namespace)?;
        Ok(rows.markdown())
    })
    .with_context(|| path.display().to_string())?;
    if check && spliced != text {
        bail!("{FILE}: the result table is not what the evidence gives; run `cargo xtask figures`");
    }
    if !check && spliced != text {
        store::write_bytes(&path, spliced.as_bytes())?;
    }
    mage_workspace::outln!(
        "{FILE}: result table {}",
        if check { "proved" } else { "spliced" }
    );
    Ok(())
}

/// The first of the namespaces in `named` that is among the known ones.
fn first<'a>(named: &'a str, known: &[String]) -> anyhow::Result<&'a str> {
    let mut names = named.split(" or ");
    names
        .find(|name| known.iter().any(|known| known == name))
        .with_context(|| {
            format!(
                "results of {named}: found no evidence of any, expected one of {}",
                known.join(", ")
            )
        })
}

fn splice(
    text: &str,
    mut block: impl FnMut(&str) -> anyhow::Result<String>,
) -> anyhow::Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        let after = &rest[start + BEGIN.len()..];
        let (named, _) = after
            .split_once(" -->")
            .context("a marker `<!-- results of` that no `-->` closes")?;
        let end = rest[start..]
            .find(END)
            .with_context(|| format!("results of {named}: no `{END}`"))?;
        out.push_str(&rest[..start]);
        out.push_str(&format!("{BEGIN}{named} -->\n\n{}\n", block(named)?));
        out.push_str(END);
        rest = &rest[start + end + END.len()..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_replaced_and_the_rest_is_kept() {
        let text = "a\n<!-- results of x -->\nold\n<!-- end of results -->\nb\n";
        let once = splice(text, |ns| Ok(format!("table of {ns}\n"))).unwrap();
        assert_eq!(
            once,
            "a\n<!-- results of x -->\n\ntable of x\n\n<!-- end of results -->\nb\n"
        );
        let twice = splice(&once, |ns| Ok(format!("table of {ns}\n"))).unwrap();
        assert_eq!(twice, once);
    }

    #[test]
    fn the_first_namespace_with_evidence_leads() {
        let known = ["limit-001", "mage-001", "mage-002"].map(String::from);
        assert_eq!(first("limit-001 or mage-002", &known).unwrap(), "limit-001");
        assert_eq!(
            first("limit-001 or mage-002", &known[1..]).unwrap(),
            "mage-002"
        );
        assert_eq!(first("mage-001", &known).unwrap(), "mage-001");
        let error = first("limit-001 or limit-002", &known[1..])
            .unwrap_err()
            .to_string();
        assert!(error.contains("limit-001 or limit-002"), "{error}");
    }

    #[test]
    fn an_open_block_is_an_error() {
        let error = splice("<!-- results of x -->\n", |_| Ok(String::new())).unwrap_err();
        assert!(error.to_string().contains("results of x"), "{error}");
    }
}
