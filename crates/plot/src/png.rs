//! Pictures in pixels from the same SVG.

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels a unit: double scale.
const SCALE: f32 = 2.0;

/// The SVG as a PNG at double scale.
///
/// # Errors
/// Where the SVG cannot be read or is empty.
pub fn render(svg: &str) -> Result<Vec<u8>> {
    let tree = Tree::from_str(svg, &Options::default()).context("the figure is not valid SVG")?;
    let size = tree.size();
    let pixels = |length: f32| (length * SCALE).round() as u32;
    let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .context("the figure has no size")?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixmap.as_mut(),
    );
    pixmap.encode_png().context("the picture cannot be encoded")
}
