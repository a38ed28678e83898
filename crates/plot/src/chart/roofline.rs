//! Rooflines: one panel an operation, all with the same axes, both logarithmic.

use super::names::{Around, HEIGHT, Marked, beside};
use super::{Chart, Drawn, HEAD, Layout, MIDDLE, SMALL};
use crate::font::Fonts;
use crate::number;
use crate::palette::Ink;
use crate::svg::{Anchor, Canvas, Type};

/// Panels under one roof.
#[derive(Debug, Clone, PartialEq)]
pub struct Roofline {
    /// What was measured of the device.
    pub roof: Roof,
    /// What its attributes promise, where they do.
    pub promised: Option<Roof>,
    /// Operations in order.
    pub panels: Vec<Panel>,
}

/// Limits of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Roof {
    /// DRAM bytes a second.
    pub bytes_per_s: f64,
    /// FP32 operations a second.
    pub operations_per_s: f64,
}

/// One operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Its label.
    pub title: String,
    /// Its dims.
    pub note: String,
    /// What has a place.
    pub points: Vec<Point>,
    /// What has none, and why.
    pub absent: Vec<String>,
}

/// One case.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name at the mark.
    pub label: String,
    /// Hue.
    pub ink: Ink,
    /// Whether the mark is a ring.
    pub hollow: bool,
    /// FP32 operations a DRAM byte.
    pub intensity: f64,
    /// FP32 operations a second.
    pub rate: f64,
}

impl Roof {
    /// Operations a second that are allowed at an intensity.
    fn at(self, intensity: f64) -> f64 {
        (self.bytes_per_s * intensity).min(self.operations_per_s)
    }

    /// The intensity from which on arithmetic is the limit.
    fn ridge(self) -> f64 {
        self.operations_per_s / self.bytes_per_s
    }
}

/// A logarithmic axis.
#[derive(Clone, Copy)]
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn place(&self, value: f64) -> f64 {
        let part = (value / self.low).ln() / (self.high / self.low).ln();
        self.from + part * (self.to - self.from)
    }

    /// Ends so far before its end that the last tick's text does not go beyond it.
    fn with_ticks_inside(self, fonts: &Fonts) -> Self {
        let beyond = self.ticks().into_iter().map(|tick| {
            let text = number::plain(tick);
            let half = fonts.width(&text, SMALL.weight, SMALL.size) / 2.0;
            let place = self.place(tick);
            let part = (place - self.from) / (self.to - self.from);
            (place + half - self.to).max(0.0) / part
        });
        Self {
            to: self.to - beyond.fold(0.0, f64::max),
            ..self
        }
    }

    /// Whole decades, or every second or third where there are many.
    fn ticks(&self) -> Vec<f64> {
        let (first, last) = (self.low.log10().ceil(), self.high.log10().floor());
        let step = ((last - first) / 4.0).ceil().max(1.0) as usize;
        (first as i32..=last as i32)
            .step_by(step)
            .map(|decade| 10_f64.powi(decade))
            .collect()
    }
}

const PLOT: f64 = 216.0;
const TOP: f64 = 58.0;
const LEFT: f64 = 44.0;
const FOOT: f64 = 44.0;
const GAP: f64 = 40.0;
const RADIUS: f64 = 5.0;
const NAME: Type = Type::regular(13.0, Ink::Text);
/// Operations a second of the unit that is shown.
const TERA: f64 = 1e12;

impl Roofline {
    /// Low and high end of both axes, intensity and rate: every point and the ridge with some air.
    fn ranges(&self) -> [(f64, f64); 2] {
        let points = || self.panels.iter().flat_map(|p| &p.points);
        let ridge = self.roof.ridge();
        let low = |f: &dyn Fn(&Point) -> f64, most: f64| points().map(f).fold(most, f64::min);
        let high = |f: &dyn Fn(&Point) -> f64, least: f64| points().map(f).fold(least, f64::max);
        let intensity = |p: &Point| p.intensity;
        let rate = |p: &Point| p.rate;
        let top = self.promised.map_or(0.0, |r| r.operations_per_s);
        let peak = self.roof.operations_per_s.max(top);
        [
            (
                low(&intensity, ridge / 30.0) / 2.0,
                high(&intensity, ridge * 8.0) * 2.0,
            ),
            (low(&rate, peak / 300.0) / 2.0, high(&rate, peak) * 1.8),
        ]
    }

    fn plot_height(&self) -> f64 {
        let most = self.panels.iter().map(|p| p.points.len()).max();
        PLOT.max(most.unwrap_or(0) as f64 * HEIGHT + 24.0)
    }
}

impl Chart for Roofline {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let across = match (layout, self.panels.len()) {
            (Layout::Phone, _) => 1,
            (Layout::Desktop, 1) => 2,
            (Layout::Desktop, _) => 3,
        };
        let width = (layout.inner() - GAP * (across - 1) as f64) / across as f64;
        let plot = self.plot_height();
        let mut y = top;
        let mut free = None;
        for line in self.panels.chunks(across) {
            let column = |i: usize| layout.margin() + i as f64 * (width + GAP);
            let mut lowest = y;
            for (i, panel) in line.iter().enumerate() {
                let bottom = self.panel(canvas, panel, (column(i), y), width, plot);
                lowest = lowest.max(bottom);
            }
            free = (line.len() < across).then(|| super::Area {
                x: column(line.len()),
                y: y + 10.0,
                width: (layout.inner() + layout.margin() - column(line.len())).min(360.0),
            });
            y = lowest + 30.0;
        }
        Drawn {
            bottom: y - 30.0,
            free,
        }
    }
}

