//! What a commit holds: hashes of its files, without checking it out.

use mage_evidence::hash::sha256_hex;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// SHA-256 of each of `paths` in `commit` of the repository at `root`; none for a path that the commit does
/// not hold. None at all where there is no git, no repository, or no such commit.
pub fn committed_sha256<'a>(
    root: &Path,
    commit: &str,
    paths: impl IntoIterator<Item = &'a str>,
) -> Option<BTreeMap<String, Option<String>>> {
    // Names with line breaks cannot be asked for; a commit is never an option to git.
    let is_commit = commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    let paths: Vec<&str> = paths.into_iter().filter(|p| !p.contains('\n')).collect();
    if !is_commit || !has(root, commit) {
        return None;
    }
    let mut git = command(root)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut ask = git.stdin.take()?;
    let mut answers = BufReader::new(git.stdout.take()?);
    let hashes = std::thread::scope(|scope| {
        scope.spawn(|| {
            for path in &paths {
                if writeln!(ask, "{commit}:{path}").is_err() {
                    break;
                }
            }
            drop(ask);
        });
        paths
            .iter()
            .map(|path| Some(((*path).to_string(), answer(&mut answers)?)))
            .collect()
    });
    // Where an answer was not understood, git may still be writing.
    drop(answers);
    let _ = git.wait();
    hashes
}

fn command(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root);
    git
}

fn has(root: &Path, commit: &str) -> bool {
    command(root)
        .args(["cat-file", "-e", &format!("{commit}^{{commit}}")])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// One answer: `<id> blob <bytes>`, the content, a line break; or `<name> missing`.
fn answer(from: &mut impl BufRead) -> Option<Option<String>> {
    let mut head = String::new();
    from.read_line(&mut head).ok()?;
    if head.ends_with(" missing\n") {
        return Some(None);
    }
    let mut words = head.split_whitespace().rev();
    let bytes: usize = words.next()?.parse().ok()?;
    let kind = words.next()?.to_string();
    let mut content = vec![0; bytes + 1];
    from.read_exact(&mut content).ok()?;
    content.pop();
    Some((kind == "blob").then(|| sha256_hex(&content)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(root: &Path, arguments: &[&str]) -> String {
        let output = command(root)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    #[test]
    fn files_of_a_commit_are_hashed_and_missing_ones_told() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        git(root, &["init", "-q"]);
        std::fs::create_dir(root.join("d")).unwrap();
        std::fs::write(root.join("d/a b"), "one\n").unwrap();
        std::fs::write(root.join("empty"), "").unwrap();
        git(root, &["add", "."]);
        git(root, &["commit", "-q", "-m", "x"]);
        let commit = git(root, &["rev-parse", "HEAD"]);
        std::fs::write(root.join("d/a b"), "two\n").unwrap();
        let paths = ["d/a b", "none", "d", "empty"];
        let hashes = committed_sha256(root, &commit, paths).unwrap();
        assert_eq!(hashes["d/a b"], Some(sha256_hex(b"one\n")));
        assert_eq!(hashes["empty"], Some(sha256_hex(b"")));
        assert_eq!((&hashes["none"], &hashes["d"]), (&None, &None));
        assert!(committed_sha256(root, &"0".repeat(40), ["empty"]).is_none());
        assert!(committed_sha256(root, "--help", ["empty"]).is_none());
        let nowhere = tempfile::tempdir().unwrap();
        assert!(committed_sha256(nowhere.path(), &commit, ["empty"]).is_none());
    }
}
