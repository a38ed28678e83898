//! A committed Markdown page as a page of the site: the same words, the same template and style.

use super::html::{Document, document, place};
use crate::escape::markup;
use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

/// What stands around the words.
pub(crate) struct Around<'a> {
    /// Where its Markdown is below the root.
    pub source: &'a Path,
    /// HTML that leads to the site's other pages.
    pub site: &'a str,
    /// HTML to follow a heading, by its text.
    pub after: &'a dyn Fn(&str) -> String,
    /// Where what follows the first table of a section is folded away, the line that opens it.
    pub folded: Option<&'a str>,
}

/// The page as HTML; `text` is what its Markdown file holds.
pub(crate) fn article(text: &str, around: &Around<'_>) -> String {
    let mut title = String::new();
    let mut body = String::new();
    let mut contents: Vec<(String, String)> = Vec::new();
    let mut tables = 0;
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut at = 0;
    // Where the contents go: before the first section.
    let mut first_section = None;
    let (mut in_section, mut open) = (false, false);
    while let Some(event) = events.get(at) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let end = until(&events, at, |e| matches!(e, TagEnd::Heading(_)));
                let inner = &events[at + 1..end];
                let words = words(inner);
                match level {
                    HeadingLevel::H1 if title.is_empty() => title = words,
                    HeadingLevel::H2 => {
                        close(&mut body, &mut open);
                        in_section = true;
                        first_section.get_or_insert(body.len());
                        let id = place(&words);
                        let _ = writeln!(body, "<h2 id=\"{id}\">{}</h2>", push(inner));
                        body.push_str(&(around.after)(&words));
                        contents.push((id, words));
                    }
                    level => {
                        let _ = writeln!(body, "<{level}>{}</{level}>", push(inner));
                    }
                }
                at = end;
            }
            Event::Start(Tag::Table(alignments)) => {
                let end = until(&events, at, |e| matches!(e, TagEnd::Table));
                tables += 1;
                let near = contents.last().map_or(title.as_str(), |(_, words)| words);
                let label = markup(&format!("{near}, table {tables}"));
                let _ = write!(
                    body,
                    "<div class=\"scroll\" role=\"region\" aria-label=\"{label}\" tabindex=\"0\">\n{}</div>\n",
                    table(&events[at + 1..end], alignments)
                );
                if let (true, Some(line)) = (in_section && !open, around.folded) {
                    let _ = writeln!(body, "<details>\n<summary>{}</summary>", markup(line));
                    open = true;
                }
                at = end;
            }
            Event::Rule => {
                close(&mut body, &mut open);
                body.push_str("<hr>\n");
            }
            // Every page of the site leads there from its head.
            Event::Start(Tag::Paragraph) if leads_back(events.get(at + 1)) => {
                at = matching(&events, at);
            }
            Event::Start(_) => {
                let end = matching(&events, at);
                body.push_str(&push(&events[at..=end]));
                at = end;
            }
            other => body.push_str(&push(std::slice::from_ref(other))),
        }
        at += 1;
    }
    close(&mut body, &mut open);
    if contents.len() > 2
        && let Some(place) = first_section
    {
        let mut list = String::from("<nav class=\"contents\" aria-label=\"On this page\">\n<ul>\n");
        for (id, words) in &contents {
            let _ = writeln!(list, "<li><a href=\"#{id}\">{}</a></li>", markup(words));
        }
        list.push_str("</ul>\n</nav>\n");
        body.insert_str(place, &list);
    }
    document(&Document {
        title: &title,
        description: &title,
        site: around.site,
        dataset: &json!({
            "@context": "https://schema.org",
            "@type": "TechArticle",
            "headline": title,
            "isPartOf": "mage",
            "encoding": around.source.file_name().unwrap_or_default().to_string_lossy(),
        }),
        body: &body,
        script: "",
    })
}

/// Whether a paragraph begins with the way back to all results.
fn leads_back(event: Option<&Event<'_>>) -> bool {
    matches!(event, Some(Event::Start(Tag::Link { dest_url, .. })) if &**dest_url == "../index.md")
}

