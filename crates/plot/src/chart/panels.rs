//! Small multiples: one panel an operation, each with a zero line and its own scale.

use super::{
    Area, Chart, Drawn, HEAD, Layout, MIDDLE, Panel, Pitch, SMALL, SMALL_HEAD, absent, draw_row,
    pitch,
};
use crate::palette::Ink;
use crate::svg::{Anchor, Canvas, Type};

/// Panels in a grid, or one below the other on a phone.
#[derive(Debug, Clone, PartialEq)]
pub struct Panels {
    /// The panels in order.
    pub panels: Vec<Panel>,
    /// Each value is a number of blocks, of one size in all panels.
    pub blocks: bool,
}

/// From a panel's rule to its first row.
const TOP: f64 = 60.0;
const HEADING: f64 = 24.0;
const GAP: f64 = 44.0;
const ROW_GAP: f64 = 40.0;

/// Widths that all panels share, so that their zero lines stand in line.
#[derive(Clone, Copy)]
struct Columns {
    label: f64,
    bar: f64,
}

impl Panels {
    fn columns(&self, canvas: &Canvas<'_>, width: f64, pitch: Pitch) -> Columns {
        let fonts = canvas.fonts;
        let rows = || self.panels.iter().flat_map(Panel::rows);
        let widest = |f: &dyn Fn(&super::Row) -> f64| rows().map(f).fold(0.0, f64::max);
        let label = widest(&|row| fonts.width(&row.label, pitch.label.weight, pitch.label.size));
        let value = widest(&|row| {
            let kind = if row.strong {
                pitch.strong
            } else {
                pitch.label
            };
            fonts.width(&row.shown, kind.weight, kind.size)
        });
        let label = label.min(width * 0.45) + 10.0;
        Columns {
            label,
            bar: (width - label - value - 8.0).max(24.0),
        }
    }

    fn height(panel: &Panel, pitch: Pitch) -> f64 {
        let groups = panel.groups.iter().map(|group| {
            let heading = if group.heading.is_some() {
                HEADING
            } else {
                0.0
            };
            heading + group.rows.len() as f64 * pitch.row
        });
        TOP + groups.sum::<f64>() + 8.0 * (panel.groups.len().max(1) - 1) as f64
    }

    fn panel(
        &self,
        canvas: &mut Canvas<'_>,
        panel: &Panel,
        at: (f64, f64),
        width: f64,
        columns: Columns,
        pitch: Pitch,
    ) {
        let (x, y) = at;
        canvas.line((x, y), (x + width, y), 1.0, Ink::Rule);
        let mut room = width;
        if let Some((tag, strong)) = &panel.tag {
            let kind = match strong {
                true => HEAD,
                false => Type::regular(HEAD.size, Ink::Muted),
            };
            room -= canvas.text((x + width, y + 24.0), tag, kind, Anchor::End) + 12.0;
        }
        let title = canvas.fonts.fit(&panel.title, HEAD.weight, HEAD.size, room);
        canvas.text((x, y + 24.0), &title, HEAD, Anchor::Start);
        let note = canvas
            .fonts
            .fit(&panel.note, SMALL.weight, SMALL.size, width);
        canvas.text((x, y + 44.0), &note, SMALL, Anchor::Start);

        let extent = panel.extent();
        let zero = x + columns.label;
        let mut top = y + TOP;
        for (i, group) in panel.groups.iter().enumerate() {
            if i > 0 {
                top += 8.0;
            }
            if let Some(heading) = &group.heading {
                canvas.text((x, top + 15.0), heading, SMALL_HEAD, Anchor::Start);
                top += HEADING;
            }
            for (i, row) in group.rows.iter().enumerate() {
                let middle = top + (i as f64 + 0.5) * pitch.row;
                let label = canvas.fonts.fit(
                    &row.label,
                    pitch.label.weight,
                    pitch.label.size,
                    columns.label - 9.0,
                );
                let baseline = middle + pitch.label.size * MIDDLE;
                canvas.text((x, baseline), &label, pitch.label, Anchor::Start);
                if self.blocks {
                    self.row_of_blocks(canvas, row, (zero, middle), columns.bar, pitch);
                } else {
                    draw_row(canvas, row, (zero, middle), columns.bar, extent, pitch);
                }
            }
            let bottom = top + group.rows.len() as f64 * pitch.row;
            canvas.line((zero, top + 1.0), (zero, bottom - 1.0), 1.0, Ink::Axis);
            top = bottom;
        }
    }

    fn row_of_blocks(
        &self,
        canvas: &mut Canvas<'_>,
        row: &super::Row,
        at: (f64, f64),
        length: f64,
        pitch: Pitch,
    ) {
        let most = self.panels.iter().map(Panel::extent).fold(1.0, f64::max);
        let step = (length / most).min(pitch.bar * 1.6);
        let count = row.value.unwrap_or(0.0);
        let mut x = at.0;
        for _ in 0..count.round() as u64 {
            canvas.bar(
                x + 1.0,
                at.1 - pitch.bar / 2.0,
                step - 2.0,
                pitch.bar,
                row.swatch,
            );
            x += step;
        }
        let baseline = at.1 + pitch.label.size * MIDDLE;
        let kind = match row.value {
            Some(_) => pitch.label,
            None => absent(pitch),
        };
        canvas.text((x + 7.0, baseline), &row.shown, kind, Anchor::Start);
    }
}

impl Chart for Panels {
    fn draw(&self, canvas: &mut Canvas<'_>, layout: Layout, top: f64) -> Drawn {
        let across = match (layout, self.panels.len()) {
            (Layout::Phone, _) => 1,
            (Layout::Desktop, 1) => 2,
            (Layout::Desktop, _) => 3,
        };
        let rows = self.panels.iter().map(|p| p.rows().count()).max();
        let pitch = pitch(rows.unwrap_or(0));
        let width = (layout.inner() - GAP * (across - 1) as f64) / across as f64;
        let columns = self.columns(canvas, width, pitch);
        let column = |i: usize| layout.margin() + (i % across) as f64 * (width + GAP);
        let mut y = top;
        let mut free = None;
        for line in self.panels.chunks(across) {
            for (i, panel) in line.iter().enumerate() {
                self.panel(canvas, panel, (column(i), y), width, columns, pitch);
            }
            free = (line.len() < across).then(|| Area {
                x: column(line.len()),
                y: y + 10.0,
                width: layout.inner() + layout.margin() - column(line.len()),
            });
            let heights = line.iter().map(|panel| Self::height(panel, pitch));
            y += heights.fold(0.0, f64::max) + ROW_GAP;
        }
        if let Some(area) = &mut free {
            area.width = area.width.min(width.max(360.0));
        }
        Drawn {
            bottom: y - ROW_GAP,
            free,
        }
    }
}