impl Roofline {
    fn panel(
        &self,
        canvas: &mut Canvas<'_>,
        panel: &Panel,
        at: (f64, f64),
        width: f64,
        plot: f64,
    ) -> f64 {
        let (x, y) = at;
        canvas.line((x, y), (x + width, y), 1.0, Ink::Rule);
        let fonts = canvas.fonts;
        let title = fonts.fit(&panel.title, HEAD.weight, HEAD.size, width);
        canvas.text((x, y + 24.0), &title, HEAD, Anchor::Start);
        let note = fonts.fit(&panel.note, SMALL.weight, SMALL.size, width);
        canvas.text((x, y + 44.0), &note, SMALL, Anchor::Start);
        let [(x_low, x_high), (y_low, y_high)] = self.ranges();
        let across = Axis {
            low: x_low,
            high: x_high,
            from: x + LEFT,
            to: x + width,
        }
        .with_ticks_inside(fonts);
        let up = Axis {
            low: y_low,
            high: y_high,
            from: y + TOP + plot,
            to: y + TOP,
        };
        axes(canvas, across, up);
        if let Some(promised) = self.promised {
            roof(canvas, promised, (across, up), 1.0, Ink::Axis);
        }
        roof(canvas, self.roof, (across, up), 2.0, Ink::Text);
        points(canvas, &panel.points, (across, up), self.roof);
        let mut bottom = y + TOP + plot + FOOT;
        for absent in &panel.absent {
            for line in fonts.wrap(absent, SMALL.weight, SMALL.size, width) {
                canvas.text((x, bottom + 4.0), &line, SMALL, Anchor::Start);
                bottom += 18.0;
            }
        }
        bottom
    }
}

fn axes(canvas: &mut Canvas<'_>, across: Axis, up: Axis) {
    for tick in across.ticks() {
        let x = across.place(tick);
        canvas.line((x, up.from), (x, up.to), 1.0, Ink::Rule);
        let text = number::plain(tick);
        canvas.text((x, up.from + 17.0), &text, SMALL, Anchor::Middle);
    }
    let tera = Axis {
        low: up.low / TERA,
        high: up.high / TERA,
        ..up
    };
    for tick in tera.ticks() {
        let y = tera.place(tick);
        canvas.line((across.from, y), (across.to, y), 1.0, Ink::Rule);
        let baseline = y + SMALL.size * MIDDLE;
        let text = number::plain(tick);
        canvas.text((across.from - 7.0, baseline), &text, SMALL, Anchor::End);
    }
    let middle = (across.from + across.to) / 2.0;
    let text = "operations a DRAM byte";
    canvas.text((middle, up.from + 35.0), text, SMALL, Anchor::Middle);
}

fn roof(canvas: &mut Canvas<'_>, roof: Roof, axes: (Axis, Axis), width: f64, ink: Ink) {
    let (across, up) = axes;
    // Where the slope enters the panel.
    let start = across.low.max(up.low / roof.bytes_per_s);
    let at = |intensity: f64| (across.place(intensity), up.place(roof.at(intensity)));
    let ridge = roof.ridge().clamp(start, across.high);
    canvas.line(at(start), at(ridge), width, ink);
    canvas.line(at(ridge), at(across.high), width, ink);
}

/// Marks, each with its name beside it.
fn points(canvas: &mut Canvas<'_>, points: &[Point], axes: (Axis, Axis), roof: Roof) {
    let (across, up) = axes;
    let at = |p: &Point| (across.place(p.intensity), up.place(p.rate));
    let marks: Vec<Marked<'_>> = points
        .iter()
        .map(|p| Marked {
            at: at(p),
            name: &p.label,
        })
        .collect();
    let steps = 80;
    let line = (0..=steps).map(|i| {
        let part = f64::from(i) / f64::from(steps);
        let intensity = across.low * (across.high / across.low).powf(part);
        (across.place(intensity), up.place(roof.at(intensity)))
    });
    let lines: Vec<(f64, f64)> = line.collect();
    let around = Around {
        area: super::Area {
            x: across.from,
            y: up.to,
            width: across.to - across.from,
        },
        bottom: up.from,
        radius: RADIUS,
        lines: &lines,
    };
    let names = beside(canvas.fonts, NAME, &marks, &around);
    for (point, name) in points.iter().zip(&names) {
        canvas.line(at(point), name.near, 1.0, point.ink);
    }
    for name in &names {
        let (x, y) = (name.left - 2.0, name.middle - 8.0);
        canvas.rect(x, y, name.width + 4.0, 16.0, Ink::Paper);
    }
    for (point, name) in points.iter().zip(&names) {
        let baseline = name.middle + NAME.size * MIDDLE;
        canvas.text((name.left, baseline), &name.text, NAME, Anchor::Start);
        canvas.dot(at(point), RADIUS, point.ink, point.hollow);
    }
}
