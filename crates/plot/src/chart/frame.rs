//! Title above, notes beside or below, source at the foot.

use super::dumbbells::{DOT, RING};
use super::{Area, Chart, Layout, MIDDLE, Mark, Note, SMALL};
use crate::font::Fonts;
use crate::palette::{Ink, Swatch, Texture, Theme};
use crate::svg::{Anchor, Canvas, Svg, Type};

const NOTE: Type = Type::regular(14.0, Ink::Muted);
const MARK_WIDTH: f64 = 34.0;

/// What stands around a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The figure's name; its initials are the prefix of ids.
    pub name: &'static str,
    /// Title.
    pub title: String,
    /// The line below it.
    pub subtitle: String,
    /// How to read it.
    pub notes: Vec<Note>,
    /// Where the numbers come from.
    pub source: String,
    /// Text alternative.
    pub alternative: String,
}

impl Frame {
    /// The whole figure as SVG.
    pub fn draw(&self, fonts: &Fonts, chart: &dyn Chart, layout: Layout, theme: Theme) -> Svg {
        // Short, because it stands before every glyph.
        let initials = self.name.split('-').filter_map(|word| word.chars().next());
        let initials: String = initials.collect();
        let prefix = match layout {
            Layout::Desktop => initials,
            Layout::Phone => format!("{initials}-p"),
        };
        let mut canvas = Canvas::new(fonts, layout.width(), theme, prefix);
        let x = layout.margin();
        let mut y = layout.margin() - 6.0;
        y = paragraph(
            &mut canvas,
            (x, y),
            layout.inner(),
            &self.title,
            layout.title(),
            1.2,
        );
        y += 6.0;
        let wide = layout.inner().min(860.0);
        y = paragraph(
            &mut canvas,
            (x, y),
            wide,
            &self.subtitle,
            layout.subtitle(),
            1.4,
        );
        let drawn = chart.draw(&mut canvas, layout, y + 24.0);
        let mut bottom = drawn.bottom;
        match drawn.free {
            Some(area) => bottom = bottom.max(self.notes(&mut canvas, area)),
            None => {
                let area = Area {
                    x,
                    y: bottom + 24.0,
                    width: layout.inner().min(760.0),
                };
                bottom = self.notes(&mut canvas, area);
            }
        }
        bottom += 26.0;
        canvas.line((x, bottom), (x + layout.inner(), bottom), 1.0, Ink::Rule);
        bottom = paragraph(
            &mut canvas,
            (x, bottom + 8.0),
            layout.inner(),
            &self.source,
            SMALL,
            1.4,
        );
        canvas.finish(bottom + 20.0, &self.title, &self.alternative)
    }

    fn notes(&self, canvas: &mut Canvas<'_>, area: Area) -> f64 {
        let marked = self.notes.iter().any(|note| note.mark != Mark::None);
        let indent = if marked { MARK_WIDTH } else { 0.0 };
        let mut y = area.y;
        for (i, note) in self.notes.iter().enumerate() {
            if i > 0 {
                y += 7.0;
            }
            let middle = y + NOTE.size * 0.7;
            mark(canvas, note.mark, area.x, middle);
            // Notes without a sign use the whole width.
            let shift = if note.mark == Mark::None { 0.0 } else { indent };
            let at = (area.x + shift, y);
            y = paragraph(canvas, at, area.width - shift, &note.text, NOTE, 1.4);
        }
        y
    }
}

fn mark(canvas: &mut Canvas<'_>, mark: Mark, x: f64, y: f64) {
    let grey = Swatch {
        hue: 7,
        texture: Texture::Solid,
    };
    match mark {
        Mark::None => {}
        Mark::Whisker => {
            canvas.bar(x, y - 6.0, 16.0, 12.0, grey);
            canvas.whisker(x + 9.0, x + 23.0, y, 4.0);
        }
        Mark::Bar(swatch) => canvas.bar(x, y - 6.0, 24.0, 12.0, swatch),
        Mark::Line => canvas.line((x, y), (x + 24.0, y), 2.0, Ink::Text),
        Mark::Dart => canvas.darts(&[(x + 12.0, y + 3.0)], -5.0, Ink::Muted),
        Mark::Dot(hollow) => {
            let radius = if hollow { RING } else { DOT };
            canvas.dot((x + 12.0, y), radius, Ink::Muted, hollow);
        }
    }
}

/// Sets wrapped lines from the top edge `at` down; returns the lower edge.
pub fn paragraph(
    canvas: &mut Canvas<'_>,
    at: (f64, f64),
    width: f64,
    text: &str,
    kind: Type,
    leading: f64,
) -> f64 {
    let pitch = kind.size * leading;
    let mut y = at.1;
    for line in canvas.fonts.wrap(text, kind.weight, kind.size, width) {
        let baseline = y + pitch / 2.0 + kind.size * MIDDLE;
        canvas.text((at.0, baseline), &line, kind, Anchor::Start);
        y += pitch;
    }
    y
}
