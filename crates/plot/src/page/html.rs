//! The page as HTML: one file, nothing from the network, and complete without its script.

use super::article::to_html;
use super::dataset::script_safe;
use super::{Block, Page, Shown, claimant, parts, to};
use crate::Sizes;
use crate::escape::{isolate, markup};
use crate::figures::Figure;
use crate::number;
use crate::table::Table;
use mage_evidence::claims::{Judged, Outcome, Verdicts};
use pulldown_cmark::{Event, Parser, Tag, html};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

const TEMPLATE: &str = include_str!("template.html");
const STYLE: &str = include_str!("style.css");
const TABS: &str = include_str!("tabs.js");

impl Page<'_> {
    /// The whole page.
    pub(crate) fn html(&self) -> String {
        let mut body = String::new();
        for (i, block) in self.blocks.iter().enumerate() {
            self.html_block(&mut body, block);
            let contents_follow = matches!(self.blocks.get(i + 1), Some(Block::Heading(_)));
            if contents_follow && !body.contains("class=\"contents\"") {
                self.contents(&mut body);
            }
        }
        let index = markup(&to(&self.top, Path::new("docs/index.html")));
        document(&Document {
            title: self.title,
            description: &self.description,
            site: &format!("<a href=\"{index}\">All results</a>"),
            dataset: &self.dataset(),
            body: &body,
            script: &format!("<script>\n{TABS}</script>\n"),
        })
    }

    /// Links to the sections.
    fn contents(&self, out: &mut String) {
        out.push_str("<nav class=\"contents\" aria-label=\"On this page\">\n<ul>\n");
        for block in &self.blocks {
            if let Block::Heading(text) = block {
                let _ = writeln!(
                    out,
                    "<li><a href=\"#{}\">{}</a></li>",
                    place(text),
                    markup(text)
                );
            }
        }
        out.push_str("</ul>\n</nav>\n");
    }

    fn html_block(&self, out: &mut String, block: &Block<'_>) {
        let _ = match block {
            Block::Heading(text) => {
                writeln!(out, "<h2 id=\"{}\">{}</h2>", place(text), markup(text))
            }
            Block::Lede(text) => writeln!(out, "<p class=\"lede\">{}</p>", markup(text)),
            Block::CameOut(sentences) => write!(out, "{}", came_out(sentences)),
            Block::Prose(text) => write!(out, "{}", prose(text)),
            Block::Facts(facts) => {
                out.push_str("<dl>\n");
                for (name, value) in facts {
                    let value = markup(&isolate(value));
                    let _ = writeln!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
                }
                writeln!(out, "</dl>")
            }
            Block::Tabs(label, figures) => {
                let _ = writeln!(out, "<div data-tabs=\"{label}\">");
                for shown in figures {
                    self.html_figure(out, shown);
                }
                writeln!(out, "</div>")
            }
            Block::Figure(shown) => {
                self.html_figure(out, shown);
                Ok(())
            }
            Block::LeftOut(all) => {
                out.push_str("<ul class=\"left-out\">\n");
                for (title, reason) in all {
                    let (title, reason) = (markup(title), markup(reason));
                    let _ = writeln!(out, "<li><em>{title}</em> is left out: {reason}.</li>");
                }
                writeln!(out, "</ul>")
            }
            Block::Table(summary, table) => write!(out, "{}", details(summary, table)),
            Block::Claims(verdicts) => {
                html_claims(out, verdicts);
                Ok(())
            }
            Block::List { title, lines, open } => {
                let items: String = lines
                    .iter()
                    .map(|line| format!("<li>{}</li>\n", markup(&isolate(line))))
                    .collect();
                match open {
                    true => writeln!(out, "<h3>{title}</h3>\n<ul>\n{items}</ul>"),
                    false => writeln!(
                        out,
                        "<details>\n<summary>{title}</summary>\n<ul>\n{items}</ul>\n</details>"
                    ),
                }
            }
            Block::Links(related) => {
                out.push_str("<ul>\n");
                for page in *related {
                    let address = markup(&self.to(&page.html()));
                    let label = markup(&page.label);
                    let _ = writeln!(out, "<li><a href=\"{address}\">{label}</a></li>");
                }
                writeln!(out, "</ul>")
            }
            Block::Commands(commands) => {
                for (what, command) in commands {
                    let (what, command) = (markup(what), markup(command));
                    let _ = writeln!(out, "<p>{what}</p>\n<pre><code>{command}</code></pre>");
                }
                Ok(())
            }
            Block::Files(files) => {
                out.push_str("<ul>\n");
                for file in *files {
                    let _ = writeln!(
                        out,
                        "<li><a href=\"{}\">{}</a>, {} <span class=\"hash\">SHA-256 {}</span></li>",
                        markup(&self.to(&file.path)),
                        file.label,
                        number::bytes(file.bytes),
                        file.sha256
                    );
                }
                writeln!(out, "</ul>")
            }
        };
    }

    fn html_figure(&self, out: &mut String, shown: &Shown<'_>) {
        let figure = shown.figure;
        let name = figure.name();
        let file = self.figure(figure);
        let title = markup(&figure.frame.title);
        let words = match shown.words.trim().is_empty() {
            true => String::new(),
            false => format!(
                "<figcaption>{}</figcaption>\n",
                prose(shown.words).trim_end()
            ),
        };
        let link = |address: &str, label: &str| {
            format!(
                "<a href=\"{}\" aria-label=\"{label}: {title}\">{label}</a>",
                markup(address)
            )
        };
        let mut downloads = vec![
            link(&format!("{file}.svg"), "SVG"),
            link(&format!("{file}.png"), "PNG"),
            link(&format!("{file}.csv"), "CSV"),
        ];
        for path in &figure.evidence {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            downloads.push(link(&self.to(path), &markup(&name)));
        }
        let _ = write!(
            out,
            "<section class=\"figure\" id=\"{name}\" data-label=\"{}\" aria-labelledby=\"{name}-title\">\n\
             <h3 class=\"hidden\" id=\"{name}-title\">{title}</h3>\n\
             <figure>\n{}{words}</figure>\n\
             <p class=\"download\"><span>Download</span> {}</p>\n{}</section>\n",
            markup(figure.label),
            picture(figure, &file, shown.sizes),
            downloads.join(" "),
            details("Values", &figure.table),
        );
    }
}

