//! The page of a namespace: one list of blocks, written as HTML and as Markdown.

mod html;
mod markdown;

use crate::data::{Data, results_directory};
use crate::figures::{Figure, LeftOut};
use crate::number;
use crate::{Sizes, figures_directory, page_directory};
use mage_evidence::artifact::TreeState;
use mage_evidence::{profiles, results};
use std::path::Path;

/// One part of a page.
enum Block<'a> {
    /// A section's heading.
    Heading(&'static str),
    /// One line below the title.
    Lede(String),
    /// Markdown from the spec.
    Prose(&'a str),
    /// Names and values.
    Facts(Vec<(&'static str, String)>),
    /// A figure with its table and the spec's words on it.
    Figure(&'a Figure, Sizes, &'a str),
    /// Figures that are not there.
    LeftOut(&'a [LeftOut]),
    /// Links: label and address.
    Files(Vec<(&'static str, String)>),
}

/// A page.
pub(crate) struct Page<'a> {
    title: &'a str,
    description: String,
    /// From the page's directory to the figures'.
    figures: String,
    blocks: Vec<Block<'a>>,
}

impl<'a> Page<'a> {
    /// The page of `data` with these figures.
    pub(crate) fn new(
        data: &'a Data,
        figures: &'a [Figure],
        sizes: &[Sizes],
        left_out: &'a [LeftOut],
    ) -> Self {
        let words = &data.experiment.words;
        let mut blocks = vec![
            Block::Lede(lede(data)),
            Block::Prose(&words.summary),
            Block::Heading("Results"),
        ];
        for (figure, &sizes) in figures.iter().zip(sizes) {
            let prose = match figure.name() {
                "kernel-time" => words.kernel_time.as_str(),
                "event-spans" => &words.event_span,
                "launches" => &words.launches,
                "improvements" => &words.improvements,
                _ => "",
            };
            blocks.push(Block::Figure(figure, sizes, prose));
        }
        if !left_out.is_empty() {
            blocks.push(Block::LeftOut(left_out));
        }
        blocks.push(Block::Heading("What was measured"));
        blocks.push(Block::Facts(facts(data)));
        blocks.push(Block::Heading("Limits"));
        blocks.push(Block::Prose(&words.limits));
        blocks.push(Block::Heading("Evidence"));
        blocks.push(Block::Files(files(data)));
        Self {
            title: &data.experiment.title,
            description: format!("{} on {}", data.namespace, data.summary.gpu),
            figures: up(&figures_directory(&data.namespace), &data.namespace),
            blocks,
        }
    }
}

/// A path below the root as seen from the namespace's page.
fn up(path: &Path, namespace: &str) -> String {
    let steps = page_directory(namespace).components().count() - 1;
    let below: Vec<_> = path
        .components()
        .skip(1)
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    format!("{}{}", "../".repeat(steps), below.join("/"))
}

fn files(data: &Data) -> Vec<(&'static str, String)> {
    let directory = up(&results_directory(&data.namespace), &data.namespace);
    let mut files = vec![(
        "Samples and checks",
        format!("{directory}/{}", results::FILE),
    )];
    if data.profiles.is_some() {
        files.push(("Kernel rows", format!("{directory}/{}", profiles::FILE)));
    }
    files
}

/// Where, when, and whether it was right, in one line.
fn lede(data: &Data) -> String {
    let date = data.results.utc.get(..10).unwrap_or(&data.results.utc);
    format!(
        "{} · {} · {date} · {} of {} full-output checks passed",
        data.namespace,
        data.summary.gpu,
        data.results.passed_checks(),
        data.results.checks()
    )
}

/// Each remark of the captures once, with the number of captures that have it.
fn notes(data: &Data) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    let captures = data.profiles.iter().flat_map(|p| &p.captures);
    for note in captures.flat_map(|capture| &capture.notes) {
        match counts.iter_mut().find(|(known, _)| *known == note.as_str()) {
            Some((_, count)) => *count += 1,
            None => counts.push((note, 1)),
        }
    }
    counts
        .into_iter()
        .map(|(note, count)| format!("{}: {note}", number::plural(count, "capture", "captures")))
        .collect()
}

/// What the evidence says of its own origin.
fn facts(data: &Data) -> Vec<(&'static str, String)> {
    let r = &data.results;
    let mut facts = vec![
        ("Namespace", data.namespace.clone()),
        ("GPU", gpu(data)),
        ("Measured", r.utc.clone()),
    ];
    if let Some(p) = &r.provenance {
        let driver = format!("{}, CUDA {}", p.device.driver, p.device.cuda_driver);
        facts.push(("Driver", driver));
        let host = format!(
            "{}, {}, {}",
            p.host.platform,
            p.host.processor,
            number::plural(
                p.host.logical_processors.into(),
                "logical processor",
                "logical processors"
            )
        );
        facts.push(("Host", host));
    } else {
        facts.push(("Host", r.platform.clone()));
    }
    let versions = [
        ("PyTorch", &r.torch),
        ("Triton", &r.triton),
        ("CUDA", &r.cuda),
        ("Python", &r.python),
    ];
    let software: Vec<String> = versions
        .iter()
        .filter_map(|(name, version)| Some(format!("{name} {}", version.as_ref()?)))
        .collect();
    if !software.is_empty() {
        facts.push(("Software", software.join(", ")));
    }
    facts.push(("Precision", r.precision.clone()));
    let protocol = format!(
        "{} of {} each, after {}",
        number::plural(r.rounds.into(), "round", "rounds"),
        number::plural(r.iterations_per_round.into(), "call", "calls"),
        number::plural(r.warmup_per_round.into(), "warm-up call", "warm-up calls"),
    );
    facts.push(("Event spans", protocol));
    if let Some(profiles) = &data.profiles {
        let captures = number::plural(profiles.captures.len() as u64, "capture", "captures");
        facts.push(("Kernel time", format!("{captures}, {}", profiles.backend)));
    }
    for note in notes(data) {
        facts.push(("Remark", note));
    }
    facts.push(("Correctness", checks(data)));
    if let Some(p) = &r.provenance {
        let commit = p.tree.commit.as_deref().unwrap_or("no commit known");
        let state = match p.tree.state {
            TreeState::Clean => "exactly that commit",
            TreeState::Untracked => "that commit and source files that it does not know",
            TreeState::Dirty => "that commit with changes",
            TreeState::Unknown => "state not known",
        };
        facts.push(("Source", format!("{commit} ({state})")));
    }
    facts
}

fn gpu(data: &Data) -> String {
    let Some(p) = &data.results.provenance else {
        return data.summary.gpu.clone();
    };
    let d = &p.device;
    format!(
        "{}, compute capability {}, {}, {:.0} GiB",
        data.summary.gpu,
        d.compute_capability,
        number::plural(
            d.multiprocessors.into(),
            "multiprocessor",
            "multiprocessors"
        ),
        d.memory_bytes as f64 / f64::from(1 << 30)
    )
}

fn checks(data: &Data) -> String {
    let r = &data.results;
    let rounds = r.results.iter().flat_map(|op| &op.rounds);
    let mut cases = rounds.flat_map(|round| round.implementations.values());
    let bound = cases.next().map_or(String::new(), |case| {
        let c = &case.correctness;
        format!(" (rtol {:e}, atol {:e})", c.rtol, c.atol)
    });
    format!(
        "{} of {} full-output checks passed{bound}",
        r.passed_checks(),
        r.checks()
    )
}
