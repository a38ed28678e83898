//! Ways to draw: each chart lays itself out for a desktop or a phone; the frame around it is the same.

pub mod dumbbells;
pub mod frame;
pub mod ladder;
pub mod matrix;
pub mod names;
pub mod panels;
pub mod roofline;
pub mod runs;

use crate::palette::{Ink, Swatch};
use crate::svg::{Anchor, Canvas, Type};

/// Width that a figure is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A page or a slide, 1080 units wide.
    Desktop,
    /// A phone held upright, 390 units wide.
    Phone,
}

impl Layout {
    /// Width of the figure.
    pub const fn width(self) -> f64 {
        match self {
            Self::Desktop => 1080.0,
            Self::Phone => 390.0,
        }
    }

    /// Space on each side.
    pub const fn margin(self) -> f64 {
        match self {
            Self::Desktop => 36.0,
            Self::Phone => 18.0,
        }
    }

    /// Width between the margins.
    pub const fn inner(self) -> f64 {
        self.width() - 2.0 * self.margin()
    }

    /// The figure's title.
    pub const fn title(self) -> Type {
        match self {
            Self::Desktop => Type::semibold(26.0, Ink::Text),
            Self::Phone => Type::semibold(21.0, Ink::Text),
        }
    }

    /// The line below it.
    pub const fn subtitle(self) -> Type {
        match self {
            Self::Desktop => Type::regular(16.0, Ink::Muted),
            Self::Phone => Type::regular(15.0, Ink::Muted),
        }
    }
}

/// Title of a panel.
pub const HEAD: Type = Type::semibold(16.0, Ink::Text);
/// Names and values at bars.
pub const LABEL: Type = Type::regular(15.0, Ink::Text);
/// The same, standing out.
pub const STRONG: Type = Type::semibold(15.0, Ink::Text);
/// Dims, notes, sources.
pub const SMALL: Type = Type::regular(13.0, Ink::Muted);
/// Headings within a panel.
pub const SMALL_HEAD: Type = Type::semibold(13.0, Ink::Muted);

/// Distance from the middle of a line of text down to its baseline, as a part of its size.
pub const MIDDLE: f64 = 0.364;

/// One value with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Name at the bar.
    pub label: String,
    /// What it is drawn with.
    pub swatch: Swatch,
    /// Length of the bar; `None` where nothing was measured.
    pub value: Option<f64>,
    /// Interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The value as text.
    pub shown: String,
    /// Whether it stands out.
    pub strong: bool,
}

impl Row {
    /// The largest length that the row needs.
    pub fn extent(&self) -> f64 {
        let high = self.range.map_or(0.0, |(_, high)| high);
        self.value.unwrap_or(0.0).max(high)
    }
}

/// Rows that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Heading, where a panel has several groups.
    pub heading: Option<String>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Its label.
    pub title: String,
    /// Its dims.
    pub note: String,
    /// A word at the right of the title, and whether it stands out.
    pub tag: Option<(String, bool)>,
    /// What is shown.
    pub groups: Vec<Group>,
}

impl Panel {
    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// The largest length in the panel.
    pub fn extent(&self) -> f64 {
        self.rows().map(Row::extent).fold(0.0, f64::max)
    }
}

/// A sign before a note.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Mark {
    /// None.
    None,
    /// A whisker.
    Whisker,
    /// A bar.
    Bar(Swatch),
    /// A dot, hollow or not.
    Dot(bool),
    /// A short line.
    Line,
    /// A triangle.
    Dart,
}

/// A line that says how to read the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// Sign before it.
    pub mark: Mark,
    /// What it says.
    pub text: String,
}

impl Note {
    /// A note without a sign.
    pub fn new(text: impl Into<String>) -> Self {
        Self::marked(Mark::None, text)
    }

    /// A note that explains a sign.
    pub fn marked(mark: Mark, text: impl Into<String>) -> Self {
        Self {
            mark,
            text: text.into(),
        }
    }
}

/// A rectangle of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left edge.
    pub x: f64,
    /// Top edge.
    pub y: f64,
    /// Width.
    pub width: f64,
}

/// Where a chart ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Its lower edge.
    pub bottom: f64,
    /// A place beside it that is free for notes.
    pub free: Option<Area>,
}

/// Something that can be drawn in either layout.
pub trait Chart: Send + Sync {
    /// Draws from `top` down.
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn;
}

/// A section's rule, title and dims (below the title on a phone); returns how far down they reach.
pub(crate) fn heading(
    canvas: &mut Canvas<'_>,
    layout: Layout,
    y: f64,
    title: &str,
    note: &str,
) -> f64 {
    let (left, right) = (layout.margin(), layout.margin() + layout.inner());
    canvas.line((left, y), (right, y), 1.0, Ink::Rule);
    let titled = canvas.text((left, y + 24.0), title, HEAD, Anchor::Start);
    let (at, room, depth) = match layout {
        Layout::Desktop => {
            let x = left + titled + 12.0;
            ((x, y + 24.0), right - x, 36.0)
        }
        Layout::Phone => ((left, y + 44.0), layout.inner(), 54.0),
    };
    let note = canvas.fonts.fit(note, SMALL.weight, SMALL.size, room);
    canvas.text(at, &note, SMALL, Anchor::Start);
    depth
}

/// Height and bar thickness of a row, and its text, by the number of rows of the largest panel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pitch {
    pub row: f64,
    pub bar: f64,
    pub label: Type,
    pub strong: Type,
}

pub(crate) fn pitch(rows: usize) -> Pitch {
    let (row, bar, size) = match rows {
        0..=6 => (28.0, 16.0, LABEL.size),
        7..=10 => (24.0, 14.0, LABEL.size),
        _ => (20.0, 11.0, SMALL.size),
    };
    Pitch {
        row,
        bar,
        label: Type::regular(size, Ink::Text),
        strong: Type::semibold(size, Ink::Text),
    }
}

/// The letters of what stands in the place of a value.
pub(crate) fn absent(pitch: Pitch) -> Type {
    Type {
        ink: Ink::Muted,
        ..pitch.label
    }
}

/// Draws a bar with its whisker and value from the zero line at `x`; `length` pixels are `scale`.
pub(crate) fn draw_row(
    canvas: &mut Canvas<'_>,
    row: &Row,
    at: (f64, f64),
    length: f64,
    scale: f64,
    pitch: Pitch,
) {
    let (x, middle) = at;
    let baseline = middle + pitch.label.size * MIDDLE;
    let Some(value) = row.value else {
        canvas.text(
            (x + 8.0, baseline),
            &row.shown,
            absent(pitch),
            Anchor::Start,
        );
        return;
    };
    let pixels = |v: f64| if scale > 0.0 { v / scale * length } else { 0.0 };
    // A value above zero is seen, however small it is beside its neighbours.
    let width = pixels(value).max(if value > 0.0 { 1.5 } else { 0.0 });
    canvas.bar(x, middle - pitch.bar / 2.0, width, pitch.bar, row.swatch);
    let mut end = x + width;
    // Beside a bar too short to see, a whisker would only hide it.
    let range = row.range.filter(|(_, high)| pixels(*high) >= 3.0);
    if let Some((low, high)) = range {
        canvas.whisker(x + pixels(low), x + pixels(high), middle, pitch.bar * 0.28);
        end = end.max(x + pixels(high) + 1.0);
    }
    let kind = if row.strong {
        pitch.strong
    } else {
        pitch.label
    };
    canvas.text((end + 7.0, baseline), &row.shown, kind, Anchor::Start);
}