/// Ends what is folded away.
fn close(body: &mut String, open: &mut bool) {
    if std::mem::take(open) {
        body.push_str("</details>\n");
    }
}

/// The place of the first end of a kind from `at` on.
fn until(events: &[Event<'_>], at: usize, end: impl Fn(&TagEnd) -> bool) -> usize {
    let found = events[at..]
        .iter()
        .position(|e| matches!(e, Event::End(tag) if end(tag)));
    found.map_or(events.len() - 1, |n| at + n)
}

/// The place of the end that belongs to the start at `at`.
fn matching(events: &[Event<'_>], at: usize) -> usize {
    let mut depth = 0_i32;
    for (i, event) in events[at..].iter().enumerate() {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + i;
        }
    }
    events.len() - 1
}

/// The text of events.
fn words(events: &[Event<'_>]) -> String {
    let parts = events.iter().map(|event| match event {
        Event::Text(text) | Event::Code(text) => text.as_ref(),
        _ => "",
    });
    parts.collect()
}

/// Events as HTML: markup is shown, not obeyed; links to Markdown lead to its page, those that leave the site are
/// their words alone.
fn push(events: &[Event<'_>]) -> String {
    let mut leaves = Vec::new();
    let events = events.iter().filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text.clone())),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let out = dest_url.starts_with("../..") || dest_url.contains("://");
            leaves.push(out);
            (!out).then(|| {
                Event::Start(Tag::Link {
                    link_type: *link_type,
                    dest_url: to_html(dest_url),
                    title: title.clone(),
                    id: id.clone(),
                })
            })
        }
        Event::End(TagEnd::Link) => {
            (leaves.pop() != Some(true)).then_some(Event::End(TagEnd::Link))
        }
        other => Some(other.clone()),
    });
    let mut out = String::new();
    html::push_html(&mut out, events);
    out
}

/// The address of a page in place of that of its Markdown.
pub(super) fn to_html<'a>(address: &str) -> CowStr<'a> {
    match address.strip_suffix(".md") {
        Some(stem) if !address.contains("://") => format!("{stem}.html").into(),
        _ => address.to_string().into(),
    }
}

/// From so many columns on, a table is set closer.
const MANY: usize = 9;

