//! The stabilized learner on generated data: the same features in any order of the rows, and the effect of the
//! warm-start decay when the true weights drift.

mod files;

use files::{Folder, fitted, options};
use tamis::data::FeatureId;
use tamis::eval::{UnknownClasses, mean_kappa, measure};
use tamis::io::{ReadOptions, RowStream};
use tamis::model::Model;
use tamis::recipe::{Method, Recipe};
use tamis::rng::{RngStream, generator, shuffle, uniform_below};
use tamis::synth::{Kind, Plan, Row, generate, write_svmlight};
use tamis::train::{Checkpoint, CheckpointPlan, fit};

fn of_size(k: usize) -> Recipe {
    Recipe { k: Some(k), ..Recipe::new(Method::Stabilized) }
}

fn lines(rows: impl IntoIterator<Item = Row>) -> String {
    let mut text = Vec::new();
    write_svmlight(rows, &mut text).expect("memory");
    String::from_utf8(text).expect("plain text")
}

fn selected(model: &Model) -> Vec<FeatureId> {
    let number = |name: &String| name.parse().expect("columns have numbers");
    let mut ids: Vec<FeatureId> = model.outputs[0].features.iter().map(|feature| number(&feature.name)).collect();
    ids.sort_unstable();
    ids
}

/// The mean κ of the features selected from the same rows in five orders.
fn kappa_of_orders(plan: &Plan, k: usize, folder: &Folder) -> f64 {
    let mut rows: Vec<Row> = generate(plan).expect("a plan").1.collect();
    let sets = (0..5).map(|order| {
        shuffle(&mut generator(order, RngStream::ShardRows, 0), &mut rows);
        let mut options = options(&[folder.write("rows.svm", &lines(rows.clone()))]);
        (options.order, options.read.threads) = (Some(order), 2);
        let set = selected(&fitted(&of_size(k), &options));
        assert_eq!(set.len(), k);
        set
    });
    mean_kappa(&sets.collect::<Vec<_>>(), plan.p as u64).expect("five sets")
}

/// From the number of true features upwards: fewer would be an arbitrary choice among equals.
#[test]
fn the_order_of_rows_hardly_matters() {
    let folder = Folder::new("kappa");
    let text = Plan { n: 1500, p: 1500, k: 20, nonzeros: 25, rarest: 0.02, signal: 1.0, ..Plan::new(Kind::Zipf) };
    let dense = Plan { n: 800, p: 60, k: 6, classes: true, ..Plan::new(Kind::Correlated) };
    for (plan, k) in [(text.clone(), 20), (text, 40), (dense.clone(), 6), (dense, 12)] {
        let kappa = kappa_of_orders(&plan, k, &folder);
        assert!(kappa >= 0.9, "{:?}, {k} features: {kappa}", plan.kind);
    }
}

const DAYS: usize = 7;
const DAY: usize = 250;

/// The rows of a day. Days are an eighth of the cycle apart; within a day the true weights are constant.
fn day(plan: &Plan, number: usize) -> String {
    let rows = generate(plan).expect("a plan").1;
    lines(rows.skip(number * 125 * plan.period_rows).take(DAY))
}

/// The mean squared error on the last day, of a learner that is continued from day to day.
fn last_day(forget: f64, plan: &Plan, folder: &Folder) -> f64 {
    let recipe = of_size(4).with("warm-start-decay", forget);
    let state = folder.path("state");
    let mut model = None;
    for number in 0..DAYS {
        let mut options = options(&[folder.write("day.svm", &day(plan, number))]);
        options.checkpoint = Some(CheckpointPlan { path: state.clone(), every: None });
        let before = (number > 0).then(|| Checkpoint::load(&state).expect("yesterday's checkpoint"));
        model = Some(fit(&recipe, &options, before, &mut ()).expect("a model").model);
    }
    let fresh = day(&Plan { seed: plan.seed + 100, noise: 0.0, ..plan.clone() }, DAYS - 1);
    let sources = files::sources(&[folder.write("test.svm", &fresh)]);
    let mut stream = RowStream::open(sources, ReadOptions::default());
    let measures = measure(&model.expect("days"), &mut stream, UnknownClasses::Refused).expect("rows");
    measures.rmse.expect("numbers").powi(2)
}

#[test]
fn decay_follows_the_drift() {
    let folder = Folder::new("drift");
    for seed in 0..3 {
        let plan = Plan { n: DAYS * 125_000, p: 40, k: 4, seed, noise: 0.3, ..Plan::new(Kind::Drift) };
        let [keeps, forgets] = [0.0, 0.9].map(|forget| last_day(forget, &plan, &folder));
        assert!(forgets < 0.5 * keeps, "seed {seed}: {forgets} against {keeps}");
    }
}

/// Three copies of each row, whose labels are independent of it: held-out rows must not profit from their copies.
#[test]
fn the_held_out_error_of_repeated_rows_is_that_of_new_rows() {
    let folder = Folder::new("repeated");
    for seed in 0..4 {
        let mut random = generator(seed, RngStream::ShardRows, 0);
        let text: String =
            (0..2400).map(|row| format!("{} {}:1\n", uniform_below(&mut random, 2), 1 + row % 800)).collect();
        let model = fitted(&Recipe::new(Method::Stabilized), &options(&[folder.write("noise.svm", &text)]));
        // The standard error of a share of 2,400 rows is 1 %.
        for step in &model.size_path.as_ref().expect("stabilized").sizes {
            let error = step.error.expect("classes");
            assert!((0.46..0.54).contains(&error), "seed {seed}, {} features: {error}", step.size);
        }
    }
}
