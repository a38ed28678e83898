//! Pages beside those of the namespaces: their Markdown, links both ways, and the figures of a ladder.

use super::article::{Around, article};
use super::html::picture;
use super::{to, top};
use crate::chart::Layout;
use crate::data::Data;
use crate::escape::markup;
use crate::figures::{self, Figure};
use crate::font::Fonts;
use crate::palette::Theme;
use crate::{figures_directory, page_directory};
use std::path::Path;

/// The page of the Markdown `text` at `source`, which is about these namespaces.
pub(crate) fn of_markdown(text: &str, source: &Path, about: &[&Data], fonts: &Fonts) -> String {
    let top = top(source.parent().unwrap_or(source));
    let mut links = vec![(to(&top, Path::new("docs/index.html")), "All results")];
    for data in about {
        let page = page_directory(&data.namespace).join("index.html");
        links.push((to(&top, &page), data.namespace.as_str()));
    }
    let links: Vec<String> = links
        .iter()
        .map(|(address, label)| format!("<a href=\"{}\">{}</a>", markup(address), markup(label)))
        .collect();
    let ladders: Vec<(&Data, Figure)> = match source.starts_with("docs/ladder") {
        false => Vec::new(),
        true => about
            .iter()
            .flat_map(|data| figures::ladders(data).into_iter().map(|f| (*data, f)))
            .collect(),
    };
    let after = |heading: &str| {
        // A section is named by its operation and dims, a figure by its operation and what it shows.
        let of = |title: &str| title.split(':').next().map(str::to_string);
        let mut found = ladders.iter().filter(|(_, figure)| {
            of(&figure.frame.title).is_some_and(|operation| heading.starts_with(&operation))
        });
        found.next().map_or(String::new(), |(data, figure)| {
            let directory = figures_directory(&data.namespace);
            let file = to(&top, &directory.join(figure.name()));
            let sizes = [Layout::Desktop, Layout::Phone]
                .map(|layout| figure.svg(fonts, layout, Theme::Light).size);
            format!("<figure>\n{}</figure>\n", picture(figure, &file, sizes))
        })
    };
    article(
        text,
        &Around {
            source,
            site: &links.join(" "),
            after: &after,
            folded: (!ladders.is_empty()).then_some("Every variant in words"),
        },
    )
}