/// The number of cells without words from `at` on.
fn empty_cells(events: &[Event<'_>], at: usize) -> usize {
    let cells = events.get(at..).unwrap_or_default().chunks(2);
    let empty = cells.take_while(|cell| {
        matches!(
            cell,
            [Event::Start(Tag::TableCell), Event::End(TagEnd::TableCell)]
        )
    });
    empty.count()
}

/// A table with scopes; what is in bold reaches over the empty cells behind it; numbers stand at the right, and a cell without words is no head.
fn table(events: &[Event<'_>], alignments: &[Alignment]) -> String {
    let numbers = alignments.iter().skip(1).any(|a| *a == Alignment::Right);
    let mut out = match alignments.len() {
        MANY.. => String::from("<table class=\"many\">\n"),
        4.. if !numbers => String::from("<table class=\"words\">\n"),
        _ => String::from("<table>\n"),
    };
    let (mut column, mut head, mut at) = (0, false, 0);
    while let Some(event) = events.get(at) {
        match event {
            Event::Start(Tag::TableHead) => {
                (column, head) = (0, true);
                out.push_str("<thead>\n<tr>");
            }
            Event::End(TagEnd::TableHead) => {
                head = false;
                out.push_str("</tr>\n</thead>\n<tbody>\n");
            }
            Event::Start(Tag::TableRow) => {
                column = 0;
                out.push_str("<tr>");
            }
            Event::End(TagEnd::TableRow) => out.push_str("</tr>\n"),
            Event::Start(Tag::TableCell) => {
                let end = until(events, at, |e| matches!(e, TagEnd::TableCell));
                let inner = push(&events[at + 1..end]);
                let class = match alignments.get(column) {
                    Some(Alignment::Right) => " class=\"n\"",
                    _ => "",
                };
                let over = match (head, events.get(at + 1)) {
                    (false, Some(Event::Start(Tag::Strong))) => empty_cells(events, end + 1),
                    _ => 0,
                };
                let span = match over {
                    0 => String::new(),
                    over => format!(" colspan=\"{}\"", over + 1),
                };
                let _ = match (head, inner.is_empty(), column) {
                    (true, false, _) => write!(out, "<th scope=\"col\"{class}>{inner}</th>"),
                    (false, false, 0) => write!(out, "<th scope=\"row\"{class}>{inner}</th>"),
                    _ => write!(out, "<td{class}{span}>{inner}</td>"),
                };
                column += 1 + over;
                at = end + 2 * over;
            }
            _ => {}
        }
        at += 1;
    }
    out.push_str("</tbody>\n</table>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str, folded: Option<&str>) -> String {
        article(
            text,
            &Around {
                source: Path::new("docs/claims/x.md"),
                site: "",
                after: &|heading| match heading {
                    "One" => "<p>after one</p>\n".to_string(),
                    _ => String::new(),
                },
                folded,
            },
        )
    }

    #[test]
    fn what_follows_a_table_is_folded_where_that_is_asked_for() {
        let html = page(
            "# T\n\n## One\n\nsum\n\n| a |\n| --- |\n| 1 |\n\nlong\n\n## Two\n\nsum\n\n---\n\nend\n",
            Some("In words"),
        );
        let (before, after) = html.split_once("<details>").unwrap();
        assert!(before.ends_with("</table>\n</div>\n"), "{before}");
        let (inside, after) = after.split_once("</details>").unwrap();
        assert_eq!(inside, "\n<summary>In words</summary>\n<p>long</p>\n");
        assert!(after.starts_with("\n<h2 id=\"two\">") && !after.contains("details>"));
    }

    #[test]
    fn a_statement_reaches_over_the_empty_cells_behind_it() {
        let html = page(
            "# T\n\n| c | part | goal | out |\n| ---: | --- | --- | --- |\n| 1 | **S** |  | **met** |\n|  | p |  | met |\n",
            None,
        );
        for part in [
            "<table class=\"words\">",
            "<th scope=\"row\" class=\"n\">1</th><td colspan=\"2\"><strong>S</strong></td><td><strong>met</strong></td></tr>",
            "<td class=\"n\"></td><td>p</td><td></td><td>met</td></tr>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let nine =
            "| a ".repeat(9) + "|\n" + &"| --- ".repeat(9) + "|\n" + &"| b ".repeat(9) + "|\n";
        assert!(page(&nine, None).contains("<table class=\"many\">"));
    }

    #[test]
    fn words_tables_and_links_of_the_markdown() {
        let html = page(
            "# Of `x` & y\n\nA <b>b</b> [p](other.md) [j](x.json) [out](../../artifacts/a).\n\n## One\n\n\
             |  | n |\n| --- | ---: |\n| `a` | 1 |\n|  | 2 |\n\n## Two\n\ntext\n\n## Three\n\n- a\n- b\n\n[All results](../index.md)\n",
            None,
        );
        let body = html.split_once("<main>").unwrap().1;
        let body = body.split_once("</main>").unwrap().0;
        insta::assert_snapshot!(body, @r##"
        <h1>Of x &amp; y</h1>
        <p>A &lt;b&gt;b&lt;/b&gt; <a href="other.html">p</a> <a href="x.json">j</a> out.</p>
        <nav class="contents" aria-label="On this page">
        <ul>
        <li><a href="#one">One</a></li>
        <li><a href="#two">Two</a></li>
        <li><a href="#three">Three</a></li>
        </ul>
        </nav>
        <h2 id="one">One</h2>
        <p>after one</p>
        <div class="scroll" role="region" aria-label="One, table 1" tabindex="0">
        <table>
        <thead>
        <tr><td></td><th scope="col" class="n">n</th></tr>
        </thead>
        <tbody>
        <tr><th scope="row"><code>a</code></th><td class="n">1</td></tr>
        <tr><td></td><td class="n">2</td></tr>
        </tbody>
        </table>
        </div>
        <h2 id="two">Two</h2>
        <p>text</p>
        <h2 id="three">Three</h2>
        <ul>
        <li>a</li>
        <li>b</li>
        </ul>
        "##);
    }
}
