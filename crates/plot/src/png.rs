//! Pictures in pixels from the same SVG.

use anyhow::{Context, Result};
use png::{BitDepth, ColorType, Compression, Encoder, Filter};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::collections::BTreeMap;

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
    encode(&pixmap).context("the picture cannot be encoded")
}

type Color = [u8; 3];

/// Figures are opaque and have few colours: most fit a palette, which halves the file.
fn encode(pixmap: &Pixmap) -> Result<Vec<u8>> {
    let colors: Vec<Color> = pixmap
        .pixels()
        .iter()
        .map(|p| [p.red(), p.green(), p.blue()])
        .collect();
    let palette = palette(&colors);
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, pixmap.width(), pixmap.height());
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    let data: Vec<u8> = match palette {
        Some(palette) => {
            encoder.set_color(ColorType::Indexed);
            encoder.set_palette(palette.keys().flatten().copied().collect::<Vec<u8>>());
            // Indices are no amounts: differences between them mean nothing.
            encoder.set_filter(Filter::NoFilter);
            colors.iter().map(|color| palette[color]).collect()
        }
        None => {
            encoder.set_color(ColorType::Rgb);
            colors.into_iter().flatten().collect()
        }
    };
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&data)?;
    writer.finish()?;
    Ok(out)
}

/// Colours with their indices, in order, where there are at most 256.
fn palette(colors: &[Color]) -> Option<BTreeMap<Color, u8>> {
    let mut found = BTreeMap::new();
    for (i, color) in colors.iter().enumerate() {
        if i > 0 && colors[i - 1] == *color {
            continue;
        }
        found.insert(*color, 0);
        if found.len() > 256 {
            return None;
        }
    }
    for (i, index) in (0..=u8::MAX).zip(found.values_mut()) {
        *index = i;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws `count` cells of different colours and reads them back.
    fn round_trip(count: u32) -> (ColorType, Vec<Color>) {
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
            "<svg xmlns='http://www.w3.org/2000/svg' width='{count}' height='1'>{cells}</svg>"
        );
        let bytes = render(&svg).unwrap();
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let kind = reader.info().color_type;
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut data).unwrap();
        let row = data.chunks(3).take(2 * count as usize).step_by(2);
        (kind, row.map(|c| [c[0], c[1], c[2]]).collect())
    }

    #[test]
    fn few_and_many_colours_keep_their_values() {
        for (count, kind) in [
            (3, ColorType::Indexed),
            (256, ColorType::Indexed),
            (300, ColorType::Rgb),
        ] {
            let (found, colors) = round_trip(count);
            assert_eq!(found, kind, "{count}");
            let expected: Vec<Color> = (0..count)
                .map(|i| [(i % 256) as u8, (i / 256) as u8, 7])
                .collect();
            assert_eq!(colors, expected);
        }
    }
}
