//! Words within sentences.

use mage_evidence::operation::Operation;

/// An operation's label within a sentence: a word that begins large alone begins small.
pub fn label(operation: Operation) -> String {
    let label = operation.label();
    let word = label.split(' ').next().unwrap_or(label);
    let name = word.chars().skip(1).any(char::is_uppercase);
    match label.chars().next() {
        Some(first) if !name => first.to_lowercase().chain(label.chars().skip(1)).collect(),
        _ => label.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// `text`, or its beginning and an ellipsis where it has more than `most` characters.
pub fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_labels_within_a_sentence() {
        let words = ["a", "b", "c"].map(str::to_string);
        assert_eq!(list(&words[..1]), "a");
        assert_eq!(list(&words[..2]), "a and b");
        assert_eq!(list(&words), "a, b and c");
        assert_eq!(label(Operation::Matmul), "matrix multiplication");
        assert_eq!(label(Operation::LayerNorm), "LayerNorm");
        assert_eq!(label(Operation::Gelu), "bias + GELU");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(beginning("µs µs", 5), "µs µs");
        assert_eq!(beginning("µs µs", 3), "µs…");
    }
}
