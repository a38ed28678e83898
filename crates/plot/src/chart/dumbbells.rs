//! Ratios on one logarithmic scale: two dots a row, joined, and both values in columns beside them.

use super::{Chart, Drawn, HEAD, LABEL, Layout, MIDDLE, SMALL, SMALL_HEAD};
use crate::palette::Ink;
use crate::svg::{Anchor, Canvas};

/// Rows by section.
#[derive(Debug, Clone, PartialEq)]
pub struct Dumbbells {
    /// Sections in order.
    pub sections: Vec<Section>,
    /// Names of the hollow and of the solid dots.
    pub heads: [String; 2],
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its label.
    pub title: String,
    /// Its rows.
    pub rows: Vec<Pair>,
}

/// Two ratios of one implementation.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Name.
    pub label: String,
    /// Hue.
    pub ink: Ink,
    /// Value and text of the hollow and of the solid dot.
    pub values: [(f64, String); 2],
}

/// The ring is wider than the dot, so that both are seen where they meet.
pub const RING: f64 = 7.5;
/// See [`RING`].
pub const DOT: f64 = 4.0;
const ROW: f64 = 28.0;
/// Least distance between ticks.
const TICK_ROOM: f64 = 36.0;

/// Logarithmic scale between two pixels.
struct Scale {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.left + part * (self.right - self.left)
    }

    /// Ticks at 1, 2 and 5 of each decade, or at whole decades, or at 1 alone, as there is room.
    fn ticks(&self) -> Vec<f64> {
        let of = |steps: &[f64]| -> Vec<f64> {
            let all = (-9..=9).flat_map(|d| steps.iter().map(move |s| s * 10_f64.powi(d)));
            all.filter(|v| (self.low * 0.999..=self.high * 1.001).contains(v))
                .collect()
        };
        let fits = |ticks: &Vec<f64>| {
            ticks
                .windows(2)
                .all(|pair| self.x(pair[1]) - self.x(pair[0]) >= TICK_ROOM)
        };
        [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]]
            .into_iter()
            .map(of)
            .find(fits)
            .unwrap_or_else(|| vec![1.0])
    }
}

/// A tick's number without noise from powers of ten.
fn tick(value: f64) -> String {
    let digits = (-value.log10()).ceil().max(0.0) as usize;
    format!("{value:.digits$}×")
}

/// Horizontal places.
struct Columns {
    left: f64,
    label: f64,
    label_width: f64,
    right: f64,
    /// Right edges of the two columns of values.
    values: [f64; 2],
    value_width: f64,
}

impl Dumbbells {
    fn columns(&self, canvas: &Canvas<'_>, layout: Layout) -> (Columns, Scale) {
        let fonts = canvas.fonts;
        let (left, right) = (layout.margin(), layout.margin() + layout.inner());
        let pairs = self.sections.iter().flat_map(|s| &s.rows);
        let widths = pairs.map(|p| fonts.width(&p.label, LABEL.weight, LABEL.size));
        let label_width = widths.fold(0.0, f64::max).min(120.0);
        // On a phone a section's title has its own line.
        let (title, value_width) = match layout {
            Layout::Desktop => (210.0, 110.0),
            Layout::Phone => (0.0, 70.0),
        };
        let low = right - 2.0 * value_width - 8.0;
        let label = left + title;
        let values = || {
            let pairs = self.sections.iter().flat_map(|s| &s.rows);
            pairs.flat_map(|pair| pair.values.iter().map(|(value, _)| *value))
        };
        let scale = Scale {
            // 1 is always there, and never at the edge.
            low: values().fold(0.8, f64::min),
            high: values().fold(1.25, f64::max),
            left: label + label_width + 18.0 + RING,
            right: low - RING,
        };
        let columns = Columns {
            left,
            label,
            label_width,
            right,
            values: [right - value_width, right],
            value_width,
        };
        (columns, scale)
    }

    fn heads(&self, canvas: &mut Canvas<'_>, columns: &Columns, scale: &Scale, top: f64) {
        let one = scale.x(1.0);
        canvas.text((one - 8.0, top + 12.0), "shorter ←", SMALL, Anchor::End);
        canvas.text((one + 8.0, top + 12.0), "→ longer", SMALL, Anchor::Start);
        for tick_at in scale.ticks() {
            let at = (scale.x(tick_at), top + 36.0);
            canvas.text(at, &tick(tick_at), SMALL, Anchor::Middle);
        }
        for (i, (head, x)) in self.heads.iter().zip(columns.values).enumerate() {
            let room = columns.value_width - 4.0;
            let head = canvas
                .fonts
                .fit(head, SMALL_HEAD.weight, SMALL_HEAD.size, room);
            canvas.text((x, top + 36.0), &head, SMALL_HEAD, Anchor::End);
            dot(canvas, (x - RING, top + 12.0), Ink::Muted, i == 0);
        }
    }
}

impl Chart for Dumbbells {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let (columns, scale) = self.columns(canvas, layout);
        self.heads(canvas, &columns, &scale, top);
        let start = top + 48.0;
        let heading = if layout == Layout::Phone { 28.0 } else { 0.0 };
        let mut y = start;
        for section in &self.sections {
            canvas.line((columns.left, y), (columns.right, y), 1.0, Ink::Rule);
            let mut row_top = y + 9.0;
            let middle = row_top + ROW / 2.0 + HEAD.size * MIDDLE;
            canvas.text((columns.left, middle), &section.title, HEAD, Anchor::Start);
            row_top += heading;
            let bottom = row_top + section.rows.len() as f64 * ROW;
            for value in scale.ticks() {
                let x = scale.x(value);
                let (ink, width) = if value == 1.0 {
                    (Ink::Axis, 1.5)
                } else {
                    (Ink::Rule, 1.0)
                };
                canvas.line((x, row_top), (x, bottom), width, ink);
            }
            for (i, pair) in section.rows.iter().enumerate() {
                let middle = row_top + (i as f64 + 0.5) * ROW;
                draw_pair(canvas, pair, &columns, &scale, middle);
            }
            y = bottom + 9.0;
        }
        canvas.line((columns.left, y), (columns.right, y), 1.0, Ink::Rule);
        Drawn {
            bottom: y,
            free: None,
        }
    }
}

fn draw_pair(canvas: &mut Canvas<'_>, pair: &Pair, columns: &Columns, scale: &Scale, middle: f64) {
    let baseline = middle + LABEL.size * MIDDLE;
    let room = columns.label_width + 1.0;
    let name = canvas
        .fonts
        .fit(&pair.label, LABEL.weight, LABEL.size, room);
    canvas.text((columns.label, baseline), &name, LABEL, Anchor::Start);
    let [hollow, solid] = [0, 1].map(|i| scale.x(pair.values[i].0));
    canvas.line((hollow, middle), (solid, middle), 2.0, pair.ink);
    dot(canvas, (hollow, middle), pair.ink, true);
    dot(canvas, (solid, middle), pair.ink, false);
    for ((_, text), x) in pair.values.iter().zip(columns.values) {
        canvas.text((x, baseline), text, LABEL, Anchor::End);
    }
}

fn dot(canvas: &mut Canvas<'_>, at: (f64, f64), ink: Ink, hollow: bool) {
    canvas.dot(at, if hollow { RING } else { DOT }, ink, hollow);
}
