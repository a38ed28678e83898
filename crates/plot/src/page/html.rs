//! The page as HTML: one file, no script, nothing from the network.

use super::{Block, Page};
use crate::Sizes;
use crate::escape::markup;
use crate::figures::Figure;
use pulldown_cmark::{Event, Parser, html};
use std::fmt::Write as _;

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");

impl Page<'_> {
    /// The whole page.
    pub(crate) fn html(&self) -> String {
        let mut body = String::new();
        for block in &self.blocks {
            match block {
                Block::Heading(text) => {
                    let id = text.to_lowercase().replace(' ', "-");
                    let _ = writeln!(body, "<h2 id=\"{id}\">{text}</h2>");
                }
                Block::Lede(text) => {
                    let _ = writeln!(body, "<p class=\"lede\">{}</p>", markup(text));
                }
                Block::Prose(text) => body.push_str(&prose(text)),
                Block::Facts(facts) => {
                    body.push_str("<dl>\n");
                    for (name, value) in facts {
                        let value = markup(value);
                        let _ = writeln!(body, "<div><dt>{name}</dt><dd>{value}</dd></div>");
                    }
                    body.push_str("</dl>\n");
                }
                Block::Figure(figure, sizes, words) => {
                    self.html_figure(&mut body, figure, *sizes, words);
                }
                Block::LeftOut(all) => {
                    body.push_str("<ul class=\"left-out\">\n");
                    for l in *all {
                        let reason = markup(&l.reason);
                        let _ = writeln!(
                            body,
                            "<li><em>{}</em> is left out: {reason}.</li>",
                            markup(&l.title)
                        );
                    }
                    body.push_str("</ul>\n");
                }
                Block::Files(files) => {
                    body.push_str("<ul>\n");
                    for (label, address) in files {
                        let _ =
                            writeln!(body, "<li><a href=\"{}\">{label}</a></li>", markup(address));
                    }
                    body.push_str("</ul>\n");
                }
            }
        }
        fill(&[
            ("title", &markup(self.title)),
            ("description", &markup(&self.description)),
            ("style", STYLE),
            ("body", &body),
        ])
    }

    fn html_figure(&self, out: &mut String, figure: &Figure, sizes: Sizes, words: &str) {
        let name = figure.name();
        let file = format!("{}/{name}", self.figures);
        let title = markup(&figure.frame.title);
        let caption = markup(&figure.table.caption);
        let alternative = markup(&figure.frame.alternative);
        let [(width, height), (phone_width, phone_height)] = sizes;
        let _ = write!(
            out,
            "<section aria-labelledby=\"{name}\">\n<h3 id=\"{name}\">{title}</h3>\n{words}\
             <figure>\n<picture>\n\
             <source media=\"(max-width: 640px)\" srcset=\"{file}.phone.svg\" width=\"{phone_width}\" height=\"{phone_height}\">\n\
             <img src=\"{file}.svg\" width=\"{width}\" height=\"{height}\" alt=\"{alternative}\">\n\
             </picture>\n\
             <figcaption>{caption}. Download: <a href=\"{file}.svg\">SVG</a>, \
             <a href=\"{file}.png\">PNG</a>, <a href=\"{file}.csv\">CSV</a></figcaption>\n</figure>\n\
             <details>\n<summary>Values: {title}</summary>\n\
             <div class=\"scroll\" role=\"region\" aria-label=\"Values: {title}\" tabindex=\"0\">\n{}</div>\n</details>\n\
             </section>\n",
            figure.table.html(),
            words = prose(words),
        );
    }
}

/// Markdown prose as HTML; markup in it is shown, not obeyed.
fn prose(text: &str) -> String {
    let events = Parser::new(text).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Puts each part into its `{{place}}` of the template, once; what was put in is not looked at again.
fn fill(parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        let part = parts.iter().find(|(part, _)| *part == name);
        out.push_str(part.map_or("", |(_, text)| text));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_cannot_bring_markup() {
        let html = prose("a <script>x</script> `b` **c**\n\n<div>d</div>");
        assert!(
            !html.contains("<script>") && !html.contains("<div>"),
            "{html}"
        );
        assert!(html.contains("<code>b</code>") && html.contains("<strong>c</strong>"));
    }

    #[test]
    fn the_template_takes_each_part_once() {
        let html = fill(&[
            ("title", "T"),
            ("body", "{{title}}"),
            ("style", ""),
            ("description", ""),
        ]);
        assert!(html.contains("<title>T</title>"));
        assert!(html.contains("{{title}}"), "what is put in stays as it is");
    }
}
