//! Every figure beside the picture that was looked at and committed, with a small tolerance:
//! `MAGE_UPDATE_PIXELS=1 cargo test -p mage-plot --test pixels` replaces the pictures.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use mage_plot::chart::Layout;
use mage_plot::data::Data;
use mage_plot::font::Fonts;
use mage_plot::palette::Theme;
use mage_plot::{figures, png as pictures};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use support::Root;

/// Pixels a unit before [`Picture::small`] halves them.
const SCALE: f32 = 1.0;
/// Largest mean difference of a channel, of 255.
const MEAN: f64 = 0.4;
/// A pixel differs where a channel does by more than this, of 255.
const CHANNEL: u8 = 40;
/// Largest share of pixels that differ.
const SHARE: f64 = 0.002;

struct Picture {
    width: u32,
    height: u32,
    /// Three channels a pixel.
    data: Vec<u8>,
}

impl Picture {
    fn decode(bytes: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        let mut data = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut data).unwrap();
        assert_eq!(info.color_type, png::ColorType::Rgb);
        Self {
            width: info.width,
            height: info.height,
            data,
        }
    }

    /// Half as wide and high, in 16 levels a channel: a small file in which a line of text is still a line of
    /// text and a texture still a tint.
    fn small(&self) -> Self {
        let (width, height) = (self.width / 2, self.height / 2);
        let at = |x: u32, y: u32, c: usize| {
            let row = (y * self.width + x) as usize;
            u32::from(self.data[row * 3 + c])
        };
        let mut data = Vec::new();
        for y in 0..height {
            for x in 0..width {
                for c in 0..3 {
                    let four = [(0, 0), (0, 1), (1, 0), (1, 1)];
                    let sum: u32 = four.iter().map(|(i, k)| at(2 * x + i, 2 * y + k, c)).sum();
                    data.push((sum / 4 / 17 * 17) as u8);
                }
            }
        }
        Self {
            width,
            height,
            data,
        }
    }

    /// With a palette where the colours fit into one.
    fn encode(&self) -> Vec<u8> {
        let colors: BTreeSet<&[u8]> = self.data.chunks(3).collect();
        let palette: Vec<&[u8]> = colors.into_iter().collect();
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, self.width, self.height);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::High);
        let data = if palette.len() <= 256 {
            encoder.set_color(png::ColorType::Indexed);
            encoder.set_palette(palette.concat());
            encoder.set_filter(png::Filter::NoFilter);
            let place = |color| palette.binary_search(&color).unwrap() as u8;
            self.data.chunks(3).map(place).collect()
        } else {
            encoder.set_color(png::ColorType::Rgb);
            self.data.clone()
        };
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&data).unwrap();
        writer.finish().unwrap();
        out
    }

    /// Where the two differ, dark on light; what differs a lot is red.
    fn difference(&self, other: &Self) -> Result<(), (String, Self)> {
        if (self.width, self.height) != (other.width, other.height) {
            let found = format!(
                "{} x {} pixels, {} x {} committed",
                self.width, self.height, other.width, other.height
            );
            let data = self.data.clone();
            return Err((found, Self { data, ..*self }));
        }
        let (mut sum, mut differ) = (0_u64, 0_u64);
        let mut data = Vec::with_capacity(self.data.len());
        for (a, b) in self.data.chunks(3).zip(other.data.chunks(3)) {
            let off = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b));
            let most = off.clone().max().unwrap();
            sum += off.map(u64::from).sum::<u64>();
            let many = most > CHANNEL;
            differ += u64::from(many);
            let light = 255 - most;
            data.extend(if many { [220, 0, 0] } else { [light; 3] });
        }
        let mean = sum as f64 / self.data.len() as f64;
        let share = differ as f64 / (self.data.len() / 3) as f64;
        if mean <= MEAN && share <= SHARE {
            return Ok(());
        }
        let found = format!(
            "mean difference {mean:.2} of 255 (at most {MEAN}), {:.2}% of pixels differ (at most {}%)",
            share * 100.0,
            SHARE * 100.0
        );
        Err((found, Self { data, ..*self }))
    }
}

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pixels")
}

/// Each figure on a desktop and a phone in light, and on a desktop in dark: name and picture.
fn drawn() -> Vec<(String, Picture)> {
    let root = Root::with_everything();
    let fonts = Fonts::new().unwrap();
    let data = Data::read(root.path(), "mage-002", &fonts).unwrap();
    let (figures, left_out) = figures::all(&data);
    assert_eq!(left_out, [], "every figure is there");
    let kinds = [
        ("desktop.light", Layout::Desktop, Theme::Light),
        ("phone.light", Layout::Phone, Theme::Light),
        ("desktop.dark", Layout::Desktop, Theme::Dark),
    ];
    figures
        .iter()
        .flat_map(|figure| kinds.map(|kind| (figure, kind)))
        .map(|(figure, (kind, layout, theme))| {
            let svg = figure.svg(&fonts, layout, theme);
            let picture = pictures::render_at(&svg.text, SCALE).unwrap();
            let picture = Picture::decode(&picture).small();
            (format!("{}.{kind}.png", figure.name()), picture)
        })
        .collect()
}

#[test]
fn every_figure_looks_as_it_was_committed() {
    let update = std::env::var_os("MAGE_UPDATE_PIXELS").is_some();
    let mut wrong = Vec::new();
    let mut names = BTreeSet::new();
    for (name, found) in drawn() {
        let path = committed().join(&name);
        names.insert(name.clone());
        let expected = std::fs::read(&path).ok().map(|b| Picture::decode(&b));
        let result = match &expected {
            Some(expected) => found.difference(expected),
            None => Err(("no picture is committed".to_string(), found.small())),
        };
        let Err((words, difference)) = result else {
            continue;
        };
        if update {
            mage_evidence::store::write_bytes(&path, &found.encode()).unwrap();
            continue;
        }
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pixels");
        let at = out.join(format!("{name}.difference.png"));
        mage_evidence::store::write_bytes(&out.join(&name), &found.encode()).unwrap();
        mage_evidence::store::write_bytes(&at, &difference.encode()).unwrap();
        wrong.push(format!("{name}: {words}; see {}", at.display()));
    }
    for entry in std::fs::read_dir(committed()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !names.contains(&name) {
            match update {
                true => std::fs::remove_file(entry.path()).unwrap(),
                false => wrong.push(format!("{name}: no figure gives it")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nif they look right: MAGE_UPDATE_PIXELS=1 cargo test -p mage-plot --test pixels",
        wrong.join("\n")
    );
}

#[test]
fn a_bar_of_another_length_is_seen() {
    let draw = |width: u32| {
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='100'>\
             <rect width='400' height='100' fill='#fff'/><rect y='40' width='{width}' height='14' fill='#b8430f'/></svg>"
        );
        Picture::decode(&pictures::render_at(&svg, SCALE).unwrap()).small()
    };
    draw(200)
        .difference(&draw(200))
        .unwrap_or_else(|(words, _)| panic!("{words}"));
    let (words, difference) = draw(210).difference(&draw(200)).err().unwrap();
    assert!(words.contains("of pixels differ"), "{words}");
    let red = difference.data.chunks(3).filter(|p| *p == [220, 0, 0]);
    assert!(red.count() > 20);
}
