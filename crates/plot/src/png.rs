//! Pictures in pixels from the same SVG.

use anyhow::{Context, Result};
use png::{BitDepth, ColorType, Compression, Encoder, Filter};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::collections::HashMap;

/// Pixels a unit of what is published: double scale.
const SCALE: f32 = 2.0;

/// The SVG as a PNG at double scale.
///
/// # Errors
/// Where the SVG cannot be read or is empty.
pub fn render(svg: &str) -> Result<Vec<u8>> {
    render_at(svg, SCALE)
}

/// The SVG as a PNG at `scale` pixels a unit.
///
/// # Errors
/// As [`render`].
pub fn render_at(svg: &str, scale: f32) -> Result<Vec<u8>> {
    let tree = Tree::from_str(svg, &Options::default()).context("the figure is not valid SVG")?;
    let size = tree.size();
    let pixels = |length: f32| (length * scale).round() as u32;
    let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
        .context("the figure has no size")?;
    resvg::render(
        &tree,
        Transform::from_scale(scale, scale),
        &mut pixmap.as_mut(),
    );
    encode(&pixmap).context("the picture cannot be encoded")
}

type Color = [u8; 3];

/// Figures are opaque and have few colours: a palette halves the file. Where edges blend into more colours
/// than it holds, rare ones take the nearest of the common ones.
fn encode(pixmap: &Pixmap) -> Result<Vec<u8>> {
    let colors: Vec<Color> = pixmap
        .pixels()
        .iter()
        .map(|p| [p.red(), p.green(), p.blue()])
        .collect();
    let (palette, indices) = palette(&colors);
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    encoder.set_color(ColorType::Indexed);
    encoder.set_palette(palette.concat());
    // Indices are no amounts: differences between them mean nothing.
    encoder.set_filter(Filter::NoFilter);
    let data: Vec<u8> = colors.iter().map(|color| indices[color]).collect();
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(out)
}

/// The most frequent colours in order, at most 256, and the place of each colour among them.
fn palette(colors: &[Color]) -> (Vec<Color>, HashMap<Color, u8>) {
    let mut counts: HashMap<Color, usize> = HashMap::new();
    for run in colors.chunk_by(|a, b| a == b) {
        *counts.entry(run[0]).or_default() += run.len();
    }
    let mut common: Vec<(Color, usize)> = counts.iter().map(|(c, n)| (*c, *n)).collect();
    common.sort_by(|(a, n), (b, m)| m.cmp(n).then(a.cmp(b)));
    let mut kept: Vec<Color> = common.iter().take(256).map(|(color, _)| *color).collect();
    kept.sort_unstable();
    let nearest = |color: &Color| {
        let far = |other: &Color| -> u32 {
            let channels = color.iter().zip(other);
            channels
                .map(|(a, b)| u32::from(a.abs_diff(*b)).pow(2))
                .sum()
        };
        let best = (0_u8..=u8::MAX)
            .zip(&kept)
            .min_by_key(|(_, other)| far(other));
        best.map_or(0, |(index, _)| index)
    };
    let indices = counts
        .keys()
        .map(|color| (*color, nearest(color)))
        .collect();
    (kept, indices)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `count` cells of different colours above a white field; reads both back.
    fn round_trip(count: u32) -> (Vec<Color>, Color) {
        let cells: String = (0..count)
            .map(|i| {
                format!(
                    "<rect x='{i}' width='1' height='1' fill='rgb({},{},7)'/>",
                    i % 256,
                    i / 256
                )
            })
            .collect();
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='{count}' height='2'>\
             <rect width='{count}' height='2' fill='#fff'/>{cells}</svg>"
        );
        let bytes = render(&svg).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        let colors: Vec<Color> = data.chunks(3).map(|c| [c[0], c[1], c[2]]).collect();
        let row = colors.iter().take(2 * count as usize).step_by(2);
        (row.copied().collect(), colors[colors.len() - 1])
    }

    #[test]
    fn a_palette_keeps_every_colour_and_of_too_many_the_common_ones() {
        for count in [3, 255, 300] {
            let (colors, field) = round_trip(count);
            assert_eq!(field, [255; 3]);
            let expected = (0..count).map(|i| [(i % 256) as u8, (i / 256) as u8, 7]);
            let kept = colors.iter().zip(expected).filter(|(a, b)| *a == b).count();
            assert_eq!(kept, count.min(255) as usize, "{count}");
        }
    }
}
