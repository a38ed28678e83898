//! Text as glyph outlines in the font that ships with the project, so that a figure looks the same where
//! no font is installed. Latin, one line, pair kerning; nothing here shapes complex scripts.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use ttf_parser::gpos::{PairAdjustment, PositioningSubtable};
use ttf_parser::{Face, GlyphId, OutlineBuilder, Tag};

const REGULAR: &[u8] = include_bytes!("../fonts/Inter-Regular.otf");
const SEMIBOLD: &[u8] = include_bytes!("../fonts/Inter-SemiBold.otf");

/// Weight of a line of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Weight {
    /// Running text and labels.
    Regular,
    /// Titles and what stands out.
    SemiBold,
}

/// One glyph of a line, at its distance from the line's start in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Placed {
    /// Which glyph.
    pub glyph: GlyphId,
    /// Distance from the start.
    pub x: f64,
}

/// Both weights.
pub struct Fonts {
    regular: Font,
    semibold: Font,
}

struct Font {
    face: Face<'static>,
    kerning: Vec<PairAdjustment<'static>>,
    units: f64,
}

impl Font {
    fn parse(bytes: &'static [u8]) -> Result<Self> {
        let face = Face::parse(bytes, 0).context("the font in crates/plot/fonts cannot be read")?;
        let kerning = face
            .tables()
            .gpos
            .and_then(|gpos| {
                let feature = gpos.features.find(Tag::from_bytes(b"kern"))?;
                let lookup = gpos.lookups.get(feature.lookup_indices.get(0)?)?;
                let subtables = lookup.subtables.into_iter::<PositioningSubtable<'_>>();
                Some(subtables.filter_map(pair).collect())
            })
            .unwrap_or_default();
        let units = f64::from(face.units_per_em());
        Ok(Self {
            face,
            kerning,
            units,
        })
    }

    /// Pair kerning in font units; the first subtable that covers the first glyph decides.
    fn kern(&self, first: GlyphId, second: GlyphId) -> i16 {
        self.kerning
            .iter()
            .find_map(|pairs| match pairs {
                PairAdjustment::Format1 { coverage, sets } => {
                    let set = sets.get(coverage.get(first)?)?;
                    set.get(second).map(|(value, _)| value.x_advance)
                }
                PairAdjustment::Format2 {
                    coverage,
                    classes,
                    matrix,
                } => {
                    coverage.get(first)?;
                    let pair = (classes.0.get(first), classes.1.get(second));
                    matrix.get(pair).map(|(value, _)| value.x_advance)
                }
            })
            .unwrap_or(0)
    }
}

