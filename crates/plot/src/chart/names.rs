//! Names beside marks: as near as the others allow, and on no mark and no other name.

use super::Area;
use crate::font::Fonts;
use crate::svg::Type;

/// A mark that is named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Marked<'a> {
    /// Its middle.
    pub at: (f64, f64),
    /// Its name.
    pub name: &'a str,
}

/// Where a name stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// As much of it as fits.
    pub text: String,
    /// Its left edge.
    pub left: f64,
    /// Its middle from top to bottom.
    pub middle: f64,
    /// Its width.
    pub width: f64,
    /// The end of the line from its mark to it.
    pub near: (f64, f64),
}

/// Height of a name and of the air around it.
pub const HEIGHT: f64 = 17.0;
/// From a mark's middle to its name.
const AWAY: f64 = 15.0;
/// A name that is cut has at least this width.
const LEAST: f64 = 60.0;

/// What a name should keep off.
pub struct Around<'a> {
    /// Where names may stand, and how low.
    pub area: Area,
    /// Its lower edge.
    pub bottom: f64,
    /// A mark's radius.
    pub radius: f64,
    /// Points of lines that a name should not hide.
    pub lines: &'a [(f64, f64)],
}

/// A rectangle: left, top, right, bottom.
type Box4 = (f64, f64, f64, f64);

fn meet(a: Box4, b: Box4) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

impl Name {
    fn bounds(&self) -> Box4 {
        let half = HEIGHT / 2.0;
        (
            self.left - 2.0,
            self.middle - half,
            self.left + self.width + 2.0,
            self.middle + half,
        )
    }
}

