//! A small SVG writer: shapes in roles' colours, text as outlines, patterns, and a style sheet that
//! follows the viewer's light or dark setting.
//!
//! Coordinates have two decimals. Colours stand as presentation attributes for light (or the theme that
//! is asked for), and as classes that the style sheet turns dark.

use crate::escape;
use crate::font::{Fonts, Weight};
use crate::palette::{Ink, Swatch, Texture, Theme};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use ttf_parser::GlyphId;

/// Where a line of text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Starts there.
    Start,
    /// Is centred there.
    Middle,
    /// Ends there.
    End,
}

/// How a line of text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Type {
    /// Size in pixels.
    pub size: f64,
    /// Weight.
    pub weight: Weight,
    /// Colour.
    pub ink: Ink,
}

impl Type {
    /// Regular text.
    pub const fn regular(size: f64, ink: Ink) -> Self {
        Self {
            size,
            weight: Weight::Regular,
            ink,
        }
    }

    /// Semibold text.
    pub const fn semibold(size: f64, ink: Ink) -> Self {
        Self {
            size,
            weight: Weight::SemiBold,
            ink,
        }
    }
}

/// A finished figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Svg {
    /// The document.
    pub text: String,
    /// Width and height in units.
    pub size: (u32, u32),
}

/// A figure being drawn.
pub struct Canvas<'a> {
    /// The font.
    pub fonts: &'a Fonts,
    width: f64,
    theme: Theme,
    /// Stands before each id, so that several figures can be in one page.
    prefix: String,
    glyphs: BTreeMap<(Weight, u16, u32), usize>,
    glyph_defs: String,
    patterns: BTreeSet<Swatch>,
    inks: BTreeSet<Ink>,
    body: String,
}

/// A coordinate: at most two decimals, no needless zeros, no negative zero.
fn number(value: f64) -> String {
    debug_assert!(value.is_finite(), "a coordinate is {value}");
    let rounded = (value * 100.0).round() / 100.0;
    if rounded == 0.0 {
        return "0".to_string();
    }
    rounded.to_string()
}

impl<'a> Canvas<'a> {
    /// An empty figure.
    pub fn new(fonts: &'a Fonts, width: f64, theme: Theme, prefix: impl Into<String>) -> Self {
        Self {
            fonts,
            width,
            theme,
            prefix: prefix.into(),
            glyphs: BTreeMap::new(),
            glyph_defs: String::new(),
            patterns: BTreeSet::new(),
            inks: BTreeSet::from([Ink::Paper]),
            body: String::new(),
        }
    }

    /// Attributes that paint `property` ("fill" or "stroke") in `ink`.
    fn paint(&mut self, property: &str, ink: Ink) -> String {
        self.inks.insert(ink);
        let kind = if property == "stroke" { "s" } else { "f" };
        format!(
            "class=\"{kind}{}\" {property}=\"{}\"",
            ink.class(),
            ink.color(self.theme)
        )
    }

