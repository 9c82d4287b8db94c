//! Distributed fits: the same bytes however the rows are spread, honest held-out errors, and errors in words.

use tamis::data::{FeatureKey, Label, RawRows};
use tamis::distributed::{
    DistributedError, FitCost, FitSettings, KeyedRows, Plan, Stage, Tally, add, bucket_of, fit_local, tallies,
};
use tamis::io::Block;
use tamis::model::Model;
use tamis::recipe::{Method, Recipe};
use tamis::rng::splitmix64;
use tamis::train::{FitOptions, Training};
use tamis_testkit::naive::distributed::{LiteralRow, state_sums};

/// A number from 0 up to 1.
fn uniform(seed: u64, number: u64) -> f64 {
    (splitmix64(seed ^ splitmix64(number)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Sparse rows of two classes; the first `true_features` columns decide, the others are noise.
fn classes(rows: usize, columns: u32, true_features: u32, seed: u64) -> RawRows {
    let mut found = RawRows::by_index();
    for row in 0..rows as u64 {
        let seed = splitmix64(seed ^ splitmix64(row));
        let mut indices: Vec<u32> =
            (0..12).map(|entry| (uniform(seed, entry).powi(2) * f64::from(columns)) as u32).collect();
        indices.sort_unstable();
        indices.dedup();
        let mut margin = 0.0;
        for index in indices {
            let value = 0.5 + uniform(seed, 100 + u64::from(index));
            found.push_index(index, value);
            if index < true_features {
                margin += if index % 2 == 0 { 3.0 * value } else { -3.0 * value };
            }
        }
        let positive = uniform(seed, 99) < 1.0 / (1.0 + f64::exp(-margin));
        found.end_row(Label::Number(if positive { 1.0 } else { -1.0 }), 1.0, row as u32);
    }
    found
}

fn settings(k: Option<usize>, columns: u64) -> FitSettings {
    FitSettings { columns: Some(columns), ..FitSettings::new(Recipe { k, ..Recipe::new(Method::Stabilized) }) }
}

fn fit(settings: &FitSettings, rows: &KeyedRows, partitions: u32) -> Result<(Model, FitCost), DistributedError> {
    let options = FitOptions { memory: 1 << 28, ..FitOptions::default() };
    fit_local(settings, rows, partitions, &options, &mut ())
}

fn reversed(rows: &KeyedRows) -> KeyedRows {
    let mut other = KeyedRows::new(rows.rows.has_names());
    (0..rows.len()).rev().for_each(|row| other.push_from(rows, row, |_| true));
    other
}

#[test]
fn partitions_and_the_order_of_rows_do_not_change_a_byte() {
    let rows = KeyedRows::by_content(classes(21_000, 600, 8, 1));
    let settings = settings(None, 100);
    let (model, cost) = fit(&settings, &rows, 1).unwrap();
    assert_eq!(cost.passes, 3, "survey, one narrowing stage, collection");
    let text = model.to_text();
    for partitions in [2, 7] {
        assert_eq!(fit(&settings, &rows, partitions).unwrap().0.to_text(), text, "{partitions} partitions");
    }
    assert_eq!(fit(&settings, &reversed(&rows), 2).unwrap().0.to_text(), text, "another order");
    let mut named = RawRows::by_name();
    for row in 0..rows.len() {
        rows.rows.entries(row).for_each(|(key, value)| named.push_name(&[&key.to_string()], value));
        named.end_row(rows.rows.labels[row].clone(), 1.0, row as u32);
    }
    assert_eq!(fit(&settings, &KeyedRows::by_content(named), 1).unwrap().0.to_text(), text, "names for numbers");
}

/// The plan after the survey.
fn surveyed(settings: FitSettings, rows: &KeyedRows) -> Plan {
    let plan = Plan::first(settings).unwrap();
    plan.next(&add(tallies(&plan, rows).unwrap()).unwrap()).unwrap()
}

#[test]
fn a_repeated_task_counts_once_and_a_changed_one_is_found() {
    let rows = KeyedRows::by_content(classes(11_000, 300, 4, 2));
    let plan = surveyed(settings(None, 50), &rows);
    assert_eq!((plan.stage(), plan.buckets()), (Stage::Narrow, 2));
    let parts = tallies(&plan, &rows).unwrap();
    assert_eq!(parts, tallies(&plan, &reversed(&rows)).unwrap(), "a pure function of the rows");
    let once = add(parts.clone()).unwrap();
    let twice: Vec<Tally> = parts.iter().rev().chain(&parts).cloned().collect();
    assert_eq!(add(twice).unwrap(), once);
    let mut changed = parts.clone();
    changed.push(Tally { raw: parts[0].raw[1..].to_vec(), ..parts[0].clone() });
    assert!(matches!(add(changed), Err(DistributedError::Differing { block: 0, bucket: 0 })));
    let short = plan.next(&[]).unwrap_err().to_string();
    assert!(short.contains("not all of them are there"), "{short}");
    let unread = plan.next(&parts).unwrap_err().to_string();
    assert!(unread.contains("were not added"), "{unread}");
}

#[test]
fn sums_are_those_of_the_literal_version() {
    const COLUMNS: u32 = 30;
    let mut rows = classes(10_400, COLUMNS, 6, 9);
    // One dense column, which is centred.
    let mut with_dense = RawRows::by_index();
    for row in 0..rows.len() {
        rows.entries(row).for_each(|(key, value)| {
            let FeatureKey::Index(index) = key else { unreachable!("numbers") };
            with_dense.push_index(index, value);
        });
        with_dense.push_index(COLUMNS, 5.0 + uniform(10, row as u64));
        with_dense.end_row(rows.labels[row].clone(), 1.0, row as u32);
    }
    std::mem::swap(&mut rows, &mut with_dense);
    let rows = KeyedRows::by_content(rows);
    let plan = surveyed(settings(None, 10), &rows);
    assert_eq!((plan.stage(), plan.buckets()), (Stage::Narrow, 2));
    let found = plan.state_sums(&add(tallies(&plan, &rows).unwrap()).unwrap()).unwrap();
    let mut columns: Vec<u32> = (0..=COLUMNS).collect();
    columns.sort_by_key(|&index| splitmix64(u64::from(index)));
    let literal: Vec<LiteralRow> = (0..rows.len())
        .map(|row| {
            let mut values = vec![0.0; columns.len()];
            for (key, value) in rows.rows.entries(row) {
                let place = columns.iter().position(|&index| key == FeatureKey::Index(index)).unwrap();
                values[place] = value;
            }
            let (hash, positive) = (rows.identities[row], rows.rows.labels[row] == Label::Number(1.0));
            LiteralRow { values, positive, hash, bucket: bucket_of(hash, 2) }
        })
        .collect();
    for (number, (found, expected)) in found.iter().zip(state_sums(&literal)).enumerate() {
        for ((column, one), other) in columns.iter().zip(&found[0]).zip(&expected) {
            for part in 0..2 {
                let difference = (one[part] - other[part]).abs();
                assert!(difference <= 1e-9 * other[part].abs().max(1.0), "{number} {column}: {one:?} {other:?}");
            }
        }
    }
}

#[test]
fn without_narrowing_the_model_is_that_of_one_machine() {
    let mut rows = classes(3_000, 200, 6, 3);
    // Copies, of the same class and of the other one, which are assigned to folds one by one.
    let originals = rows.clone();
    for row in (0..600).step_by(2) {
        for (key, value) in originals.entries(row) {
            let FeatureKey::Index(index) = key else { unreachable!("features by number") };
            rows.push_index(index, value);
        }
        let label = if row % 4 == 0 { originals.labels[row].clone() } else { originals.labels[row + 1].clone() };
        rows.end_row(label, 1.0, (3_000 + row) as u32);
    }
    let recipe = Recipe::new(Method::Stabilized);
    let options = FitOptions { memory: 1 << 28, ..FitOptions::default() };
    let mut training = Training::new(&recipe, &options).unwrap();
    training.push(Block { rows: rows.clone(), file: "rows".into(), first_line: 1 }, 0, &mut ()).unwrap();
    let one = training.finish("rows", 0, &mut ()).unwrap();
    let (model, cost) = fit(&settings(None, 1 << 14), &KeyedRows::by_content(rows), 3).unwrap();
    assert_eq!(cost.passes, 2, "survey and collection");
    let weights = |model: &Model| {
        let mut weights: Vec<(String, f64)> =
            model.outputs[0].features.iter().map(|one| (one.name.to_string(), one.weight)).collect();
        weights.sort_by(|a, b| a.0.cmp(&b.0));
        weights
    };
    let (one, other) = (weights(&one), weights(&model));
    assert_eq!(one.len(), other.len());
    for ((name, weight), (other_name, other_weight)) in one.iter().zip(&other) {
        assert!(
            name == other_name && (weight - other_weight).abs() < 1e-6 * weight.abs(),
            "{name}: {weight} {other_weight}"
        );
    }
}

#[test]
fn noise_is_not_confirmed_and_its_held_out_error_is_that_of_chance() {
    let rows = KeyedRows::by_content(classes(2_000, 6_000, 0, 4));
    let (model, cost) = fit(&settings(None, 300), &rows, 1).unwrap();
    assert_eq!(cost.passes, 3);
    let path = model.size_path.as_ref().unwrap();
    // Folds that had a part in the choice of the 300 columns would have errors below .4.
    let largest = path.sizes.iter().find(|size| size.size <= 300).unwrap();
    assert!(largest.error.unwrap() > 0.46, "{:?}", largest.error);
    let mut columns = [0; 6_000];
    for (key, _) in (0..rows.len()).flat_map(|row| rows.rows.entries(row)) {
        let FeatureKey::Index(index) = key else { unreachable!("numbers") };
        columns[index as usize] += 1;
    }
    let candidates = columns.iter().filter(|&&rows| rows >= 2).count();
    let tests = model.tests.as_ref().expect("features are tested");
    assert_eq!(tests.entered, candidates, "all candidates are hypotheses, not only the columns that are left");
    assert_eq!(tests.confirmed(0.1).len(), 0);
}

#[test]
fn columns_are_narrowed_only_where_the_rows_do_not_fit() {
    let rows = KeyedRows::by_content(classes(20_000, 60_000, 6, 5));
    let usual = FitSettings::new(Recipe::new(Method::Stabilized));
    let plan = surveyed(usual.clone(), &rows);
    let (_, _, columns) = plan.counts().unwrap();
    assert!(columns > 1 << 14, "{columns}: too few to be narrowed");
    assert_eq!((plan.stage(), plan.share()), (Stage::Collect, 1.0), "240,000 non-zeros are no reason to narrow");
    let little = FitSettings { entries: 50_000, ..usual.clone() };
    assert_eq!(surveyed(little, &rows).stage(), Stage::Narrow);
    let asked = FitSettings { columns: Some(1 << 14), ..usual };
    assert_eq!(surveyed(asked, &rows).stage(), Stage::Narrow);
}

#[test]
fn a_sample_of_the_rows_is_collected_where_they_are_too_many() {
    let rows = KeyedRows::by_content(classes(6_000, 400, 6, 5));
    let limited = FitSettings { entries: 20_000, ..settings(None, 1 << 14) };
    let (model, cost) = fit(&limited, &rows, 1).unwrap();
    assert!((15_000..25_000).contains(&cost.entries), "{}", cost.entries);
    assert_eq!((model.seen.rows, cost.rows < 3_000), (6_000, true), "{}", cost.rows);
    assert_eq!(fit(&limited, &reversed(&rows), 5).unwrap().0.to_text(), model.to_text());
    let plan = surveyed(limited, &rows);
    assert!(plan.share() > 0.2 && plan.share() < 0.5, "{}", plan.share());
}

#[test]
fn more_buckets_than_rows_and_names_that_are_new() {
    let rows = KeyedRows::by_content(classes(40, 30, 2, 6));
    let wide = FitSettings { buckets: 4096, ..settings(None, 1 << 14) };
    assert_eq!(fit(&wide, &rows, 7).unwrap().0.to_text(), fit(&wide, &rows, 1).unwrap().0.to_text());
    // Names that come after the survey are no columns.
    let plan = surveyed(settings(None, 10), &rows);
    let mut new = KeyedRows::new(false);
    new.append(&rows);
    let mut later = RawRows::by_index();
    later.push_index(999, 1.0);
    later.end_row(Label::Number(1.0), 1.0, 0);
    new.append(&KeyedRows::by_content(later));
    let next = plan.next(&add(tallies(&plan, &new).unwrap()).unwrap()).unwrap();
    let collected = next.collect(&new).unwrap();
    assert_eq!(collected.len(), 41);
    let is_new = |(key, _): (FeatureKey<'_>, f64)| key == FeatureKey::Index(999);
    assert!((0..41).all(|row| !collected.rows.entries(row).any(is_new)));
}

#[test]
fn rows_of_one_key_are_in_one_fold() {
    let mut rows = KeyedRows::by_content(classes(900, 60, 4, 7));
    rows.identities = (0..900).map(|row| splitmix64(row / 3)).collect();
    let keyed = FitSettings { keyed: true, ..settings(Some(5), 1 << 14) };
    let (model, _) = fit(&keyed, &rows, 1).unwrap();
    assert_eq!(fit(&keyed, &reversed(&rows), 3).unwrap().0.to_text(), model.to_text());
    let buckets = rows.buckets(64);
    assert!(buckets.iter().all(|(bucket, rows)| rows.identities.iter().all(|&id| bucket_of(id, 64) == *bucket)));
}

#[test]
fn errors_are_named() {
    let empty = KeyedRows::new(false);
    let error = |settings: &FitSettings, rows: &KeyedRows| fit(settings, rows, 2).unwrap_err().to_string();
    let usual = settings(None, 1 << 14);
    assert_eq!(error(&usual, &empty), "there are no rows");
    let mut one_class = RawRows::by_index();
    let mut featureless = RawRows::by_index();
    let mut constant = RawRows::by_index();
    for row in 0..30 {
        one_class.push_index(row, 1.0);
        one_class.end_row(Label::Text("yes".into()), 1.0, row);
        featureless.end_row(Label::Number(f64::from(row % 2)), 1.0, row);
        constant.push_index(1, 2.0);
        constant.push_index(2, 5.0);
        constant.end_row(Label::Number(f64::from(row % 2)), 1.0, row);
    }
    let found = error(&usual, &KeyedRows::by_content(one_class));
    assert_eq!(found, "all 30 rows have the label yes; classification needs two classes");
    let found = error(&usual, &KeyedRows::by_content(featureless));
    assert_eq!(found, "no row has a value other than zero: there is nothing to learn from");
    let constant = fit(&usual, &KeyedRows::by_content(constant), 2).unwrap().0;
    assert!(constant.outputs[0].features.iter().all(|feature| feature.weight.abs() < 1e-6), "nothing to be learned");
    let mut twice = RawRows::by_name();
    twice.push_name(&["a"], 1.0);
    twice.push_name(&["a"], 1.0);
    twice.end_row(Label::Number(1.0), 1.0, 0);
    assert_eq!(error(&usual, &KeyedRows::by_content(twice)), "row 0: feature \"a\" occurs twice");
    let other = FitSettings::new(Recipe::new(Method::Ftrl));
    assert_eq!(error(&other, &empty), "only the method stabilized is distributed, and this is ftrl");
    let buckets = FitSettings { buckets: 6, ..usual.clone() };
    assert_eq!(error(&buckets, &empty), "the number of buckets is a power of two up to 4096, and not 6");
    let bits = FitSettings::new(Recipe { hash_bits: Some(10), ..Recipe::new(Method::Stabilized) });
    assert!(error(&bits, &empty).contains("hash the names where the rows are made"));
}

#[test]
fn numbers_and_several_classes_are_learned_too() {
    let rows = classes(6_000, 400, 6, 8);
    let relabelled = |label: &dyn Fn(usize) -> Label| {
        let mut rows = rows.clone();
        rows.labels = (0..rows.len()).map(label).collect();
        KeyedRows::by_content(rows)
    };
    let share = |row: usize, index: u32| {
        let found = rows.entries(row).find(|(key, _)| *key == FeatureKey::Index(index));
        found.map_or(0.0, |(_, value)| value)
    };
    let numbers = relabelled(&|row| Label::Number(3.0 * share(row, 0) - 2.0 * share(row, 1) + uniform(8, row as u64)));
    let (model, cost) = fit(&settings(Some(2), 50), &numbers, 2).unwrap();
    let mut names: Vec<&str> = model.outputs[0].features.iter().map(|feature| &*feature.name).collect();
    names.sort_unstable();
    assert_eq!((names, cost.passes), (vec!["0", "1"], 3));
    let class = |row: usize| {
        if share(row, 0) > 0.0 {
            "a"
        } else if share(row, 1) > 0.0 {
            "b"
        } else {
            "c"
        }
    };
    let texts = relabelled(&|row| Label::Text(class(row).into()));
    let (model, _) = fit(&settings(Some(2), 50), &texts, 2).unwrap();
    assert_eq!(model.outputs.len(), 3);
    let error = model.size_path.unwrap().sizes.iter().find(|size| size.size == 2).and_then(|size| size.error);
    assert!(error.unwrap() < 0.05, "{error:?}");
}