fn pair(subtable: PositioningSubtable<'static>) -> Option<PairAdjustment<'static>> {
    match subtable {
        PositioningSubtable::Pair(pairs) => Some(pairs),
        _ => None,
    }
}

impl Fonts {
    /// Reads the fonts that are part of the program.
    ///
    /// # Errors
    /// Where they are damaged.
    pub fn new() -> Result<Self> {
        Ok(Self {
            regular: Font::parse(REGULAR)?,
            semibold: Font::parse(SEMIBOLD)?,
        })
    }

    fn font(&self, weight: Weight) -> &Font {
        match weight {
            Weight::Regular => &self.regular,
            Weight::SemiBold => &self.semibold,
        }
    }

    /// Whether the font has every character of `text`.
    pub fn covers(&self, text: &str) -> bool {
        text.chars()
            .all(|c| !c.is_control() && self.regular.face.glyph_index(c).is_some())
    }

    /// Glyphs of one line and its width in pixels.
    pub fn line(&self, text: &str, weight: Weight, size: f64) -> (Vec<Placed>, f64) {
        let font = self.font(weight);
        let scale = size / font.units;
        let mut glyphs = Vec::new();
        let mut x = 0.0;
        let mut last = None;
        for c in text.chars() {
            let glyph = font.face.glyph_index(c).unwrap_or(GlyphId(0));
            if let Some(last) = last {
                x += f64::from(font.kern(last, glyph)) * scale;
            }
            glyphs.push(Placed { glyph, x });
            x += f64::from(font.face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
            last = Some(glyph);
        }
        (glyphs, x)
    }

    /// Width of one line in pixels.
    pub fn width(&self, text: &str, weight: Weight, size: f64) -> f64 {
        self.line(text, weight, size).1
    }

    /// `text` if it fits into `width`, or as much of it as fits with an ellipsis.
    pub fn fit(&self, text: &str, weight: Weight, size: f64, width: f64) -> String {
        if self.width(text, weight, size) <= width {
            return text.to_string();
        }
        let mut kept: Vec<char> = text.chars().collect();
        while kept.pop().is_some() {
            let head: String = kept.iter().collect();
            let short = format!("{}…", head.trim_end());
            if self.width(&short, weight, size) <= width {
                return short;
            }
        }
        "…".to_string()
    }

    /// Breaks `text` into lines of at most `width` at spaces (not at no-break ones); a longer word is
    /// shortened.
    pub fn wrap(&self, text: &str, weight: Weight, size: f64, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
            if let Some(line) = lines.last_mut() {
                let longer = format!("{line} {word}");
                if self.width(&longer, weight, size) <= width {
                    *line = longer;
                    continue;
                }
            }
            lines.push(self.fit(word, weight, size, width));
        }
        lines
    }

    /// Path data of one glyph at `size`, its origin on the baseline; empty for a space.
    pub fn outline(&self, glyph: GlyphId, weight: Weight, size: f64) -> String {
        let font = self.font(weight);
        let mut path = Path::new(size / font.units);
        // A glyph without an outline, such as a space, leaves the path empty.
        let _ = font.face.outline_glyph(glyph, &mut path);
        path.data
    }
}

/// Path data in hundredths of a pixel, relative, so that rounding never adds up.
struct Path {
    data: String,
    scale: f64,
    x: i64,
    y: i64,
}

impl Path {
    fn new(scale: f64) -> Self {
        Self {
            data: String::new(),
            scale,
            x: 0,
            y: 0,
        }
    }

    fn point(&self, x: f32, y: f32) -> (i64, i64) {
        let grid = |v: f32| (f64::from(v) * self.scale * 100.0).round() as i64;
        (grid(x), -grid(y))
    }

    fn numbers(&mut self, values: &[i64]) {
        for (i, &value) in values.iter().enumerate() {
            if i > 0 && value >= 0 {
                self.data.push(' ');
            }
            hundredths(&mut self.data, value);
        }
    }

    fn segment(&mut self, command: char, points: &[(f32, f32)]) {
        self.data.push(command);
        let (x0, y0) = (self.x, self.y);
        let mut values = Vec::with_capacity(6);
        for &(x, y) in points {
            let (x, y) = self.point(x, y);
            values.extend([x - x0, y - y0]);
            (self.x, self.y) = (x, y);
        }
        self.numbers(&values);
    }
}

/// Writes `value` hundredths as a decimal without needless digits.
fn hundredths(out: &mut String, value: i64) {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.abs() / 100, value.abs() % 100);
    let whole = if whole == 0 && part != 0 {
        String::new()
    } else {
        whole.to_string()
    };
    let _ = match part {
        0 => write!(out, "{sign}{whole}"),
        p if p % 10 == 0 => write!(out, "{sign}{whole}.{}", p / 10),
        p => write!(out, "{sign}{whole}.{p:02}"),
    };
}

impl OutlineBuilder for Path {
    fn move_to(&mut self, x: f32, y: f32) {
        (self.x, self.y) = self.point(x, y);
        self.data.push('M');
        self.numbers(&[self.x, self.y]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.segment('l', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.segment('q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.segment('c', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        // The next contour starts with an absolute move.
        self.data.push('z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kerning_narrows_a_pair() {
        let fonts = Fonts::new().unwrap();
        let apart =
            fonts.width("A", Weight::Regular, 100.0) + fonts.width("V", Weight::Regular, 100.0);
        assert!(fonts.width("AV", Weight::Regular, 100.0) < apart - 1.0);
    }

    #[test]
    fn the_signs_of_figures_are_there() {
        let fonts = Fonts::new().unwrap();
        assert!(fonts.covers("0–9 µμ × − – — · … “”‘’ é ² ≤"));
        assert!(!fonts.covers("שלום"));
        assert!(!fonts.covers("a\u{7}"));
    }

    #[test]
    fn long_text_is_shortened_or_broken() {
        let fonts = Fonts::new().unwrap();
        let name = "n".repeat(200);
        let short = fonts.fit(&name, Weight::Regular, 14.0, 80.0);
        assert!(short.ends_with('…') && fonts.width(&short, Weight::Regular, 14.0) <= 80.0);
        let lines = fonts.wrap(&format!("one {name} two"), Weight::Regular, 14.0, 80.0);
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn decimals_are_short() {
        let shown = [0, 5, 50, -150, 1234].map(|v| {
            let mut out = String::new();
            hundredths(&mut out, v);
            out
        });
        assert_eq!(shown, ["0", ".05", ".5", "-1.5", "12.34"]);
    }
}