/// A figure's drawing for the width at hand; `file` is its address without the ending.
pub(super) fn picture(figure: &Figure, file: &str, sizes: Sizes) -> String {
    let alternative = markup(&figure.frame.alternative);
    let [(width, height), (phone_width, phone_height)] = sizes;
    format!(
        "<picture>\n\
         <source media=\"(max-width: 640px)\" srcset=\"{file}.phone.svg\" width=\"{phone_width}\" height=\"{phone_height}\">\n\
         <img src=\"{file}.svg\" width=\"{width}\" height=\"{height}\" alt=\"{alternative}\">\n\
         </picture>\n"
    )
}

/// What came out, set apart.
pub(super) fn came_out(sentences: &[String]) -> String {
    let lines: String = sentences
        .iter()
        .map(|sentence| format!("<p>{}</p>\n", markup(sentence)))
        .collect();
    match lines.is_empty() {
        true => lines,
        false => format!("<div class=\"came-out\">\n{lines}</div>\n"),
    }
}

/// A table below a line that opens it.
fn details(summary: &str, table: &Table) -> String {
    let caption = markup(&table.caption);
    format!(
        "<details>\n<summary>{}</summary>\n\
         <div class=\"scroll\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n{}</div>\n</details>\n",
        markup(summary),
        table.html()
    )
}

fn html_claims(out: &mut String, verdicts: &Verdicts) {
    out.push_str("<ol class=\"claims\">\n");
    for claim in &verdicts.claims {
        let (class, sign) = match claim.outcome() {
            Outcome::Reproduced => ("reproduced", "✓"),
            Outcome::NotReproduced => ("not-reproduced", "✗"),
            Outcome::NotTestable => ("not-testable", "–"),
        };
        let Judged { number, .. } = claim;
        let _ = write!(
            out,
            "<li><span class=\"number\">{number}</span>\n{}\
             <span class=\"outcome {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span>\n{}</li>\n",
            prose(&claim.statement),
            verdicts.by.words(claim.outcome()),
            details(
                &format!("{} and here", claimant(verdicts)),
                &parts(verdicts, claim)
            ),
        );
    }
    out.push_str("</ol>\n");
}

/// What the template takes.
pub(super) struct Document<'a> {
    pub title: &'a str,
    pub description: &'a str,
    /// What leads to the site's other pages.
    pub site: &'a str,
    pub dataset: &'a Value,
    pub body: &'a str,
    pub script: &'a str,
}

/// A whole HTML document.
pub(super) fn document(parts: &Document<'_>) -> String {
    fill(
        TEMPLATE,
        &[
            ("title", &markup(parts.title)),
            ("description", &markup(parts.description)),
            ("style", STYLE),
            ("site", parts.site),
            ("dataset", &script_safe(parts.dataset)),
            ("body", parts.body),
            ("script", parts.script),
        ],
    )
}

/// A heading as the name of its place.
pub(super) fn place(heading: &str) -> String {
    let word = |c: char| if c.is_alphanumeric() { c } else { '-' };
    heading.to_lowercase().chars().map(word).collect()
}

/// Markdown prose as HTML; markup in it is shown, not obeyed.
pub(super) fn prose(text: &str) -> String {
    let events = Parser::new(text).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: to_html(&dest_url),
            title,
            id,
        }),
        other => other,
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// Puts each part into its `{{place}}` of the template; what was put in is not looked at again.
pub(super) fn fill(template: &str, parts: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            break;
        };
        let part = parts.iter().find(|(part, _)| *part == name);
        debug_assert!(part.is_some(), "the template asks for {name}");
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
    fn what_is_put_into_a_template_stays_as_it_is() {
        let html = fill("<{{a}} {{b}} {{a}}>", &[("a", "{{b}}"), ("b", "B")]);
        assert_eq!(html, "<{{b}} B {{b}}>");
    }
}
