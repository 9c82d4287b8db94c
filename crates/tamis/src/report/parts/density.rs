//! Rare and common: how often the selected features occur, beside all features (Ma & Zheng 2016, Figure 3).

use crate::eval::Densities;
use crate::model::Model;
use crate::report::axis::AxisKind;
use crate::report::chart::Chart;
use crate::report::html::paragraph;
use crate::report::page::{Section, details, figure, row};
use crate::report::table::{Cell, Table, count, per_cent};

/// Bins a decade.
const BINS: f64 = 3.0;

/// The section. `name` is the data's.
pub fn section(model: &Model, name: &str, densities: &Densities) -> Option<Section> {
    let names: std::collections::BTreeSet<&str> =
        model.outputs.iter().flat_map(|output| output.features.iter().map(|feature| feature.name.as_str())).collect();
    let selected: Vec<f64> = names.iter().map(|name| densities.share(name)).filter(|share| *share > 0.0).collect();
    let all: Vec<f64> = densities.shares().collect();
    let bins = bins(&all, &selected);
    if selected.is_empty() || bins.len() < 3 {
        return None;
    }
    let drawn = |of: fn(&Bin) -> f64| bins.iter().map(|bin| (100.0 * bin.middle, of(bin))).collect::<Vec<_>>();
    let chart = Chart::new("Selected features by how often they occur")
        .size(460.0, 200.0)
        .x("a feature is not zero in … % of the rows")
        .y("part of the features (%)")
        .x_kind(AxisKind::Logarithmic)
        .y_holds(0.0);
    let both = chart
        .clone()
        .line("all features", drawn(|bin| 100.0 * bin.part_of_all))
        .line("selected", drawn(|bin| 100.0 * bin.part_of_selected));
    let rate = chart.y("selected (%)").line("", drawn(|bin| 100.0 * bin.rate));
    let median = |mut shares: Vec<f64>| {
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied().unwrap_or(0.0)
    };
    let text = paragraph(
        "Half of the selected features occur in at least {} of the rows of `{}`, half of all features in at least {}. Where the \
         curve of the selected lies far to the right, rare features had little chance.",
        &[&per_cent(median(selected.clone())), name, &per_cent(median(all))],
    );
    let figures = [
        figure(both.inline(), "Where the features are, and where the selected are"),
        figure(rate.inline(), "How many of the features were selected"),
    ];
    let body = text.with(row(figures)).with(details("These numbers as a table", table(&bins).html()));
    Some(Section::new("density", "Rare or common?", body))
}

struct Bin {
    middle: f64,
    low: f64,
    high: f64,
    count: usize,
    selected: usize,
    part_of_all: f64,
    part_of_selected: f64,
    rate: f64,
}

/// Bins of equal ratio over the shares, those without any feature left out.
fn bins(all: &[f64], chosen: &[f64]) -> Vec<Bin> {
    let number = |share: f64| (BINS * share.log10()).ceil() as i32;
    let mut counts: std::collections::BTreeMap<i32, (usize, usize)> = Default::default();
    all.iter().for_each(|&share| counts.entry(number(share)).or_default().0 += 1);
    chosen.iter().for_each(|&share| counts.entry(number(share)).or_default().1 += 1);
    let edge = |number: i32| 10f64.powf(f64::from(number) / BINS);
    let part = |count: usize, of: usize| count as f64 / of.max(1) as f64;
    let bin = |(number, (count, selected)): (i32, (usize, usize))| {
        let (low, high) = (edge(number - 1), edge(number));
        Bin {
            middle: (low * high).sqrt(),
            low,
            high,
            count,
            selected,
            part_of_all: part(count, all.len()),
            part_of_selected: part(selected, chosen.len()),
            rate: part(selected, count),
        }
    };
    counts.into_iter().map(bin).collect()
}

fn table(bins: &[Bin]) -> Table {
    let mut table =
        Table::new("Features by density", &["from|density", "to|density", "features", "selected", "part selected"]);
    for bin in bins {
        let percent = |share: f64| Cell::Shown(share, per_cent(share));
        let whole = |number: usize| Cell::Shown(number as f64, count(number as u64));
        table.row(vec![
            percent(bin.low),
            percent(bin.high),
            whole(bin.count),
            whole(bin.selected),
            Cell::Share(bin.rate),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_in_one_bin() {
        let all = [1.0, 0.5, 0.1, 0.1, 0.001];
        let found = bins(&all, &[0.1, 1.0]);
        assert_eq!(found.iter().map(|bin| bin.count).sum::<usize>(), 5);
        assert_eq!(found.iter().map(|bin| bin.selected).sum::<usize>(), 2);
        for bin in &found {
            let inside =
                all.iter().filter(|share| **share > bin.low * 1.000001 && **share <= bin.high * 1.000001).count();
            assert_eq!(inside, bin.count);
        }
        let tenth = found.iter().find(|bin| bin.count == 2).unwrap();
        assert_eq!((tenth.part_of_all, tenth.part_of_selected, tenth.rate), (0.4, 0.5, 0.5));
    }
}
