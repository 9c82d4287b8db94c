//! The algebra of the kernel method agrees with nested loops over rows.

use faer::Mat;
use tamis::kernel::{BLOCKS, BlockMoments, Evidence, HALVES, Moments, Rows, Sensitivity, best_triple, draw, scan};
use tamis::recipe::FrequencyFamily;
use tamis::rng::{RngStream, generator, uniform};
use tamis_testkit::naive::kernel as naive;

const ROWS: usize = 88;
const VARIABLES: usize = 5;
const OUTPUTS: usize = 2;

fn rows(seed: u64) -> Rows {
    let mut random = generator(seed, RngStream::PassOrder, 0);
    let mut number = move || 4.0 * uniform(&mut random) - 2.0;
    let inputs = Mat::from_fn(ROWS, VARIABLES, |_, _| number());
    let targets = Mat::from_fn(ROWS, OUTPUTS, |row, output| inputs[(row, output)] * inputs[(row, 2)] + 0.3 * number());
    let weights = (0..ROWS).map(|_| 1.5 + 0.5 * number()).collect();
    Rows { inputs, targets, weights, blocks: (0..ROWS).map(|row| row % BLOCKS).collect() }
}

fn moments(rows: &Rows) -> BlockMoments {
    let single: Vec<f64> = (0..VARIABLES).map(|j| 1.0 + j as f64).collect();
    let evidence = Evidence::new(&single, &Mat::zeros(VARIABLES, VARIABLES), FrequencyFamily::Mixed, 0.05);
    let frequencies = draw(&evidence, FrequencyFamily::Mixed, 14, &mut generator(3, RngStream::Frequencies, 0));
    let columns: Vec<usize> = (0..VARIABLES).collect();
    BlockMoments::of(rows, &columns, frequencies)
}

/// The features of the moments, without weights.
fn function(moments: &BlockMoments) -> naive::Function {
    let matrix = &moments.frequencies.matrix;
    let frequency = |l: usize| (0..VARIABLES).map(|j| matrix[(j, l)]).collect();
    let frequencies = (0..matrix.ncols()).map(frequency).collect();
    naive::Function { frequencies, phases: moments.frequencies.phases.clone(), weights: Vec::new() }
}

fn members(rows: &Rows, half: &[usize], inside: bool) -> Vec<usize> {
    (0..ROWS).filter(|&row| half.contains(&rows.blocks[row]) == inside).collect()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {found} and {expected}");
}

#[test]
fn the_scan_is_that_of_nested_loops() {
    let rows = rows(1);
    for halves in [&HALVES[..1], &HALVES[..]] {
        let (single, pairs) = naive::scan(&rows, halves);
        let found = scan::<f64>(&rows, halves);
        let rough = scan::<f32>(&rows, halves);
        for (j, row) in pairs.iter().enumerate() {
            assert_close(found.single[j], single[j], "a variable");
            for (k, &pair) in row.iter().enumerate() {
                assert_close(found.pairs[(j, k)], pair, "a pair");
                assert!((rough.pairs[(j, k)] - pair).abs() < 1e-4 * pair.abs().max(1.0));
            }
        }
    }
}

#[test]
fn the_best_triple_is_that_of_nested_loops() {
    let rows = rows(2);
    let found = best_triple::<f64>(&rows).expect("five variables have triples");
    let (mut best, mut noise) = (f64::NEG_INFINITY, 0.0_f64);
    for a in 0..VARIABLES {
        for b in a + 1..VARIABLES {
            for c in b + 1..VARIABLES {
                let score = naive::triple_score(&rows, &HALVES[0], [a, b, c]);
                (best, noise) = (best.max(score), noise.max(-score));
            }
        }
    }
    assert_close(found.score, best, "the best");
    assert_close(found.noise, noise, "the noise");
    assert_close(naive::triple_score(&rows, &HALVES[0], found.variables), best, "its variables");
}

