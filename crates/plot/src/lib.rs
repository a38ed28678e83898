//! Figures, tables and pages from evidence, and from nothing else.
//!
//! [`draw`] reads a namespace's evidence and gives every file that follows from it; [`write`] stores them,
//! [`check`] compares them with what is stored. The same evidence gives the same bytes in any directory,
//! locale and time zone.

pub mod chart;
pub mod data;
pub mod escape;
pub mod figures;
pub mod font;
pub mod level;
pub mod number;
mod output;
mod page;
pub mod palette;
pub mod png;
pub mod svg;
pub mod table;
pub mod words;

pub use output::{Output, check, write};

use crate::chart::Layout;
use crate::data::Data;
use crate::figures::Figure;
use crate::font::Fonts;
use crate::palette::Theme;
use anyhow::{Context, Result, bail};
use mage_evidence::store;
use serde_json::{Value, json};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Directory of a namespace's figures below the root.
pub fn figures_directory(namespace: &str) -> PathBuf {
    mage_workspace::figures(Path::new(""), namespace)
}

/// Directory of a namespace's page below the root.
pub fn page_directory(namespace: &str) -> PathBuf {
    mage_workspace::pages(Path::new(""), namespace)
}

/// Every file that follows from the evidence of `namespace` below `root`, sorted by path. Writes nothing.
///
/// # Errors
/// Evidence, spec or published values that are missing or do not pass their check.
pub fn draw(root: &Path, namespace: &str) -> Result<Vec<Output>> {
    let fonts = Fonts::new()?;
    let data = Data::read(root, namespace, &fonts)?;
    let (figures, left_out) = figures::all(&data);
    let directory = figures_directory(namespace);
    let mut outputs = Vec::new();
    let mut sizes = Vec::new();
    for (files, size) in files_of_all(&figures, &fonts, &directory)? {
        outputs.extend(files);
        sizes.push(size);
    }
    let page = page::Page::new(&data, &figures, &sizes, &left_out);
    for (files, _) in files_of_all(&figures::ladders(&data), &fonts, &directory)? {
        outputs.extend(files);
    }
    let directory = page_directory(namespace);
    outputs.push(Output::new(directory.join("index.html"), page.html()));
    outputs.push(Output::new(directory.join("index.md"), page.markdown()));
    outputs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(outputs)
}

/// The site's first page, which lists these namespaces in order; and the file that says that the site is
/// finished as it stands.
///
/// # Errors
/// As [`draw`].
pub fn index(root: &Path, namespaces: &[String]) -> Result<Vec<Output>> {
    let fonts = Fonts::new()?;
    let all = namespaces
        .iter()
        .map(|namespace| Data::read(root, namespace, &fonts))
        .collect::<Result<Vec<_>>>()?;
    let index = page::Index::new(root, &all);
    Ok(vec![
        // Without it, GitHub Pages would make pages of its own from the Markdown.
        Output::new(PathBuf::from("docs/.nojekyll"), ""),
        Output::new(PathBuf::from("docs/index.html"), index.html()),
        Output::new(PathBuf::from("docs/index.md"), index.markdown()),
    ])
}

/// The committed pages that are Markdown (claims, counters, structure, ladders, errors, calibrations) as pages of the
/// site, with the ladders' figures. Each leads to the pages of the namespaces that it is about, as they do to it.
///
/// # Errors
/// As [`draw`], and Markdown that cannot be read.
pub fn articles(root: &Path, namespaces: &[String]) -> Result<Vec<Output>> {
    let fonts = Fonts::new()?;
    let all = namespaces
        .iter()
        .map(|namespace| Data::read(root, namespace, &fonts))
        .collect::<Result<Vec<_>>>()?;
    let mut outputs = Vec::new();
    for (kind, _) in page::related::KINDS {
        let directory = Path::new("docs").join(kind);
        let stems = page::related::stems(&root.join(&directory));
        for stem in &stems {
            let source = directory.join(format!("{stem}.md"));
            let about: Vec<&Data> = all
                .iter()
                .filter(|data| data.related.iter().any(|page| page.markdown() == source))
                .collect();
            let text = store::read_text(&root.join(&source))?;
            let html = page::of_markdown(&text, &source, &about, &fonts);
            outputs.push(Output::new(directory.join(format!("{stem}.html")), html));
        }
    }
    Ok(outputs)
}

/// Sizes of a figure's desktop and phone drawing.
type Sizes = [(u32, u32); 2];

/// Files of every figure in order. As many are drawn at a time as there are processors, for each takes memory; no byte
/// depends on it.
fn files_of_all(
    figures: &[Figure],
    fonts: &Fonts,
    directory: &Path,
) -> Result<Vec<(Vec<Output>, Sizes)>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut drawn = Vec::new();
        while let Some((i, figure)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            figures.get(i).map(|figure| (i, figure))
        } {
            let files = files_of(figure, fonts, directory)
                .with_context(|| format!("cannot draw {}", figure.name()));
            drawn.push((i, files));
        }
        drawn
    };
    let at_once = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut drawn = Vec::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..at_once.min(figures.len()))
            .map(|_| scope.spawn(work))
            .collect();
        for thread in threads {
            match thread.join() {
                Ok(files) => drawn.extend(files),
                Err(_) => bail!("the drawing stopped"),
            }
        }
        Ok(())
    })?;
    drawn.sort_by_key(|(i, _)| *i);
    drawn.into_iter().map(|(_, files)| files).collect()
}

fn files_of(figure: &Figure, fonts: &Fonts, directory: &Path) -> Result<(Vec<Output>, Sizes)> {
    let mut outputs = vec![Output::new(
        directory.join(format!("{}.csv", figure.name())),
        figure.table.csv()?,
    )];
    let mut sizes = [(0, 0); 2];
    for (i, (layout, suffix)) in [(Layout::Desktop, ""), (Layout::Phone, ".phone")]
        .into_iter()
        .enumerate()
    {
        let svg = figure.svg(fonts, layout, Theme::Light);
        let path = |ending: &str| directory.join(format!("{}{suffix}.{ending}", figure.name()));
        outputs.push(Output::new(path("png"), png::render(&svg.text)?));
        outputs.push(Output::new(path("svg"), svg.text));
        sizes[i] = svg.size;
    }
    Ok((outputs, sizes))
}

/// The plotted values, for machines.
///
/// # Errors
/// As [`draw`].
pub fn values(root: &Path, namespace: &str) -> Result<Value> {
    let data = Data::read(root, namespace, &Fonts::new()?)?;
    let (figures, left_out) = figures::all(&data);
    let figures: Value = figures
        .iter()
        .map(|figure| {
            let mut value = json!({
                "figure": figure.name(),
                "title": figure.frame.title,
                "caption": figure.table.caption,
                "text_alternative": figure.frame.alternative,
                "values": figure.table.json(),
            });
            if let Some(plotted) = &figure.plotted {
                value["plotted"] = plotted.clone();
            }
            value
        })
        .collect();
    let left_out: Value = left_out
        .iter()
        .map(|l| json!({ "figure": l.name, "title": l.title, "reason": l.reason }))
        .collect();
    Ok(json!({
        "namespace": data.namespace,
        "experiment": data.experiment.name,
        "gpu": data.summary.gpu,
        "came_out": page::came_out(&data),
        "figures": figures,
        "left_out": left_out,
        "unavailable": data.unavailable(),
    }))
}
