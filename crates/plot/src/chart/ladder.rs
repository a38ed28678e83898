//! Steps with bars: one step a kernel, its name and what changed beside its bars; sections have their own
//! scale, from zero.

use super::frame::paragraph;
use super::{Chart, Drawn, LABEL, Layout, MIDDLE, SMALL, STRONG, heading};
use crate::palette::{Ink, Swatch};
use crate::svg::{Anchor, Canvas, Type};

/// Steps by section.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// Sections in order.
    pub sections: Vec<Section>,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Its label.
    pub title: String,
    /// Its dims.
    pub note: String,
    /// Its kernels, from the first on.
    pub steps: Vec<Step>,
}

/// One kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name.
    pub label: String,
    /// Whether it stands out.
    pub strong: bool,
    /// What is to be said of it.
    pub detail: String,
    /// Its values.
    pub bars: Vec<Bar>,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What it is drawn with.
    pub swatch: Swatch,
    /// Its length; none where nothing was measured.
    pub value: Option<f64>,
    /// Interval, where there is one.
    pub range: Option<(f64, f64)>,
    /// The value as text.
    pub shown: String,
}

const BAR: f64 = 14.0;
const PITCH: f64 = 21.0;
const LINE: f64 = 1.35;
const STEP_GAP: f64 = 13.0;

impl Bar {
    fn extent(&self) -> f64 {
        self.value
            .unwrap_or(0.0)
            .max(self.range.map_or(0.0, |(_, high)| high))
    }
}

impl Section {
    fn extent(&self) -> f64 {
        let bars = self.steps.iter().flat_map(|step| &step.bars);
        bars.map(Bar::extent).fold(0.0, f64::max)
    }
}

impl Chart for Ladder {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let (left, right) = (layout.margin(), layout.margin() + layout.inner());
        let fonts = canvas.fonts;
        let all = || self.sections.iter().flat_map(|s| &s.steps);
        let text = match layout {
            Layout::Desktop if all().any(|step| !step.detail.is_empty()) => 430.0,
            Layout::Desktop => {
                let name = |step: &Step| fonts.width(&step.label, STRONG.weight, STRONG.size);
                all().map(name).fold(0.0, f64::max).clamp(120.0, 430.0) + 1.0
            }
            Layout::Phone => layout.inner(),
        };
        let bars = match layout {
            Layout::Desktop => left + text + 30.0,
            Layout::Phone => left,
        };
        let values = all().flat_map(|step| &step.bars);
        let widest = values
            .map(|bar| fonts.width(&bar.shown, LABEL.weight, LABEL.size))
            .fold(0.0, f64::max);
        let length = (right - bars - widest - 9.0).max(40.0);
        let mut y = top;
        for section in &self.sections {
            y += heading(canvas, layout, y, &section.title, &section.note) + 4.0;
            for step in &section.steps {
                let foot = words(canvas, step, (left, y), text);
                let (mut bar_top, above) = match layout {
                    Layout::Desktop => (y, 0.0),
                    Layout::Phone => (foot + 3.0, 3.0),
                };
                let start = bar_top;
                for bar in &step.bars {
                    let middle = bar_top + PITCH / 2.0;
                    draw_bar(canvas, bar, (bars, middle), length, section.extent());
                    bar_top += PITCH;
                }
                canvas.line((bars, start + 1.0), (bars, bar_top - 1.0), 1.0, Ink::Axis);
                y = foot.max(bar_top) + above + STEP_GAP;
            }
            y += 8.0;
        }
        Drawn {
            bottom: y - STEP_GAP - 8.0,
            free: None,
        }
    }
}

/// Name and detail; returns their lower edge.
fn words(canvas: &mut Canvas<'_>, step: &Step, at: (f64, f64), width: f64) -> f64 {
    let kind = if step.strong { STRONG } else { LABEL };
    let name = canvas.fonts.fit(&step.label, kind.weight, kind.size, width);
    let baseline = at.1 + PITCH / 2.0 + kind.size * MIDDLE;
    canvas.text((at.0, baseline), &name, kind, Anchor::Start);
    let below = at.1 + PITCH + 1.0;
    match step.detail.is_empty() {
        true => below - 1.0,
        false => paragraph(canvas, (at.0, below), width, &step.detail, SMALL, LINE),
    }
}

fn draw_bar(canvas: &mut Canvas<'_>, bar: &Bar, at: (f64, f64), length: f64, scale: f64) {
    let (x, middle) = at;
    let baseline = middle + LABEL.size * MIDDLE;
    let Some(value) = bar.value else {
        let kind = Type::regular(LABEL.size, Ink::Muted);
        canvas.text((x + 8.0, baseline), &bar.shown, kind, Anchor::Start);
        return;
    };
    let pixels = |v: f64| if scale > 0.0 { v / scale * length } else { 0.0 };
    let width = pixels(value).max(if value > 0.0 { 1.5 } else { 0.0 });
    if width > 0.0 {
        canvas.bar(x, middle - BAR / 2.0, width, BAR, bar.swatch);
    }
    let mut end = x + width;
    if let Some((low, high)) = bar.range.filter(|(_, high)| pixels(*high) >= 3.0) {
        canvas.whisker(x + pixels(low), x + pixels(high), middle, BAR * 0.28);
        end = end.max(x + pixels(high) + 1.0);
    }
    canvas.text((end + 7.0, baseline), &bar.shown, LABEL, Anchor::Start);
}