#[test]
fn weights_of_halves_are_those_of_a_ridge_on_their_rows() {
    let rows = rows(3);
    let moments = moments(&rows);
    let fits = moments.fit_halves(0.3);
    let mut total = 0.0;
    for (half, weights) in HALVES.iter().zip(&fits.weights) {
        for (inside, weights) in [true, false].into_iter().zip(weights) {
            for output in 0..OUTPUTS {
                let direct = function(&moments).ridge(&rows, &members(&rows, half, inside), output, 0.3);
                for (place, expected) in direct.weights.iter().enumerate() {
                    assert_close(weights[(place, output)], *expected, "a weight");
                }
                total += direct.squared_error(&rows, &members(&rows, half, !inside), output);
            }
        }
    }
    let weight: f64 = rows.weights.iter().sum();
    assert_close(fits.error, total / (weight * OUTPUTS as f64 * HALVES.len() as f64), "the error on the other half");
}

#[test]
fn the_error_on_a_block_needs_no_pass() {
    let rows = rows(4);
    let moments = moments(&rows);
    let all: Moments = moments.sum(|_| true);
    let weights = all.ridge(2.0);
    for block in 0..BLOCKS {
        let own: Vec<usize> = (0..ROWS).filter(|&row| rows.blocks[row] == block).collect();
        let direct: f64 = (0..OUTPUTS)
            .map(|output| {
                let fitted = function(&moments).ridge(&rows, &(0..ROWS).collect::<Vec<_>>(), output, 2.0);
                fitted.squared_error(&rows, &own, output)
            })
            .sum();
        assert_close(moments.sum(|one| one == block).squared_error(&weights), direct, "a block");
    }
}

#[test]
fn sensitivities_are_products_of_finite_differences() {
    let rows = rows(5);
    let moments = moments(&rows);
    let fits = moments.fit_halves(0.3);
    let sensitivity = Sensitivity::new(&moments);
    let total: f64 = rows.weights.iter().sum();
    let inputs = |row: usize| -> Vec<f64> { (0..VARIABLES).map(|j| rows.inputs[(row, j)]).collect() };
    for pair in &fits.weights[..2] {
        let side = |side: usize, output: usize| {
            let weights = (0..pair[side].nrows()).map(|place| pair[side][(place, output)]).collect();
            naive::Function { weights, ..function(&moments) }
        };
        let mean = |of: &dyn Fn(&naive::Function, &[f64]) -> f64| -> f64 {
            let mut sum = 0.0;
            for output in 0..OUTPUTS {
                let [one, other] = [0, 1].map(|number| side(number, output));
                for row in 0..ROWS {
                    sum += rows.weights[row] * of(&one, &inputs(row)) * of(&other, &inputs(row));
                }
            }
            sum / total
        };
        let found = sensitivity.of_variables(pair);
        let pairs = sensitivity.of_pairs(&sensitivity.pair_form(pair));
        for j in 0..VARIABLES {
            assert_close(found[j], mean(&|f, inputs| f.derivative(inputs, j)), "a variable");
            for k in (0..VARIABLES).filter(|&k| k != j) {
                assert_close(pairs[(j, k)], mean(&|f, inputs| f.second_derivative(inputs, j, k)), "a pair");
            }
        }
    }
}

#[test]
fn moments_of_two_parts_merge_to_those_of_all_rows() {
    let rows = rows(6);
    let whole = moments(&rows);
    let part = |keep: &dyn Fn(usize) -> bool| {
        let kept: Vec<usize> = (0..ROWS).filter(|&row| keep(row)).collect();
        moments(&Rows {
            inputs: Mat::from_fn(kept.len(), VARIABLES, |row, j| rows.inputs[(kept[row], j)]),
            targets: Mat::from_fn(kept.len(), OUTPUTS, |row, o| rows.targets[(kept[row], o)]),
            weights: kept.iter().map(|&row| rows.weights[row]).collect(),
            blocks: kept.iter().map(|&row| rows.blocks[row]).collect(),
        })
    };
    let mut merged = part(&|row| row < 40);
    merged.merge(&part(&|row| row >= 40));
    let [one, other] = [&whole, &merged].map(|moments| moments.fit_halves(1.0));
    assert_close(one.error, other.error, "the error");
    let [one, other] = [(&whole, &one), (&merged, &other)]
        .map(|(moments, fits)| Sensitivity::new(moments).of_variables(&fits.weights[0]));
    one.iter().zip(&other).for_each(|(one, other)| assert_close(*one, *other, "a sensitivity"));
}
