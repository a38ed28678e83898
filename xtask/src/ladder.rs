//! The pages of the ladders, told from their evidence.

use anyhow::bail;
use mage_evidence::store;
use mage_workspace::{Evidence, ladder_page};
use std::path::Path;

/// Writes, or with `check` proves, the page of a namespace that has a ladder; a page without one is refused. Whether
/// there is a page.
pub fn run(root: &Path, namespace: &str, check: bool) -> anyhow::Result<bool> {
    let path = ladder_page(root, namespace);
    let shown = path.strip_prefix(root).unwrap_or(&path).display();
    let Some(ladder) = Evidence::read(root, namespace)?.ladder else {
        if path.exists() {
            bail!(
                "{shown}: found a page of a ladder that has no evidence, expected none; remove it"
            );
        }
        return Ok(false);
    };
    let text = ladder.markdown();
    if !check {
        store::write_bytes(&path, text.as_bytes())?;
    } else if !store::read_text(&path).is_ok_and(|found| found == text) {
        bail!(
            "{shown}: found other text than the evidence gives, or none; run `cargo xtask figures`"
        );
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_proved_and_refused_without_evidence() {
        let (root, namespace) = crate::table::tests::with_ladder();
        let root = root.path();
        assert!(run(root, namespace, true).is_err(), "not written yet");
        assert!(run(root, namespace, false).unwrap());
        assert!(run(root, namespace, true).unwrap());
        let page = ladder_page(root, namespace);
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.starts_with("# The ladder of "), "{text}");
        std::fs::write(&page, text.replacen("us", "ms", 1)).unwrap();
        let error = run(root, namespace, true).unwrap_err().to_string();
        assert!(
            error.starts_with("docs/ladder/") && error.contains("xtask figures"),
            "{error}"
        );
        let evidence = mage_workspace::results(root, namespace).join(mage_evidence::ladder::FILE);
        std::fs::remove_file(evidence).unwrap();
        let error = run(root, namespace, true).unwrap_err().to_string();
        assert!(error.contains("no evidence"), "{error}");
    }
}
