//! Feature density: how often the selected features occur, compared with all features (Ma & Zheng 2016, Figure 3).

use tamis::model::Model;
use tamis::model::summary::count;

use crate::axis::AxisKind;
use crate::chart::Chart;
use crate::context::ReportContext;
use crate::html::paragraph;
use crate::page::{Section, details, figure, row};
use crate::table::{Cell, Table, per_cent};

/// Bins per decade.
const BINS: f64 = 3.0;

/// The section, if densities are known.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let (name, densities) = context.known_densities()?;
    let names: std::collections::BTreeSet<&str> = model.feature_names().collect();
    let selected: Vec<f64> = names.iter().map(|name| densities.share(name)).filter(|share| *share > 0.0).collect();
    let all: Vec<f64> = densities.shares().collect();
    let bins = bins(&all, &selected);
    if selected.is_empty() || bins.len() < 3 {
        return None;
    }
    let drawn = |of: fn(&Bin) -> f64| bins.iter().map(|bin| (100.0 * bin.middle, of(bin))).collect::<Vec<_>>();
    let chart = Chart::new("Features by density")
        .size(460.0, 200.0)
        .x("density: rows in which the feature is not zero (%)")
        .y("share of features (%)")
        .x_kind(AxisKind::Logarithmic)
        .y_holds(0.0);
    let both = chart
        .clone()
        .line("all features", drawn(|bin| 100.0 * bin.share_of_all))
        .line("selected", drawn(|bin| 100.0 * bin.share_of_selected));
    let rate = chart.y("selected (%)").line("", drawn(|bin| 100.0 * bin.rate));
    let median = |mut shares: Vec<f64>| {
        shares.sort_by(f64::total_cmp);
        shares.get(shares.len() / 2).copied().unwrap_or(0.0)
    };
    let text = paragraph(
        "The median [density] in `{}` is {} for selected features and {} for all features. A curve of selected features far to the \
         right of the other means that rare features were hardly ever selected.",
        &[name, &per_cent(median(selected.clone())), &per_cent(median(all))],
    );
    let figures = [
        figure(both.inline(), "Distribution of density"),
        figure(rate.inline(), "Share of features selected, by density"),
    ];
    let body = text.with(row(figures)).with(details("Show as a table", table(&bins).html()));
    Some(Section::new("density", "Feature density", body))
}

struct Bin {
    middle: f64,
    low: f64,
    high: f64,
    count: usize,
    selected: usize,
    share_of_all: f64,
    share_of_selected: f64,
    rate: f64,
}

/// Bins of equal ratio over the densities; empty bins are left out.
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
            share_of_all: part(count, all.len()),
            share_of_selected: part(selected, chosen.len()),
            rate: part(selected, count),
        }
    };
    counts.into_iter().map(bin).collect()
}

fn table(bins: &[Bin]) -> Table {
    let mut table =
        Table::new("Features by density", &["from|density", "to|density", "features", "selected", "share selected"]);
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
        assert_eq!((tenth.share_of_all, tenth.share_of_selected, tenth.rate), (0.4, 0.5, 0.5));
    }
}
