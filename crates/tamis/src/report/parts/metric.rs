//! A learned metric: where the classes lie on its first direction, and which variables it uses (Ma 2017, Figures 4.2,
//! 4.3).
//!
//! Takes plain data, so that whoever learns a metric can show it.

use super::pixels::{grid, numbered};
use crate::report::bars::{Bar, bars};
use crate::report::chart::Chart;
use crate::report::html::{clipped, paragraph, plain};
use crate::report::page::{Section, details, figure, row};
use crate::report::table::{Cell, Table, count};

/// Classes drawn.
const CLASSES: usize = 7;
const BARS: usize = 25;
const ROWS: usize = 1000;

/// Where the rows of each class lie in one dimension: the borders of bins, and for each class the shares of its rows in them.
pub fn projection(borders: &[f64], classes: &[(String, Vec<f64>)]) -> Option<Section> {
    let finite = borders.iter().all(|border| border.is_finite()) && borders.is_sorted();
    if borders.len() < 3 || !finite || classes.is_empty() || borders.first() == borders.last() {
        return None;
    }
    let title = "Rows of each class on the learned direction";
    let mut chart = Chart::new(title).size(460.0, 240.0).x("place on the first direction").y("rows of the class (%)");
    chart = chart.y_holds(0.0);
    let mut table = Table::new("Projection by class", &["class", "from", "to", "part of its rows"]);
    for (number, (name, shares)) in classes.iter().enumerate() {
        let bins = || borders.windows(2).zip(shares);
        for (ends, &share) in bins().filter(|(_, share)| **share > 0.0) {
            table.row(vec![Cell::Text(name.clone()), Cell::Number(ends[0]), Cell::Number(ends[1]), Cell::Share(share)]);
        }
        if number < CLASSES {
            let points = bins().map(|(ends, share)| ((ends[0] + ends[1]) / 2.0, 100.0 * share)).collect();
            chart = chart.line(&clipped(name, 30), points);
        }
    }
    let text = paragraph(
        "Each curve shows where the rows of a class lie on the direction the metric found first. The less curves overlap, the \
         better the direction alone tells the classes apart.",
        &[],
    );
    let body = text.with(row([figure(chart.inline(), title)])).with(details("As a table", table.html()));
    Some(Section::new("projection", "Where do the classes lie?", body))
}

/// The variables a metric uses, each with its share in it, the largest first; with the width of the image in pixels, where
/// the variables are the numbered pixels of one.
pub fn variables(list: &[(String, f64)], of: usize, image_width: Option<usize>) -> Option<Section> {
    if list.is_empty() {
        return None;
    }
    let text = paragraph(
        "*{} of {} variables* are used. The longer a bar, the larger the variable's part in the metric.",
        &[&count(list.len() as u64), &count(of as u64)],
    );
    let shown: Vec<Bar> =
        list.iter().take(BARS).map(|(name, share)| Bar { name: name.clone(), value: *share, sure: None }).collect();
    let words = format!("Bars of the {} variables with the largest part in the metric", shown.len());
    let mut figures = vec![figure(bars("Variables of the metric", &words, "", &shown), "Variables of the metric")];
    figures.extend(image_width.and_then(|width| image(list, of, width)));
    let mut table = Table::new("Variables", &["variable|features", "share"]).searchable();
    for (name, share) in list.iter().take(ROWS) {
        table.row(vec![Cell::Text(name.clone()), Cell::Share(*share)]);
    }
    let body = text.with(row(figures)).with(table.html());
    Some(Section::new("variables", "Which variables?", body))
}

fn image(list: &[(String, f64)], of: usize, width: usize) -> Option<crate::report::html::Html> {
    let first = usize::from(!list.iter().any(|(name, _)| name == "0"));
    let largest = list.iter().map(|one| one.1.abs()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let pixels = numbered(list.iter().map(|(name, share)| (name.as_str(), share / largest)), first)?;
    let last = pixels.iter().map(|pixel| pixel.0).max()?;
    let height = (last / width.max(1) + 1).max(of.div_ceil(width.max(1)).min(width * 4));
    let caption = plain("span", "Selected pixels on the image");
    Some(figure(grid("Selected pixels on the image", width.max(1), height, &pixels), caption))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_curves_over_the_same_bins() {
        let classes = [("<a>".to_string(), vec![0.75, 0.25]), ("b".to_string(), vec![0.0, 1.0])];
        let found = projection(&[0.0, 1.0, 2.0], &classes).unwrap();
        let text = found.body.as_str();
        assert_eq!(text.matches("stroke-linejoin").count(), 2, "{text}");
        assert!(text.contains("&lt;a&gt;: from 75 at 0.5 to 25 at 1.5") && !text.contains("<a>"), "{text}");
        assert!(projection(&[1.0, 1.0, 1.0], &classes).is_none(), "nothing to tell apart");
        assert!(projection(&[], &[]).is_none() && projection(&[0.0, f64::NAN, 1.0], &classes).is_none());
    }

    #[test]
    fn variables_of_an_image_stand_on_its_grid() {
        let list = [("28".to_string(), 0.5), ("29".to_string(), 0.25)];
        let found = variables(&list, 784, Some(28)).unwrap();
        assert!(found.body.as_str().contains("row 1, column 28: 1"));
        assert!(found.body.as_str().contains("row 2, column 1: 0.5"));
        assert!(found.body.as_str().contains("a grid of 28 by 28"));
        let named = variables(&[("age".into(), 1.0)], 2, Some(28)).unwrap();
        assert!(!named.body.as_str().contains("pixels are selected"), "no grid for names");
    }
}
