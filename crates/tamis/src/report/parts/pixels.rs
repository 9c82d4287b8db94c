//! Selected pixels on the grid of the image, where features are the numbered pixels of one (Ma 2017, Figure 4.3).

use std::fmt::Write as _;

use super::features::effect;
use crate::model::Model;
use crate::report::html::{clipped, paragraph};
use crate::report::page::{Section, figure, row};
use crate::report::svg::{escape, place};
use crate::report::table::short_number;

/// Pixels of an image at most.
const MOST: usize = 1 << 20;
/// Pictures at most.
const PICTURES: usize = 30;
const SIDE: f64 = 260.0;

/// A pixel: its number, counted from 0 row by row, and how strong it is, from −1 to 1.
pub type Pixel = (usize, f64);

/// A picture of pixels on a grid of so many columns.
pub fn grid(title: &str, width: usize, height: usize, pixels: &[Pixel]) -> String {
    let side = SIDE / width.max(height).max(1) as f64;
    let (across, down) = (side * width as f64, side * height as f64);
    let mut out = format!(
        "<svg class=\"tamis pixels\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n\
         <title>{2}</title>\n<desc>{3} of {4} pixels are selected, on a grid of {width} by {height}</desc>\n\
         <rect class=\"rail\" width=\"{0}\" height=\"{1}\"/>\n",
        place(across),
        place(down),
        escape(title),
        pixels.len(),
        width * height,
    );
    for &(at, value) in pixels.iter().filter(|pixel| pixel.0 < width * height) {
        let class = if value < 0.0 { "minus" } else { "plus" };
        let strength = if value.is_finite() { value.abs().min(1.0) } else { 0.0 };
        writeln!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.2}\">\
             <title>row {}, column {}: {}</title></rect>",
            place((at % width) as f64 * side),
            place((at / width) as f64 * side),
            place(side),
            place(side),
            0.2 + 0.8 * strength,
            at / width + 1,
            at % width + 1,
            short_number(value)
        )
        .expect("text grows");
    }
    out.push_str("</svg>\n");
    out
}

/// Pixels by the names of features; nothing if a name is no number or beyond all images. Counted from `first`.
pub fn numbered<'a>(features: impl Iterator<Item = (&'a str, f64)>, first: usize) -> Option<Vec<Pixel>> {
    let pixel = |(name, value): (&str, f64)| {
        let number = name.parse::<usize>().ok()?.checked_sub(first)?;
        (number < MOST).then_some((number, value))
    };
    features.map(pixel).collect()
}

/// The section of a model over the pixels of images so many pixels wide.
pub fn section(model: &Model, width: usize) -> Option<Section> {
    let all = || model.outputs.iter().flat_map(|output| &output.features);
    let zero_based = all().any(|feature| feature.name == "0");
    let largest = all().map(|feature| effect(feature).abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let mut pictures = Vec::new();
    for output in &model.outputs {
        let features = output.features.iter().map(|feature| (feature.name.as_str(), effect(feature) / largest));
        let pixels = numbered(features, usize::from(!zero_based))?;
        let title = match &output.class {
            Some(class) => format!("Pixels for class {}", clipped(&class.to_string(), 24)),
            None => "Selected pixels".into(),
        };
        pictures.push((title, pixels));
    }
    let last = pictures.iter().flat_map(|(_, pixels)| pixels).map(|pixel| pixel.0).max()?;
    let height = last / width.max(1) + 1;
    let height = if height <= width && height * 4 >= 3 * width { width } else { height };
    let figures = pictures
        .iter()
        .take(PICTURES)
        .map(|(title, pixels)| figure(grid(title, width, height, pixels), title.as_str()));
    let text = paragraph(
        "Features are taken as the pixels of images {} pixels wide, row by row. Blue speaks for the class, orange against it; \
         the stronger the colour, the larger the effect. Grey pixels are not used.",
        &[&width.to_string()],
    );
    Some(Section::new("pixels", "Where in the image?", text.with(row(figures))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_stands_in_its_row_and_column() {
        let svg = grid("<digit>", 8, 8, &[(0, 1.0), (63, -0.5), (64, 1.0)]);
        assert!(svg.contains("row 1, column 1: 1") && svg.contains("row 8, column 8: −0.5"), "{svg}");
        assert!(svg.contains("&lt;digit&gt;") && !svg.contains("row 9"));
    }

    #[test]
    fn names_that_are_no_numbers_are_no_pixels() {
        assert_eq!(numbered([("1", 0.5), ("64", 1.0)].into_iter(), 1), Some(vec![(0, 0.5), (63, 1.0)]));
        assert_eq!(numbered([("age", 0.5)].into_iter(), 1), None);
        assert_eq!(numbered([("0", 0.5)].into_iter(), 1), None);
        assert_eq!(numbered([("99999999999", 0.5)].into_iter(), 1), None);
    }
}
