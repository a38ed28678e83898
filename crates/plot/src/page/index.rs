//! The site's first page: every namespace, with what it is about and where its page is.

use super::html::{self, Document, document, prose};
use super::related::{self, Related};
use super::{came_out, lede, to};
use crate::data::Data;
use crate::escape::{markdown, markup};
use crate::figures::{self, Figure};
use crate::page_directory;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

const TITLE: &str = "mage";
const DESCRIPTION: &str = "GPU kernels, measured so that nobody has to take a number on trust. One note a set of \
                           results, with figures, tables, verdicts and evidence.";

/// The first page.
pub(crate) struct Index<'a> {
    entries: Vec<Entry<'a>>,
    /// Pages that belong to no namespace alone.
    others: Vec<Related>,
}

struct Entry<'a> {
    data: &'a Data,
    /// The figure that stands for all.
    figure: Option<Figure>,
}

impl<'a> Index<'a> {
    /// Of these namespaces, the last measured first; other pages are listed where they are there.
    pub(crate) fn new(root: &Path, all: &'a [Data]) -> Self {
        let mut all: Vec<&Data> = all.iter().collect();
        all.sort_by(|a, b| (&b.results.utc, &a.namespace).cmp(&(&a.results.utc, &b.namespace)));
        let entries = all.iter().map(|data| Entry {
            data,
            figure: figures::all(data).0.into_iter().next(),
        });
        Self {
            entries: entries.collect(),
            others: related::calibrations(root),
        }
    }

    /// The other pages about a namespace, but for those that belong to all.
    fn own(&self, data: &'a Data) -> impl Iterator<Item = &'a Related> {
        let others: Vec<_> = self.others.iter().map(|page| page.path.clone()).collect();
        data.related
            .iter()
            .filter(move |page| !others.contains(&page.path))
    }

    pub(crate) fn html(&self) -> String {
        let mut body = format!("<p class=\"lede\">{DESCRIPTION}</p>\n<ul class=\"notes\">\n");
        for entry in &self.entries {
            let data = entry.data;
            let page = markup(&entry.page("html"));
            let _ = write!(
                body,
                "<li>\n<h2><a href=\"{page}\">{}</a></h2>\n<p class=\"lede\">{}</p>\n{}{}",
                markup(&data.experiment.title),
                markup(&lede(data)),
                html::came_out(&came_out(data)),
                prose(&data.experiment.words.summary),
            );
            if let Some(figure) = &entry.figure {
                let alternative = markup(&figure.frame.alternative);
                let _ = writeln!(
                    body,
                    "<details>\n<summary>{}</summary>\n<figure><img src=\"{}.svg\" alt=\"{alternative}\" loading=\"lazy\"></figure>\n</details>",
                    markup(&figure.frame.title),
                    markup(&entry.file(figure))
                );
            }
            let own: Vec<String> = self
                .own(data)
                .map(|page| {
                    let (label, address) = (markup(&page.label), markup(&to("", &page.html())));
                    // Links of several namespaces are told apart by more than their place.
                    let name = markup(&data.namespace);
                    format!("<a href=\"{address}\" aria-label=\"{label}: {name}\">{label}</a>")
                })
                .collect();
            if !own.is_empty() {
                let _ = writeln!(body, "<p class=\"also\">{}</p>", own.join(" "));
            }
            body.push_str("</li>\n");
        }
        body.push_str("</ul>\n");
        if !self.others.is_empty() {
            body.push_str("<h2>More</h2>\n<ul>\n");
            for page in &self.others {
                let (label, address) = (markup(&page.label), markup(&to("", &page.html())));
                let _ = writeln!(body, "<li><a href=\"{address}\">{label}</a></li>");
            }
            body.push_str("</ul>\n");
        }
        let sets = self.entries.iter().map(|entry| {
            json!({
                "@type": "Dataset",
                "name": format!("{}: {}", entry.data.namespace, entry.data.experiment.title),
                "description": format!("{} on {}. {DESCRIPTION}", entry.data.namespace, entry.data.summary.gpu),
                "url": entry.page("html"),
            })
        });
        document(&Document {
            title: TITLE,
            description: DESCRIPTION,
            site: "<span aria-current=\"page\">All results</span>",
            dataset: &json!({
                "@context": "https://schema.org",
                "@type": "DataCatalog",
                "name": "mage",
                "description": DESCRIPTION,
                "dataset": sets.collect::<Vec<_>>(),
            }),
            body: &body,
            script: "",
        })
    }

    pub(crate) fn markdown(&self) -> String {
        let mut out = format!("# {TITLE}\n\n{DESCRIPTION}\n");
        for entry in &self.entries {
            let data = entry.data;
            let _ = write!(
                out,
                "\n## [{}]({})\n\n{}\n\n{}\n{}\n",
                markdown(&data.experiment.title),
                entry.page("md"),
                markdown(&lede(data)),
                super::markdown::came_out(&came_out(data)),
                data.experiment.words.summary.trim()
            );
            for (i, page) in self.own(data).enumerate() {
                let address = to("", &page.markdown());
                let first = if i == 0 { "\n" } else { "" };
                let _ = writeln!(out, "{first}- [{}]({address})", markdown(&page.label));
            }
        }
        if !self.others.is_empty() {
            out.push_str("\n## More\n\n");
            for page in &self.others {
                let address = to("", &page.markdown());
                let _ = writeln!(out, "- [{}]({address})", markdown(&page.label));
            }
        }
        out
    }
}

impl Entry<'_> {
    fn page(&self, ending: &str) -> String {
        let directory = page_directory(&self.data.namespace);
        to("", &directory.join(format!("index.{ending}")))
    }

    fn file(&self, figure: &Figure) -> String {
        let directory = crate::figures_directory(&self.data.namespace);
        to("", &directory.join(figure.name()))
    }
}
