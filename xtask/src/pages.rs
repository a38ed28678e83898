//! Pages of a namespace that are told from one file of its evidence: its ladder, its hardware counters.

use anyhow::bail;
use mage_evidence::store;
use mage_workspace::{Evidence, counters, counters_page, ladder_page};
use std::path::Path;

/// Writes, or with `check` proves, the pages that the namespace has evidence for; a page without evidence is refused.
/// How many there are.
pub fn run(root: &Path, namespace: &str, check: bool) -> anyhow::Result<usize> {
    let ladder = Evidence::read(root, namespace)?.ladder;
    let counters = counters(root, namespace)?;
    let mut pages = 0;
    for (path, text) in [
        (
            ladder_page(root, namespace),
            ladder.map(|ladder| ladder.markdown()),
        ),
        (
            counters_page(root, namespace),
            counters.map(|counters| counters.markdown()),
        ),
    ] {
        pages += usize::from(text.is_some());
        page(root, &path, text, check)?;
    }
    Ok(pages)
}

fn page(root: &Path, path: &Path, text: Option<String>, check: bool) -> anyhow::Result<()> {
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    match text {
        None if path.exists() => bail!(
            "{shown}: found a page of what the namespace has no evidence of, expected none; remove it"
        ),
        None => {}
        Some(text) if !check => store::write_bytes(path, text.as_bytes())?,
        Some(text) if store::read_text(path).is_ok_and(|found| found == text) => {}
        Some(_) => bail!(
            "{shown}: found other text than the evidence gives, or none; run `cargo xtask figures`"
        ),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    type Place = fn(&Path, &str) -> PathBuf;

    #[test]
    fn pages_are_written_proved_and_refused_without_evidence() {
        let (root, namespace) = crate::table::tests::with_ladder();
        let root = root.path();
        assert!(run(root, namespace, true).is_err(), "not written yet");
        assert_eq!(run(root, namespace, false).unwrap(), 2);
        assert_eq!(run(root, namespace, true).unwrap(), 2);
        for (place, head, file) in [
            (
                ladder_page as Place,
                "# The ladder of ",
                mage_evidence::ladder::FILE,
            ),
            (counters_page as Place, "# ", mage_evidence::counters::FILE),
        ] {
            let page = place(root, namespace);
            let text = std::fs::read_to_string(&page).unwrap();
            assert!(text.starts_with(head), "{text}");
            let name = page.strip_prefix(root).unwrap().display().to_string();
            std::fs::write(&page, text.replacen("us", "ms", 1)).unwrap();
            let error = run(root, namespace, true).unwrap_err().to_string();
            assert!(
                error.starts_with(&name) && error.contains("xtask figures"),
                "{error}"
            );
            std::fs::write(&page, text).unwrap();
            let evidence = mage_workspace::results(root, namespace).join(file);
            let kept = std::fs::read(&evidence).unwrap();
            std::fs::remove_file(&evidence).unwrap();
            let error = run(root, namespace, true).unwrap_err().to_string();
            assert!(
                error.starts_with(&name) && error.contains("no evidence"),
                "{error}"
            );
            std::fs::write(&evidence, kept).unwrap();
        }
    }
}
