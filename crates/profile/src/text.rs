//! Text from elsewhere, made fit for one line of a message.

/// `text` with control characters escaped, so that it stays on one line.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

/// As [`one_line`], cut to `length` characters.
pub(crate) fn short(text: &str, length: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(length) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// The last few lines of what a program said, as one line.
pub(crate) fn last_words(output: &str) -> String {
    let mut lines: Vec<&str> = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.drain(..lines.len().saturating_sub(4));
    match lines.is_empty() {
        true => "it said nothing".to_string(),
        false => format!(
            "it said: {}",
            lines
                .iter()
                .map(|line| short(line, 200))
                .collect::<Vec<_>>()
                .join(" | ")
        ),
    }
}

/// Up to eight of `names`, each once, quoted, with a count of the rest.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
        if seen.len() > 1000 {
            break;
        }
    }
    let shown: Vec<String> = seen
        .iter()
        .take(8)
        .map(|name| format!("{:?}", short(name, 120)))
        .collect();
    match seen.len() {
        0 => "none".to_string(),
        n if n > 8 => format!("{} and {} more", shown.join(", "), n - 8),
        _ => shown.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_on_one_line() {
        assert_eq!(one_line("a\nb\u{1b}[1m"), "a\\nb\\u{1b}[1m");
        assert_eq!(short("äöü", 2), "äö...");
        assert_eq!(last_words(" \n"), "it said nothing");
        assert_eq!(last_words("1\n2\n3\n4\n\n5\n"), "it said: 2 | 3 | 4 | 5");
        assert_eq!(list(["a", "b", "a"]), "\"a\", \"b\"");
        assert_eq!(list([]), "none");
    }
}