    /// A filled rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, ink: Ink) {
        let paint = self.paint("fill", ink);
        let [x, y, width, height] = [x, y, width, height].map(number);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {paint}/>"
        );
    }

    /// A rectangle in an implementation's swatch.
    pub fn bar(&mut self, x: f64, y: f64, width: f64, height: f64, swatch: Swatch) {
        let ink = Ink::Hue(swatch.hue);
        if swatch.texture == Texture::Solid {
            return self.rect(x, y, width, height, ink);
        }
        self.patterns.insert(swatch);
        let stroke = self.paint("stroke", ink);
        let fill = self.pattern_id(swatch);
        // The outline lies inside, so that textured and solid bars of one value are equally long.
        let inset = 0.5_f64.min(width / 2.0);
        let [x, y, width, height] =
            [x + inset, y + 0.5, width - 2.0 * inset, height - 1.0].map(number);
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"url(#{fill})\" {stroke}/>"
        );
    }

    fn pattern_id(&self, swatch: Swatch) -> String {
        let texture = match swatch.texture {
            Texture::Solid => "solid",
            Texture::Stripes => "stripes",
            Texture::Dots => "dots",
            Texture::Mesh => "mesh",
        };
        format!("{}-{texture}-{}", self.prefix, swatch.hue)
    }

    /// A straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), width: f64, ink: Ink) {
        let paint = self.paint("stroke", ink);
        let [x1, y1, x2, y2, width] = [from.0, from.1, to.0, to.1, width].map(number);
        let _ = writeln!(
            self.body,
            "<path d=\"M{x1} {y1}L{x2} {y2}\" stroke-width=\"{width}\" {paint}/>"
        );
    }

    /// A dot; a hollow one shows the paper inside.
    pub fn dot(&mut self, center: (f64, f64), radius: f64, ink: Ink, hollow: bool) {
        let [x, y] = [center.0, center.1].map(number);
        if hollow {
            let inner = self.paint("fill", Ink::Paper);
            let outer = self.paint("fill", ink);
            let (r, hole) = (number(radius), number(radius - 2.0));
            let _ = writeln!(
                self.body,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {outer}/>"
            );
            let _ = writeln!(
                self.body,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{hole}\" {inner}/>"
            );
        } else {
            let paint = self.paint("fill", ink);
            let r = number(radius);
            let _ = writeln!(
                self.body,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {paint}/>"
            );
        }
    }

    /// Many small dots of one colour: one path of lines too short to see but for their round caps.
    pub fn dots(&mut self, centers: &[(f64, f64)], diameter: f64, ink: Ink) {
        let (mut data, mut last) = (String::new(), (0, 0));
        for &(x, y) in centers {
            // Tenths of a pixel, relative, so that rounding never adds up.
            let at = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
            let step = [at.0 - last.0, at.1 - last.1].map(|v| number(v as f64 / 10.0));
            let _ = write!(data, "m{} {}h0", step[0], step[1]);
            last = at;
        }
        if data.is_empty() {
            return;
        }
        let paint = self.paint("stroke", ink);
        let width = number(diameter);
        let _ = writeln!(
            self.body,
            "<path d=\"{data}\" stroke-width=\"{width}\" stroke-linecap=\"round\" {paint}/>"
        );
    }

    /// Triangles that point away from their base at each of `feet`, `height` high (upwards where below 0).
    pub fn darts(&mut self, feet: &[(f64, f64)], height: f64, ink: Ink) {
        if feet.is_empty() {
            return;
        }
        let half = number(height.abs() * 0.62);
        let wide = number(height.abs() * 1.24);
        let high = number(height);
        let data: String = feet
            .iter()
            .map(|&(x, y)| {
                format!(
                    "M{} {}h{wide}l-{half} {high}z",
                    number(x - height.abs() * 0.62),
                    number(y)
                )
            })
            .collect();
        let paint = self.paint("fill", ink);
        let _ = writeln!(self.body, "<path d=\"{data}\" {paint}/>");
    }

    /// A horizontal interval with end caps, cased in paper so that it is seen on any bar.
    pub fn whisker(&mut self, low: f64, high: f64, y: f64, cap: f64) {
        for (extra, ink) in [(2.0, Ink::Paper), (0.0, Ink::Text)] {
            let paint = self.paint("stroke", ink);
            let [low, high, y, top, bottom, width] =
                [low, high, y, y - cap, y + cap, 1.5 + extra].map(number);
            let _ = writeln!(
                self.body,
                "<path d=\"M{low} {y}H{high}M{low} {top}V{bottom}M{high} {top}V{bottom}\" fill=\"none\" stroke-width=\"{width}\" {paint}/>"
            );
        }
    }

    /// A line of text as outlines; returns its width.
    pub fn text(&mut self, at: (f64, f64), text: &str, kind: Type, anchor: Anchor) -> f64 {
        let (glyphs, width) = self.fonts.line(text, kind.weight, kind.size);
        let x = match anchor {
            Anchor::Start => at.0,
            Anchor::Middle => at.0 - width / 2.0,
            Anchor::End => at.0 - width,
        };
        let paint = self.paint("fill", kind.ink);
        let mut line = String::new();
        for placed in glyphs {
            if let Some(id) = self.glyph(placed.glyph, kind) {
                let dx = number(placed.x);
                let _ = write!(line, "<use href=\"#{}-{id}\" x=\"{dx}\"/>", self.prefix);
            }
        }
        let [x, y] = [x, at.1].map(number);
        let _ = writeln!(
            self.body,
            "<g transform=\"translate({x} {y})\" {paint}>{line}</g>"
        );
        width
    }

    /// Number of a glyph's outline among the figure's definitions; `None` where there is nothing to see.
    fn glyph(&mut self, glyph: GlyphId, kind: Type) -> Option<usize> {
        let key = (kind.weight, glyph.0, (kind.size * 100.0).round() as u32);
        if let Some(&id) = self.glyphs.get(&key) {
            return Some(id);
        }
        let outline = self.fonts.outline(glyph, kind.weight, kind.size);
        if outline.is_empty() {
            return None;
        }
        let id = self.glyphs.len();
        self.glyphs.insert(key, id);
        let _ = writeln!(
            self.glyph_defs,
            "<path id=\"{}-{id}\" d=\"{outline}\"/>",
            self.prefix
        );
        Some(id)
    }

    fn pattern(&mut self, swatch: Swatch) -> String {
        let id = self.pattern_id(swatch);
        let fill = self.paint("fill", Ink::Hue(swatch.hue));
        let stroke = self.paint("stroke", Ink::Hue(swatch.hue));
        let paper = self.paint("fill", Ink::Paper);
        let marks = match swatch.texture {
            Texture::Solid => String::new(),
            Texture::Stripes => format!("<path d=\"M1.25 0V5\" stroke-width=\"2\" {stroke}/>"),
            Texture::Dots => format!("<circle cx=\"2.5\" cy=\"2.5\" r=\"1.3\" {fill}/>"),
            Texture::Mesh => {
                format!("<path d=\"M0 2.5H5M2.5 0V5\" stroke-width=\"1.2\" {stroke}/>")
            }
        };
        format!(
            "<pattern id=\"{id}\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"5\" height=\"5\" {paper}/>{marks}</pattern>\n"
        )
    }

    /// The finished document.
    pub fn finish(mut self, height: f64, title: &str, description: &str) -> Svg {
        let patterns: String = std::mem::take(&mut self.patterns)
            .into_iter()
            .map(|swatch| self.pattern(swatch))
            .collect();
        let paper = self.paint("fill", Ink::Paper);
        let dark: String = self
            .inks
            .iter()
            .map(|ink| {
                let (class, color) = (ink.class(), ink.color(Theme::Dark));
                format!(".f{class}{{fill:{color}}}.s{class}{{stroke:{color}}}")
            })
            .collect();
        let size = (self.width.ceil() as u32, height.ceil() as u32);
        let (width, height) = size;
        let prefix = &self.prefix;
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{prefix}-title {prefix}-desc\">"
        );
        let _ = writeln!(
            out,
            "<title id=\"{prefix}-title\">{}</title>",
            escape::markup(title)
        );
        let _ = writeln!(
            out,
            "<desc id=\"{prefix}-desc\">{}</desc>",
            escape::markup(description)
        );
        let _ = writeln!(
            out,
            "<style>@media (prefers-color-scheme:dark){{{dark}}}</style>"
        );
        let _ = write!(out, "<defs>\n{patterns}{}</defs>\n", self.glyph_defs);
        let _ = writeln!(out, "<rect width=\"{width}\" height=\"{height}\" {paper}/>");
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        Svg { text: out, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let shown = [0.0, -0.001, 1.0, 2.345_67, -3.5].map(number);
        assert_eq!(shown, ["0", "0", "1", "2.35", "-3.5"]);
    }

    #[test]
    fn titles_are_escaped() {
        let fonts = Fonts::new().unwrap();
        let svg = Canvas::new(&fonts, 10.0, Theme::Light, "x").finish(9.2, "<a>", "\"b\" & c");
        assert!(svg.text.contains("<title id=\"x-title\">&lt;a&gt;</title>"));
        assert!(svg.text.contains("&quot;b&quot; &amp; c"));
        assert_eq!(svg.size, (10, 10));
    }
}
