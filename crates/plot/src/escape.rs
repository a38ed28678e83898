//! The one place where text enters markup.

/// Escapes text for XML and HTML content and quoted attributes. Characters that XML cannot hold become
/// the replacement character.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// `text`, set apart by invisible marks where it holds right-to-left letters or marks of direction, so that
/// it cannot turn around what stands beside it.
pub fn isolate(text: &str) -> String {
    let turns = |c: char| {
        matches!(c, '\u{590}'..='\u{8ff}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
    };
    if text.chars().any(turns) {
        // A closing mark inside would end the isolation early.
        let inner = text.replace(['\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}'], "");
        return format!("\u{2068}{inner}\u{2069}");
    }
    text.to_string()
}

/// Escapes text for a Markdown table cell or line: no character keeps a meaning in Markdown or HTML.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in isolate(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_keeps_no_meaning() {
        assert_eq!(
            markup("<b a=\"1\" c='2'>&\u{1}\n"),
            "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;\u{fffd} "
        );
    }

    #[test]
    fn right_to_left_names_are_set_apart() {
        assert_eq!(isolate("שלום"), "\u{2068}שלום\u{2069}");
        assert_eq!(isolate("a\u{202e}b\u{2069}"), "\u{2068}a\u{202e}b\u{2069}");
        assert_eq!(isolate("Rust"), "Rust");
    }

    #[test]
    fn markdown_keeps_no_meaning() {
        assert_eq!(
            markdown("a|b <i> `x` *y*\n[z]"),
            "a\\|b &lt;i&gt; \\`x\\` \\*y\\* \\[z\\]"
        );
    }
}
