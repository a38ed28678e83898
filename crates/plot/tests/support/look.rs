//! Looks at a drawn figure as a reader would: is everything inside, does any text lie on other text.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "test data")]

use resvg::usvg::{Node, Options, Rect, Tree};

/// Boxes of the lines of text and of everything else.
fn boxes(svg: &str) -> (Tree, Vec<Rect>, Vec<Rect>) {
    let tree = Tree::from_str(svg, &Options::default()).unwrap();
    let mut text = Vec::new();
    let mut marks = Vec::new();
    // The first node is the background.
    for node in tree.root().children().iter().skip(1) {
        match node {
            Node::Group(_) => text.push(node.abs_bounding_box()),
            _ => marks.push(node.abs_stroke_bounding_box()),
        }
    }
    (tree, text, marks)
}

/// Panics where a mark leaves the figure, a coordinate is not a number, or two lines of text meet.
pub fn assert_readable(svg: &str, what: &str) {
    for bad in ["NaN", "inf"] {
        // Only coordinates: the words of the title may hold anything.
        let drawing = svg.split_once("</desc>").unwrap().1;
        assert!(!drawing.contains(bad), "{what}: {bad} in the drawing");
    }
    let (tree, text, marks) = boxes(svg);
    let size = tree.size();
    assert!(!text.is_empty(), "{what}: no text");
    for r in text.iter().chain(&marks) {
        let inside = r.left() >= 8.0
            && r.right() <= size.width() - 8.0
            && r.top() >= 8.0
            && r.bottom() <= size.height() - 8.0;
        assert!(inside, "{what}: {r:?} leaves {size:?}");
    }
    for (i, a) in text.iter().enumerate() {
        for b in &text[i + 1..] {
            let wide = a.right().min(b.right()) - a.left().max(b.left());
            let high = a.bottom().min(b.bottom()) - a.top().max(b.top());
            assert!(
                wide < 0.5 || high < 0.5,
                "{what}: text on text, {a:?} and {b:?}"
            );
        }
    }
}

/// Panics where a line of text lies on a dot.
pub fn assert_dots_are_clear(svg: &str, what: &str) {
    let (_, text, _) = boxes(svg);
    let number = |circle: &str, name: &str| -> f32 {
        let rest = circle.split(&format!(" {name}=\"")).nth(1).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    };
    for circle in svg.split("<circle").skip(1) {
        let [x, y, r] = ["cx", "cy", "r"].map(|name| number(circle, name));
        for t in &text {
            let clear =
                t.right() < x - r || t.left() > x + r || t.bottom() < y - r || t.top() > y + r;
            assert!(clear, "{what}: text {t:?} on the dot at {x}, {y}");
        }
    }
}