/// One name a mark, in the order of the marks.
pub fn beside(fonts: &Fonts, kind: Type, marks: &[Marked<'_>], around: &Around<'_>) -> Vec<Name> {
    let mut order: Vec<usize> = (0..marks.len()).collect();
    order.sort_by(|&a, &b| marks[a].at.1.total_cmp(&marks[b].at.1));
    let mut placed: Vec<(usize, Name)> = Vec::new();
    for i in order {
        let names: Vec<&Name> = placed.iter().map(|(_, name)| name).collect();
        let best = candidates(fonts, kind, marks[i], around)
            .into_iter()
            .map(|(cost, name)| (cost + trouble(&name, i, marks, &names, around), name))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((_, name)) = best {
            placed.push((i, name));
        }
    }
    placed.sort_by_key(|(i, _)| *i);
    placed.into_iter().map(|(_, name)| name).collect()
}

/// Places on either side of a mark, from its own height up and down, with what each costs by itself.
fn candidates(
    fonts: &Fonts,
    kind: Type,
    mark: Marked<'_>,
    around: &Around<'_>,
) -> Vec<(f64, Name)> {
    let (x, y) = mark.at;
    let area = around.area;
    let (top, bottom) = (area.y + HEIGHT / 2.0, around.bottom - HEIGHT / 2.0);
    let whole = fonts.width(mark.name, kind.weight, kind.size);
    let start = y.clamp(top, bottom.max(top));
    let step = HEIGHT / 4.0;
    let steps = ((bottom - top) / step).ceil().max(0.0) as i32;
    let mut found = Vec::new();
    for rightwards in [true, false] {
        let room = match rightwards {
            true => area.x + area.width - x - AWAY,
            false => x - AWAY - area.x,
        };
        if room < whole.min(LEAST) {
            continue;
        }
        let text = fonts.fit(mark.name, kind.weight, kind.size, room);
        let width = fonts.width(&text, kind.weight, kind.size);
        let side = if rightwards { 0.0 } else { 4.0 };
        let cut = if width < whole { 500.0 } else { 0.0 };
        for k in -steps..=steps {
            let middle = start + f64::from(k) * step;
            if middle < top || middle > bottom {
                continue;
            }
            let (left, near) = match rightwards {
                true => (x + AWAY, x + AWAY - 3.0),
                false => (x - AWAY - width, x - AWAY + 3.0),
            };
            let name = Name {
                text: text.clone(),
                left,
                middle,
                width,
                near: (near, middle),
            };
            found.push(((middle - y).abs() + side + cut, name));
        }
    }
    found
}

/// What a place costs because of what is there already.
fn trouble(
    name: &Name,
    own: usize,
    marks: &[Marked<'_>],
    names: &[&Name],
    around: &Around<'_>,
) -> f64 {
    const HIT: f64 = 10_000.0;
    let bounds = name.bounds();
    let circle = |mark: &Marked<'_>| {
        let (x, y, r) = (mark.at.0, mark.at.1, around.radius + 1.0);
        (x - r, y - r, x + r, y + r)
    };
    let dots = marks.iter().filter(|m| meet(bounds, circle(m))).count();
    let texts = names.iter().filter(|n| meet(bounds, n.bounds())).count();
    let hidden = around.lines.iter().filter(|p| within(**p, bounds)).count();
    // The line from the mark, by points on it, but for the end at the mark itself.
    let from = marks[own].at;
    let mut crossed = 0;
    for i in 1..=12 {
        let t = f64::from(i) / 12.0;
        let point = (
            from.0 + (name.near.0 - from.0) * t,
            from.1 + (name.near.1 - from.1) * t,
        );
        let others = marks.iter().enumerate().filter(|(k, m)| {
            // Marks in one place cannot be told apart by any line.
            *k != own && m.at != from && within(point, circle(m))
        });
        crossed += others.count() + names.iter().filter(|n| within(point, n.bounds())).count();
    }
    HIT * (dots + texts) as f64 + 12.0 * crossed as f64 + 5.0 * hidden as f64
}

fn within(point: (f64, f64), b: Box4) -> bool {
    point.0 > b.0 && point.0 < b.2 && point.1 > b.1 && point.1 < b.3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::palette::Ink;

    const KIND: Type = Type::regular(13.0, Ink::Text);

    fn names(marks: &[Marked<'_>]) -> Vec<Name> {
        let fonts = Fonts::new().unwrap();
        let around = Around {
            area: Area {
                x: 44.0,
                y: 0.0,
                width: 256.0,
            },
            bottom: 216.0,
            radius: 5.0,
            lines: &[],
        };
        beside(&fonts, KIND, marks, &around)
    }

    fn assert_clear(marks: &[Marked<'_>]) {
        let found = names(marks);
        assert_eq!(found.len(), marks.len(), "{marks:?}");
        for (i, a) in found.iter().enumerate() {
            let b = a.bounds();
            assert!(b.0 >= 40.0 && b.2 <= 304.0, "{a:?}");
            assert!(b.1 >= -0.1 && b.3 <= 216.1, "{a:?}");
            for m in marks {
                let dot = (m.at.0 - 5.0, m.at.1 - 5.0, m.at.0 + 5.0, m.at.1 + 5.0);
                assert!(!meet(b, dot), "{a:?} lies on {m:?}");
            }
            for other in &found[i + 1..] {
                assert!(!meet(b, other.bounds()), "{a:?} lies on {other:?}");
            }
        }
    }

    #[test]
    fn a_mark_alone_has_its_name_at_its_height_to_the_right() {
        let found = names(&[Marked {
            at: (100.0, 100.0),
            name: "Rust 5%",
        }]);
        assert_eq!((found[0].left, found[0].middle), (115.0, 100.0));
    }

    #[test]
    fn names_keep_off_marks_and_each_other() {
        let mark = |x: f64, y: f64| Marked {
            at: (x, y),
            name: "Triton (tuned) 41%",
        };
        // A row, a heap, a corner, and a grid of six.
        assert_clear(&[mark(250.0, 40.0), mark(280.0, 35.0), mark(295.0, 30.0)]);
        assert_clear(&[mark(150.0, 100.0); 6]);
        assert_clear(&[mark(298.0, 2.0), mark(298.0, 6.0), mark(46.0, 214.0)]);
        for shift in 0..40 {
            let s = f64::from(shift);
            let six: Vec<Marked<'_>> = (0..6)
                .map(|i| {
                    let i = f64::from(i);
                    mark(
                        120.0 + (i * (3.0 + s)) % 170.0,
                        60.0 + (i * (17.0 + s)) % 60.0,
                    )
                })
                .collect();
            assert_clear(&six);
        }
    }
}
