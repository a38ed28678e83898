//! SHA-256 in the one spelling used everywhere: 64 lower-case hexadecimal digits.

use sha2::{Digest, Sha256};

/// SHA-256 of `bytes` as lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of a list of named contents, independent of how it was collected: entries are hashed as
/// `length name length content` in the order given.
pub fn sha256_of_named<'a>(entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut hasher = Sha256::new();
    for (name, content) in entries {
        for part in [name.as_bytes(), content] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hex(&hasher.finalize())
}

/// Whether `text` is spelled as [`sha256_hex`] spells.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_input_has_the_known_digest() {
        let digest = sha256_hex(b"");
        assert_eq!(
            digest,
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert!(is_sha256(&digest));
        assert!(!is_sha256(&digest.to_uppercase()));
    }

    #[test]
    fn names_and_contents_do_not_run_together() {
        let one = sha256_of_named([("ab", b"c".as_slice())]);
        let other = sha256_of_named([("a", b"bc".as_slice())]);
        assert_ne!(one, other);
    }
}
