//! Every sample in measured order, as a multiple of its case's median: one cell a case, one scale for all.

use super::{Chart, Drawn, LABEL, Layout, MIDDLE, SMALL, heading};
use crate::number;
use crate::palette::Ink;
use crate::svg::{Anchor, Canvas};

/// Cells by operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// Operations in order.
    pub sections: Vec<Section>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its label.
    pub title: String,
    /// Its dims.
    pub note: String,
    /// One cell an implementation.
    pub cells: Vec<Cell>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Implementation.
    pub label: String,
    /// Its median as text.
    pub shown: String,
    /// Hue.
    pub ink: Ink,
    /// Each round's samples over the median of all.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Samples in measured order.
    pub samples: Vec<f64>,
    /// Their median.
    pub median: f64,
}

/// Lowest and highest multiple that is drawn in its place; what lies beyond stands at the edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// Lowest.
    pub low: f64,
    /// Highest.
    pub high: f64,
}

/// Most cells side by side, so that the longest names of implementations fit.
const ACROSS: usize = 4;
const CELL: f64 = 72.0;
const HEADING: f64 = 28.0;
const GAP: f64 = 28.0;
/// For the numbers of the scale.
const AXIS: f64 = 46.0;
const ROUND_GAP: f64 = 8.0;
const DOT: f64 = 2.2;

impl Scale {
    /// Whether a sample has its place on the scale.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Round numbers on the scale, 1 among them.
    fn ticks(&self) -> Vec<f64> {
        let step = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0]
            .into_iter()
            .find(|step| (self.high - self.low) / step <= 4.0)
            .unwrap_or(10.0);
        let first = ((self.low - 1.0) / step).ceil() as i64;
        let last = ((self.high - 1.0) / step).floor() as i64;
        (first..=last).map(|i| 1.0 + i as f64 * step).collect()
    }
}

impl Runs {
    /// From the lowest sample, but no lower than half, to where 95 % of each case lie, but no higher than 3.
    pub fn scale(&self) -> Scale {
        let cells = self.sections.iter().flat_map(|s| &s.cells);
        let (mut low, mut high) = (0.9_f64, 1.2_f64);
        for cell in cells {
            let mut all: Vec<f64> = cell.rounds.iter().flat_map(|r| r.samples.clone()).collect();
            all.sort_by(f64::total_cmp);
            let at = |part: f64| all.get(((all.len().max(1) - 1) as f64 * part).round() as usize);
            low = low.min(at(0.0).copied().unwrap_or(1.0));
            high = high.max(at(0.95).copied().unwrap_or(1.0));
        }
        Scale {
            low: low.max(0.5),
            high: high.min(3.0),
        }
    }

    /// Number of samples beyond the scale.
    pub fn beyond(&self) -> usize {
        let scale = self.scale();
        let cells = self.sections.iter().flat_map(|s| &s.cells);
        cells
            .flat_map(|cell| &cell.rounds)
            .flat_map(|round| &round.samples)
            .filter(|value| !scale.holds(**value))
            .count()
    }

    fn across(&self, layout: Layout) -> usize {
        let most = self.sections.iter().map(|s| s.cells.len()).max();
        let most = most.unwrap_or(0).max(1);
        match layout {
            Layout::Phone => 1,
            // Lines of about the same length: six stand in two lines of three.
            Layout::Desktop => most.div_ceil(most.div_ceil(ACROSS)).max(2),
        }
    }
}

impl Chart for Runs {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let scale = self.scale();
        let across = self.across(layout);
        let left = layout.margin() + AXIS;
        let inner = layout.inner() - AXIS;
        let width = (inner - GAP * (across - 1) as f64) / across as f64;
        let mut y = top;
        for section in &self.sections {
            let from = layout.margin();
            y += heading(canvas, layout, y, &section.title, &section.note);
            for line in section.cells.chunks(across) {
                // No lines where a line of cells ends early.
                let cells = line.len() as f64;
                let end = AXIS + cells * width + (cells - 1.0) * GAP;
                axis(canvas, scale, (from, y + HEADING), end);
                for (i, cell) in line.iter().enumerate() {
                    let x = left + i as f64 * (width + GAP);
                    draw_cell(canvas, cell, scale, (x, y), width);
                }
                y += HEADING + CELL + 14.0;
            }
            y += 12.0;
        }
        Drawn {
            bottom: y - 26.0,
            free: None,
        }
    }
}

/// Height of a multiple, where `top` is the highest.
fn place(scale: Scale, top: f64, value: f64) -> f64 {
    let part = (scale.high - value) / (scale.high - scale.low);
    top + part.clamp(0.0, 1.0) * CELL
}

/// Lines through all cells of a row, and their numbers.
fn axis(canvas: &mut Canvas<'_>, scale: Scale, at: (f64, f64), width: f64) {
    for tick in scale.ticks() {
        let y = place(scale, at.1, tick);
        let (ink, stroke) = match tick == 1.0 {
            true => (Ink::Axis, 1.0),
            false => (Ink::Rule, 1.0),
        };
        canvas.line((at.0 + AXIS - 4.0, y), (at.0 + width, y), stroke, ink);
        let text = number::multiple(tick);
        let baseline = y + SMALL.size * MIDDLE;
        canvas.text((at.0 + AXIS - 10.0, baseline), &text, SMALL, Anchor::End);
    }
}

fn draw_cell(canvas: &mut Canvas<'_>, cell: &Cell, scale: Scale, at: (f64, f64), width: f64) {
    let (x, y) = at;
    let shown = canvas.text((x + width, y + 16.0), &cell.shown, SMALL, Anchor::End);
    let room = (width - shown - 10.0).max(20.0);
    let label = canvas
        .fonts
        .fit(&cell.label, LABEL.weight, LABEL.size, room);
    canvas.text((x, y + 16.0), &label, LABEL, Anchor::Start);
    let top = y + HEADING;
    let rounds = cell.rounds.len().max(1) as f64;
    let gap = ROUND_GAP.min(width / rounds * 0.25);
    let each = (width - gap * (rounds - 1.0)) / rounds;
    let (mut inside, mut above, mut below) = (Vec::new(), Vec::new(), Vec::new());
    for (r, round) in cell.rounds.iter().enumerate() {
        let start = x + r as f64 * (each + gap);
        let step = (each - DOT).max(0.0) / (round.samples.len().max(2) - 1) as f64;
        for (i, &value) in round.samples.iter().enumerate() {
            let point = (
                start + DOT / 2.0 + i as f64 * step,
                place(scale, top, value),
            );
            match value {
                v if v > scale.high => above.push(point),
                v if v < scale.low => below.push(point),
                _ => inside.push(point),
            }
        }
    }
    for (r, round) in cell.rounds.iter().enumerate() {
        let start = x + r as f64 * (each + gap);
        let y = place(scale, top, round.median);
        canvas.line((start, y), (start + each, y), 1.25, Ink::Text);
    }
    canvas.dots(&inside, DOT, cell.ink);
    canvas.darts(&above, -3.5, cell.ink);
    canvas.darts(&below, 3.5, cell.ink);
}
