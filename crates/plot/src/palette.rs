//! Colours by role, for light and for dark, and what each implementation is drawn with.
//!
//! The first three hues keep their order in grey (dark, middle, light) and under every common colour
//! blindness; beyond them, texture tells apart what hue cannot. No figure relies on either alone: every
//! mark stands beside its name.

/// Which colours a figure is drawn in where the viewer's setting is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light; what is published.
    Light,
    /// Light on dark; for looking at, and for pictures without a style sheet.
    Dark,
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ink {
    /// Background.
    Paper,
    /// Text that is read first.
    Text,
    /// Text that explains.
    Muted,
    /// Hairlines between things.
    Rule,
    /// Zero lines.
    Axis,
    /// A bar or dot, by hue.
    Hue(u8),
}

/// Light and dark colour of each hue.
const HUES: [(&str, &str); 8] = [
    ("#1f3a5f", "#5b8bc9"), // navy
    ("#6f97c4", "#bcd5f0"), // steel
    ("#b8430f", "#f28c4e"), // rust
    ("#1b7f79", "#4fc1b8"), // teal
    ("#7b4a9e", "#b98ad9"), // purple
    ("#77741c", "#c8c75a"), // olive
    ("#b03a74", "#ea7fb3"), // magenta
    ("#5f6670", "#a9b0ba"), // grey
];

impl Ink {
    /// Colour in `theme`.
    pub fn color(self, theme: Theme) -> &'static str {
        let (light, dark) = match self {
            Self::Paper => ("#ffffff", "#14171c"),
            Self::Text => ("#16181d", "#e9ebee"),
            Self::Muted => ("#5b6470", "#a3abb6"),
            Self::Rule => ("#d9dde2", "#343b45"),
            Self::Axis => ("#8a929c", "#78818d"),
            Self::Hue(i) => HUES[usize::from(i) % HUES.len()],
        };
        match theme {
            Theme::Light => light,
            Theme::Dark => dark,
        }
    }

    /// Name of its class in a figure's style sheet.
    pub fn class(self) -> String {
        match self {
            Self::Paper => "p".to_string(),
            Self::Text => "t".to_string(),
            Self::Muted => "m".to_string(),
            Self::Rule => "r".to_string(),
            Self::Axis => "a".to_string(),
            Self::Hue(i) => format!("h{}", usize::from(i) % HUES.len()),
        }
    }
}

/// How an area is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Texture {
    /// One colour.
    Solid,
    /// Diagonal stripes.
    Stripes,
    /// Dots.
    Dots,
    /// Stripes both ways.
    Mesh,
}

/// Hue and texture of one series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Swatch {
    /// Colour.
    pub hue: u8,
    /// Texture.
    pub texture: Texture,
}

/// The hue that is nobody's.
pub const GREY: u8 = 7;
const OWN: u8 = 3;

/// The swatch of an implementation: fixed for known names; others take what is left in the order in which
/// they are shown (`unknown` counts those before it).
pub fn swatch(implementation: &str, unknown: usize) -> Swatch {
    let (hue, texture) = match implementation {
        "python" => (0, Texture::Solid),
        "torch-compile" => (0, Texture::Stripes),
        "triton" => (1, Texture::Solid),
        "triton-tuned" => (1, Texture::Stripes),
        "cusparse" => (0, Texture::Dots),
        "rust" => (2, Texture::Solid),
        _ => {
            let free = HUES.len() - usize::from(OWN);
            let textures = [
                Texture::Solid,
                Texture::Stripes,
                Texture::Dots,
                Texture::Mesh,
            ];
            let texture = textures[(unknown / free) % textures.len()];
            (OWN + (unknown % free) as u8, texture)
        }
    };
    Swatch { hue, texture }
}

/// The swatch of the earlier state of what `swatch` shows.
pub fn earlier(swatch: Swatch) -> Swatch {
    Swatch {
        texture: Texture::Stripes,
        ..swatch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance after WCAG 2.
    fn luminance(color: &str) -> f64 {
        let channel = |i: usize| {
            let v = f64::from(u8::from_str_radix(&color[i..i + 2], 16).unwrap()) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_marks_stand_out_in_both_themes() {
        for theme in [Theme::Light, Theme::Dark] {
            let paper = Ink::Paper.color(theme);
            for ink in [Ink::Text, Ink::Muted] {
                assert!(
                    contrast(ink.color(theme), paper) >= 4.5,
                    "{ink:?} {theme:?}"
                );
            }
            for hue in 0..HUES.len() as u8 {
                let color = Ink::Hue(hue).color(theme);
                assert!(contrast(color, paper) >= 3.0, "{hue} {theme:?}");
            }
        }
    }

    #[test]
    fn the_first_hues_differ_in_grey() {
        for theme in [Theme::Light, Theme::Dark] {
            let color = |i| Ink::Hue(i).color(theme);
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let found = contrast(color(a), color(b));
                assert!(found >= 1.35, "{a} {b} {theme:?}: {found}");
            }
        }
    }

    #[test]
    fn twenty_unknown_implementations_differ() {
        let mut all: Vec<Swatch> = (0..20).map(|i| swatch("other", i)).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 20);
    }
}
