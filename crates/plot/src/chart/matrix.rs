//! Operations side by side, groups of rows one below the other: within a column, lengths compare.

use super::panels::Panels;
use super::{Chart, Drawn, Group, Layout, MIDDLE, Panel, SMALL, STRONG, draw_row, pitch};
use crate::palette::Ink;
use crate::svg::{Anchor, Canvas};

/// A column an operation on a desktop; panels on a phone.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    /// One column each; all have the same groups and rows in the same order.
    pub panels: Vec<Panel>,
}

const GAP: f64 = 26.0;

impl Chart for Matrix {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let Some(first) = self.panels.first() else {
            return Drawn {
                bottom: top,
                free: None,
            };
        };
        if layout == Layout::Phone {
            let panels = self.panels.clone();
            return Panels {
                panels,
                blocks: false,
            }
            .draw(canvas, layout, top);
        }
        let fonts = canvas.fonts;
        let rows = first.groups.iter().map(|g| g.rows.len()).max();
        let pitch = pitch(rows.unwrap_or(0));
        let text = |text: &str| fonts.width(text, pitch.label.weight, pitch.label.size);
        let label = first.rows().map(|row| text(&row.label)).fold(0.0, f64::max);
        let label = label.min(150.0) + 14.0;
        let count = self.panels.len() as f64;
        let width = ((layout.inner() - label - GAP * (count - 1.0)) / count).min(320.0);
        let (left, right) = (layout.margin(), layout.margin() + layout.inner());
        let column = |i: usize| left + label + i as f64 * (width + GAP);

        let head_bottom = self.heads(canvas, &column, width, top);
        let mut y = head_bottom;
        for (g, group) in first.groups.iter().enumerate() {
            canvas.line((left, y), (right, y), 1.0, Ink::Rule);
            if let Some(heading) = &group.heading {
                canvas.text((left, y + 23.0), heading, STRONG, Anchor::Start);
                y += 38.0;
            }
            labels(canvas, group, (left, y), label, pitch);
            for (i, panel) in self.panels.iter().enumerate() {
                let Some(group) = panel.groups.get(g) else {
                    continue;
                };
                let widest = panel.rows().map(|row| text(&row.shown) * 1.05);
                let length = (width - widest.fold(0.0, f64::max) - 9.0).max(20.0);
                for (r, row) in group.rows.iter().enumerate() {
                    let middle = y + (r as f64 + 0.5) * pitch.row;
                    let at = (column(i), middle);
                    draw_row(canvas, row, at, length, panel.extent(), pitch);
                }
                let bottom = y + group.rows.len() as f64 * pitch.row;
                canvas.line(
                    (column(i), y + 1.0),
                    (column(i), bottom - 1.0),
                    1.0,
                    Ink::Axis,
                );
            }
            y += group.rows.len() as f64 * pitch.row + 18.0;
        }
        Drawn {
            bottom: y - 18.0,
            free: None,
        }
    }
}

fn labels(canvas: &mut Canvas<'_>, group: &Group, at: (f64, f64), width: f64, pitch: super::Pitch) {
    for (r, row) in group.rows.iter().enumerate() {
        let middle = at.1 + (r as f64 + 0.5) * pitch.row;
        let kind = pitch.label;
        let label = canvas
            .fonts
            .fit(&row.label, kind.weight, kind.size, width - 12.0);
        let baseline = middle + kind.size * MIDDLE;
        canvas.text((at.0, baseline), &label, kind, Anchor::Start);
    }
}

impl Matrix {
    /// Titles and dims above the columns, standing on one line; returns the lower edge.
    fn heads(
        &self,
        canvas: &mut Canvas<'_>,
        column: &dyn Fn(usize) -> f64,
        width: f64,
        top: f64,
    ) -> f64 {
        let fonts = canvas.fonts;
        let wrap =
            |text: &str, kind: crate::svg::Type| fonts.wrap(text, kind.weight, kind.size, width);
        let titles: Vec<_> = self.panels.iter().map(|p| wrap(&p.title, STRONG)).collect();
        let notes: Vec<_> = self.panels.iter().map(|p| wrap(&p.note, SMALL)).collect();
        let deepest = |lines: &[Vec<String>]| lines.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let (title_pitch, note_pitch) = (19.0, 17.0);
        let below = top + deepest(&titles) * title_pitch;
        for (i, (title, note)) in titles.iter().zip(&notes).enumerate() {
            for (l, line) in title.iter().enumerate() {
                let up = (title.len() - 1 - l) as f64 * title_pitch;
                canvas.text((column(i), below - 4.0 - up), line, STRONG, Anchor::Start);
            }
            for (l, line) in note.iter().enumerate() {
                let y = below + 14.0 + l as f64 * note_pitch;
                canvas.text((column(i), y), line, SMALL, Anchor::Start);
            }
        }
        below + deepest(&notes) * note_pitch + 12.0
    }
}
