//! The page of a namespace: one list of blocks, written as HTML and as Markdown.

mod article;
mod beside;
mod came_out;
mod dataset;
mod diff;
mod html;
mod index;
mod markdown;
mod method;
pub(crate) mod related;

pub(crate) use beside::of_markdown;
pub(crate) use came_out::sentences as came_out;
pub(crate) use index::Index;

use crate::data::{Data, EvidenceFile};
use crate::escape;
use crate::figures::{Figure, LeftOut};
use crate::number;
use crate::table::{Cell, Column, Table};
use crate::{Sizes, figures_directory, page_directory};
use mage_evidence::artifact::TreeState;
use mage_evidence::claims::{By, Judged, Outcome, Verdicts};
use mage_evidence::counts::Counts;
use related::Related;
use std::borrow::Cow;
use std::path::Path;

/// One part of a page.
enum Block<'a> {
    /// A section's heading.
    Heading(String),
    /// One line below the title.
    Lede(String),
    /// What came out, a paragraph each.
    CameOut(Vec<String>),
    /// Markdown.
    Prose(Cow<'a, str>),
    /// Names and values.
    Facts(Vec<(&'static str, String)>),
    /// Figures of which one is shown at a time where there is a script, all where there is none.
    Tabs(&'static str, Vec<Shown<'a>>),
    /// A figure.
    Figure(Shown<'a>),
    /// What is not there: title and reason.
    LeftOut(Vec<(&'a str, &'a str)>),
    /// A table below a line that opens it.
    Table(String, Table),
    /// The claims, judged.
    Claims(&'a Verdicts),
    /// Lines below a line; the line opens them where they are not the point.
    List {
        title: &'static str,
        lines: Vec<String>,
        open: bool,
    },
    /// Other pages about the same.
    Links(&'a [Related]),
    /// What a command does, and the command.
    Commands(Vec<(&'static str, String)>),
    /// Files of evidence.
    Files(&'a [EvidenceFile]),
}

/// A figure with the spec's words on it.
struct Shown<'a> {
    figure: &'a Figure,
    sizes: Sizes,
    words: &'a str,
}

/// A page.
pub(crate) struct Page<'a> {
    data: &'a Data,
    figures: &'a [Figure],
    title: &'a str,
    description: String,
    /// From the page's directory to that of the site.
    top: String,
    blocks: Vec<Block<'a>>,
}

/// Figures of one metric each: they stand in tabs.
const METRICS: [&str; 5] = [
    "kernel-time",
    "event-spans",
    "launches",
    "both-views",
    "samples",
];

impl<'a> Page<'a> {
    /// The page of `data` with these figures.
    pub(crate) fn new(
        data: &'a Data,
        figures: &'a [Figure],
        sizes: &[Sizes],
        left_out: &'a [LeftOut],
    ) -> Self {
        let words = &data.experiment.words;
        let shown = figures.iter().zip(sizes).map(|(figure, &sizes)| Shown {
            figure,
            sizes,
            words: match figure.name() {
                "kernel-time" => words.kernel_time.as_str(),
                "event-spans" => &words.event_span,
                "launches" => &words.launches,
                "improvements" => &words.improvements,
                _ => "",
            },
        });
        let (metrics, others): (Vec<_>, Vec<_>) =
            shown.partition(|s| METRICS.contains(&s.figure.name()));
        let mut blocks = vec![Block::Lede(lede(data))];
        let sentences = came_out(data);
        if !sentences.is_empty() {
            blocks.push(Block::CameOut(sentences));
        }
        blocks.extend([
            Block::Prose(words.summary.as_str().into()),
            Block::Heading("Results".to_string()),
            Block::Tabs("Metrics", metrics),
        ]);
        blocks.extend(others.into_iter().map(Block::Figure));
        let unavailable = unavailable(data);
        if !unavailable.is_empty() {
            blocks.push(Block::List {
                title: "Unavailable here",
                lines: unavailable,
                open: true,
            });
        }
        let mut missing: Vec<(&str, &str)> = left_out
            .iter()
            .map(|l| (l.title.as_str(), l.reason.as_str()))
            .collect();
        if let Err(reason) = &data.claims {
            missing.push((CLAIMS, reason));
        }
        if let Err(reason) = &data.diff {
            missing.push(("What changed and what moved", reason));
        }
        if !missing.is_empty() {
            blocks.push(Block::LeftOut(missing));
        }
        if !data.related.is_empty() {
            blocks.push(Block::Heading("More on these results".to_string()));
            blocks.push(Block::Links(&data.related));
        }
        claims(data, &mut blocks);
        diff::blocks(data, &mut blocks);
        blocks.push(Block::Heading("Method".to_string()));
        blocks.push(Block::Prose(method::prose(data).into()));
        blocks.push(Block::Facts(facts(data)));
        blocks.push(Block::Heading("Limits".to_string()));
        blocks.push(Block::Prose(words.limits.as_str().into()));
        blocks.push(Block::Heading("How to reproduce it".to_string()));
        blocks.push(Block::Commands(method::commands(data)));
        blocks.push(Block::Heading("Evidence".to_string()));
        blocks.push(Block::Files(&data.files));
        Self {
            data,
            figures,
            title: &data.experiment.title,
            description: format!("{} on {}", data.namespace, data.summary.gpu),
            top: top(&page_directory(&data.namespace)),
            blocks,
        }
    }

    /// An address from the page to a path below the root.
    fn to(&self, path: &Path) -> String {
        to(&self.top, path)
    }

    /// An address from the page to a figure's file without its ending.
    fn figure(&self, figure: &Figure) -> String {
        let directory = figures_directory(&self.data.namespace);
        self.to(&directory.join(figure.name()))
    }
}

/// From a directory of the site to the site's own.
pub(crate) fn top(directory: &Path) -> String {
    "../".repeat(directory.components().count() - 1)
}

/// From a directory whose way to the site's is `top` to a path below the root, which is in the site.
pub(crate) fn to(top: &str, path: &Path) -> String {
    let below: Vec<_> = path
        .components()
        .skip(1)
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    format!("{top}{}", below.join("/"))
}

const CLAIMS: &str = "Claims";
/// An experiment's own goals are judged as claims are.
const GOALS: &str = "Goals";

/// What does not run here, a line a reason.
fn unavailable(data: &Data) -> Vec<String> {
    let all = data.unavailable().into_iter();
    all.map(|u| {
        let who = escape::isolate(&u.implementation);
        format!("{who}, for {} (“{}”)", u.of(), u.reason)
    })
    .collect()
}

fn claims<'a>(data: &'a Data, blocks: &mut Vec<Block<'a>>) {
    let Ok(verdicts) = &data.claims else {
        return;
    };
    let heading = match verdicts.by {
        By::Note => CLAIMS,
        By::Goal => GOALS,
    };
    blocks.push(Block::Heading(heading.to_string()));
    let count = |outcome| {
        let of = verdicts.claims.iter().filter(|c| c.outcome() == outcome);
        of.count()
    };
    let outcomes = [
        Outcome::Reproduced,
        Outcome::NotReproduced,
        Outcome::NotTestable,
    ];
    let counts: Vec<String> = outcomes
        .into_iter()
        .filter(|of| count(*of) > 0)
        .map(|of| format!("{} {}", count(of), verdicts.by.words(of)))
        .collect();
    let counts = counts.join(", ");
    blocks.push(Block::Prose(
        match &verdicts.published_gpu {
            Some(gpu) => format!(
                "What the published note claims, judged by this evidence: {counts}. The note’s figures are of an {gpu}; \
                 a time is not expected to be the same on another GPU, a direction or a count is."
            ),
            None => format!("The goals of this experiment, judged by this evidence: {counts}."),
        }
        .into(),
    ));
    blocks.push(Block::Claims(verdicts));
    if let Ok(counts) = &data.counts
        && !counts.findings.is_empty()
    {
        let summary = "What the kernels’ own code says of the claims about structure";
        blocks.push(Block::Table(summary.to_string(), findings(counts)));
    }
}

/// Published sentences about structure beside what is counted.
fn findings(counts: &Counts) -> Table {
    let rows = counts.findings.iter().map(|f| {
        vec![
            Cell::Number(f.claim.into(), f.claim.to_string()),
            Cell::text(&f.variant),
            Cell::text(&f.says),
            Cell::text(&f.counted),
            Cell::text(f.verdict.replace('_', " ")),
        ]
    });
    Table {
        caption: "Claims about structure, counted by running the kernels’ source on the CPU"
            .to_string(),
        columns: vec![
            Column::number("Claim"),
            Column::text("Kernel"),
            Column::text("The note"),
            Column::text("Counted"),
            Column::text("Outcome"),
        ],
        keys: 2,
        rows: rows.collect(),
    }
}

/// The parts of a claim.
fn parts(verdicts: &Verdicts, claim: &Judged) -> Table {
    let rows = claim.parts.iter().map(|part| {
        vec![
            Cell::text(&part.about),
            Cell::text(&part.published),
            part.figure.as_ref().map_or(Cell::Missing, Cell::text),
            Cell::text(verdicts.outcome(part)),
        ]
    });
    Table {
        caption: format!("{} {}", one(verdicts), claim.number),
        columns: ["Part", &claimant(verdicts), "Here", "Outcome"]
            .map(Column::text)
            .into(),
        keys: 1,
        rows: rows.collect(),
    }
}

/// What one of them is called, at the beginning of a line.
fn one(verdicts: &Verdicts) -> &'static str {
    match verdicts.by {
        By::Note => "Claim",
        By::Goal => "Goal",
    }
}

/// Who claims, at the beginning of a line: `The note`.
fn claimant(verdicts: &Verdicts) -> String {
    number::capital(verdicts.by.column())
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

/// Each remark of the captures once, with the number of captures that have it, or with the one.
fn notes(data: &Data) -> Vec<String> {
    let mut counts: Vec<(&str, &str, u64)> = Vec::new();
    for capture in data.profiles.iter().flat_map(|p| &p.captures) {
        for note in &capture.notes {
            match counts
                .iter_mut()
                .find(|(known, ..)| *known == note.as_str())
            {
                Some((_, _, count)) => *count += 1,
                None => counts.push((note, &capture.session_id, 1)),
            }
        }
    }
    counts
        .into_iter()
        .map(|(note, capture, count)| match count {
            1 => format!("{capture}: {note}"),
            _ => format!("{}: {note}", number::plural(count, "capture", "captures")),
        })
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
            TreeState::Untracked => "that commit, with files beside it that it does not know",
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
