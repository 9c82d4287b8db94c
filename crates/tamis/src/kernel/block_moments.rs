//! Second moments of features by block of rows, and ridge regression on any union of blocks.
//!
//! With Φ = (cos(w·z + b), z, 1), one pass over the rows gives for each block v
//! ```text
//! G_v = ΣᵥwΦΦᵀ,   c_v = ΣᵥwΦyᵀ,   yy_v = Σᵥwy²,   n_v = Σᵥw
//! ```
//! and all that follows is algebra. The weights of a set of blocks h minimise Σ w(y − Φβ)² + λ‖β‖², the intercept free;
//! their squared error on other blocks is yy − 2⟨β, c⟩ + ⟨β, Gβ⟩, which needs no further pass.
//!
//! | symbol | here | value | origin |
//! |---|---|---|---|
//! | λ | [`PENALTIES`] | of 0.01 … 1000 the one of least error on half of the rows | ours |
//!
//! λ is absolute, not a multiple of the number of rows: the same λ serves halves and all rows. Moments of two sets of rows
//! are added by [`BlockMoments::merge`]. Cost: a pass costs n·(D + k)²/2 products, a solution (D + k)³/3. Sums are in
//! double precision: in single precision the Gram matrix is not positive definite.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, MatRef, Par, Side};

use super::frequencies::Frequencies;
use super::rows::{BLOCKS, HALVES, Rows};
use crate::model::kernel::cos_sin;

/// The penalties that are compared.
pub const PENALTIES: [f64; 11] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
/// Rows that are multiplied together.
const CHUNK: usize = 512;
/// A ridge that keeps the matrix positive definite, as a share of its trace.
const LEAST_RIDGE: f64 = 1e-9;

/// Moments of a set of rows; of Gram matrices the lower triangle is filled.
#[derive(Clone, Debug)]
pub struct Moments {
    gram: Mat<f64>,
    cross: Mat<f64>,
    squares: f64,
    weight: f64,
}

impl Moments {
    fn zeros(size: usize, outputs: usize) -> Self {
        Moments { gram: Mat::zeros(size, size), cross: Mat::zeros(size, outputs), squares: 0.0, weight: 0.0 }
    }

    fn add(&mut self, other: &Moments) {
        self.gram += &other.gram;
        self.cross += &other.cross;
        self.squares += other.squares;
        self.weight += other.weight;
    }

    /// The ridge weights: a row for each feature, each variable and the intercept, a column for each output.
    pub fn ridge(&self, penalty: f64) -> Mat<f64> {
        let (last, outputs) = (self.gram.nrows() - 1, self.cross.ncols());
        let sums: Vec<f64> = (0..last).map(|column| self.gram.col_as_slice(column)[last]).collect();
        let means: Vec<f64> = sums.iter().map(|sum| sum / self.weight).collect();
        let mut matrix = Mat::zeros(last, last);
        for column in 0..last {
            let own = self.gram.col_as_slice(column)[column..last].iter().zip(&means[column..]);
            let target = &mut matrix.col_as_slice_mut(column)[column..];
            target.iter_mut().zip(own).for_each(|(target, (gram, mean))| *target = gram - mean * sums[column]);
        }
        let trace: f64 = (0..last).map(|place| matrix[(place, place)]).sum();
        (0..last).for_each(|place| matrix[(place, place)] += penalty + LEAST_RIDGE * trace);
        let centre = |output: usize| self.cross[(last, output)] / self.weight;
        let right = Mat::from_fn(last, outputs, |row, output| self.cross[(row, output)] - sums[row] * centre(output));
        let solved = match Llt::new(matrix.as_ref(), Side::Lower) {
            Ok(factor) => factor.solve(&right),
            // Only numbers that overflow lead here: no weights are better than wrong ones.
            Err(_) => Mat::zeros(last, outputs),
        };
        let intercept = |output: usize| {
            let parts = means.iter().zip(solved.col_as_slice(output));
            centre(output) - parts.map(|(mean, weight)| mean * weight).sum::<f64>()
        };
        Mat::from_fn(last + 1, outputs, |row, output| match row == last {
            false => solved[(row, output)],
            true => intercept(output),
        })
    }

    /// The sum of squared errors of some weights, over rows and outputs.
    pub fn squared_error(&self, weights: &Mat<f64>) -> f64 {
        let mut error = self.squares;
        for output in 0..weights.ncols() {
            let (own, cross) = (weights.col_as_slice(output), self.cross.col_as_slice(output));
            for column in 0..own.len() {
                let gram = &self.gram.col_as_slice(column)[column..];
                let below: f64 = gram[1..].iter().zip(&own[column + 1..]).map(|(gram, weight)| gram * weight).sum();
                error += own[column] * (2.0 * below + gram[0] * own[column] - 2.0 * cross[column]);
            }
        }
        error
    }
}

/// The halves of cross-fitting with their weights.
pub struct HalfFits {
    /// By half: the weights of its blocks, and of the others.
    pub weights: Vec<[Mat<f64>; 2]>,
    /// The mean squared error of each half's weights on the other half, in units of the variance.
    pub error: f64,
}

impl HalfFits {
    fn of(fits: Vec<SplitFit>) -> Self {
        let error = fits.iter().map(|(_, error)| error).sum::<f64>() / fits.len() as f64;
        HalfFits { weights: fits.into_iter().map(|(weights, _)| weights).collect(), error }
    }
}

/// Moments of features by block.
#[derive(Clone, Debug)]
pub struct BlockMoments {
    blocks: Vec<Moments>,
    /// Σ w·sin·sinᵀ, Σ w·sin and Σ w over the rows that were added with their sines.
    sines: Mat<f64>,
    sine_sums: Vec<f64>,
    sine_weight: f64,
    /// The features.
    pub frequencies: Frequencies,
}

impl BlockMoments {
    /// Moments of no rows.
    pub fn new(frequencies: Frequencies, outputs: usize) -> Self {
        let (variables, features) = (frequencies.matrix.nrows(), frequencies.matrix.ncols());
        let block = Moments::zeros(features + variables + 1, outputs);
        BlockMoments {
            blocks: vec![block; BLOCKS],
            sines: Mat::zeros(features, features),
            sine_sums: vec![0.0; features],
            sine_weight: 0.0,
            frequencies,
        }
    }

    /// Moments of the rows of a search, whose variables are the given columns.
    pub fn of(rows: &Rows, columns: &[usize], frequencies: Frequencies) -> Self {
        let mut moments = BlockMoments::new(frequencies, rows.targets.ncols());
        for block in 0..BLOCKS {
            let members: Vec<usize> = (0..rows.blocks.len()).filter(|&row| rows.blocks[row] == block).collect();
            for chunk in members.chunks(CHUNK) {
                let inputs =
                    Mat::from_fn(chunk.len(), columns.len(), |row, column| rows.inputs[(chunk[row], columns[column])]);
                let targets =
                    Mat::from_fn(chunk.len(), rows.targets.ncols(), |row, output| rows.targets[(chunk[row], output)]);
                let weights: Vec<f64> = chunk.iter().map(|&row| rows.weights[row]).collect();
                moments.add(block, inputs.as_ref(), targets.as_ref(), &weights, true);
            }
        }
        moments
    }

    /// Adds rows to a block. Only sensitivities need their sines, and a sample of the rows is enough for those.
    pub fn add(
        &mut self,
        block: usize,
        inputs: MatRef<'_, f64>,
        targets: MatRef<'_, f64>,
        weights: &[f64],
        with_sines: bool,
    ) {
        let (rows, variables, features) = (inputs.nrows(), inputs.ncols(), self.frequencies.phases.len());
        let mut angles = Mat::zeros(rows, features);
        matmul(angles.as_mut(), Accum::Replace, inputs, self.frequencies.matrix.as_ref(), 1.0, Par::Seq);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let mut values = Mat::zeros(rows, features + variables + 1);
        for feature in 0..features {
            let phase = self.frequencies.phases[feature];
            let mut sum = 0.0;
            let own = angles.col_as_slice_mut(feature);
            let cosines = values.col_as_slice_mut(feature);
            for ((angle, cosine), root) in own.iter_mut().zip(cosines).zip(&roots) {
                let (c, s) = cos_sin(*angle + phase);
                (*cosine, *angle) = (root * c, root * s);
                sum += root * root * s;
            }
            self.sine_sums[feature] += if with_sines { sum } else { 0.0 };
        }
        for variable in 0..variables {
            (0..rows).for_each(|row| values[(row, features + variable)] = roots[row] * inputs[(row, variable)]);
        }
        values.col_as_slice_mut(features + variables).copy_from_slice(&roots);
        let scaled = Mat::from_fn(rows, targets.ncols(), |row, output| roots[row] * targets[(row, output)]);
        let own = &mut self.blocks[block];
        add_lower_product(&mut own.gram, &values);
        if with_sines {
            add_lower_product(&mut self.sines, &angles);
            self.sine_weight += weights.iter().sum::<f64>();
        }
        matmul(own.cross.as_mut(), Accum::Add, values.transpose(), scaled.as_ref(), 1.0, Par::Seq);
        own.squares += (0..scaled.ncols()).map(|output| scaled.col(output).squared_norm_l2()).sum::<f64>();
        own.weight += weights.iter().sum::<f64>();
    }

    /// Adds the moments of other rows.
    pub fn merge(&mut self, other: &BlockMoments) {
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(one, other)| one.add(other));
        self.sines += &other.sines;
        self.sine_weight += other.sine_weight;
        self.sine_sums.iter_mut().zip(&other.sine_sums).for_each(|(one, other)| *one += other);
    }

    /// The moments of some blocks.
    pub fn sum(&self, is_member: impl Fn(usize) -> bool) -> Moments {
        let first = &self.blocks[0];
        let mut sum = Moments::zeros(first.gram.nrows(), first.cross.ncols());
        self.blocks.iter().enumerate().filter(|(block, _)| is_member(*block)).for_each(|(_, block)| sum.add(block));
        sum
    }

    /// The total weight.
    pub fn weight(&self) -> f64 {
        self.blocks.iter().map(|block| block.weight).sum()
    }

    /// The sums of a half and of the other half.
    fn split(&self, half: &[usize]) -> [Moments; 2] {
        [true, false].map(|inside| self.sum(|block| half.contains(&block) == inside))
    }

    /// Ridge weights of every half and its complement, and their error on the other half.
    pub fn fit_halves(&self, penalty: f64) -> HalfFits {
        let fits = HALVES.iter().map(|half| fit_split(&self.split(half), penalty)).collect();
        HalfFits::of(fits)
    }

    /// The place of the penalty of least error on the first half, found by walking from `start` to the nearest minimum;
    /// and the fits of all halves with it.
    pub fn fit_best_halves(&self, start: usize) -> (usize, HalfFits) {
        let split = self.split(&HALVES[0]);
        let mut fits: [Option<SplitFit>; PENALTIES.len()] = [const { None }; PENALTIES.len()];
        let mut error = |place: usize| fits[place].get_or_insert_with(|| fit_split(&split, PENALTIES[place])).1;
        let mut place = start;
        loop {
            let beside = [place.checked_sub(1), Some(place + 1)].into_iter().flatten();
            let beside: Vec<usize> = beside.filter(|&next| next < PENALTIES.len()).collect();
            let next = beside.into_iter().min_by(|&a, &b| error(a).total_cmp(&error(b)));
            match next.filter(|&next| error(next) < error(place)) {
                Some(next) => place = next,
                None => break,
            }
        }
        let first = fits[place].take().expect("it was fitted");
        let others = HALVES[1..].iter().map(|half| fit_split(&self.split(half), PENALTIES[place]));
        (place, HalfFits::of(std::iter::once(first).chain(others).collect()))
    }

    /// Mean of cos·cosᵀ over all rows, symmetric.
    pub(super) fn mean_cosines(&self) -> Mat<f64> {
        let (features, weight) = (self.frequencies.phases.len(), self.weight());
        let mut sum = Mat::<f64>::zeros(features, features);
        for block in &self.blocks {
            sum += block.gram.as_ref().submatrix(0, 0, features, features);
        }
        symmetric(&sum, weight)
    }

    /// Mean of sin·sinᵀ, symmetric, and mean of sin.
    pub(super) fn mean_sines(&self) -> (Mat<f64>, Vec<f64>) {
        let sums = self.sine_sums.iter();
        (symmetric(&self.sines, self.sine_weight), sums.map(|sum| sum / self.sine_weight).collect())
    }
}

/// The weights of the two sides of a split, and their error on each other.
type SplitFit = ([Mat<f64>; 2], f64);

fn fit_split(split: &[Moments; 2], penalty: f64) -> SplitFit {
    let weights = split.each_ref().map(|half| half.ridge(penalty));
    let error = split[1].squared_error(&weights[0]) + split[0].squared_error(&weights[1]);
    let total = (split[0].weight + split[1].weight) * weights[0].ncols() as f64;
    (weights, error / total.max(f64::MIN_POSITIVE))
}

fn add_lower_product(sum: &mut Mat<f64>, values: &Mat<f64>) {
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    let (left, right) = (values.transpose(), values.as_ref());
    triangular::matmul(sum.as_mut(), lower, Accum::Add, left, full, right, full, 1.0, Par::Seq);
}

fn symmetric(lower: &Mat<f64>, divisor: f64) -> Mat<f64> {
    let mut full = Mat::zeros(lower.nrows(), lower.ncols());
    for column in 0..lower.ncols() {
        let own = lower.col_as_slice(column)[column..].iter();
        own.zip(&mut full.col_as_slice_mut(column)[column..]).for_each(|(own, cell)| *cell = own / divisor);
        (0..column).for_each(|row| full[(row, column)] = full[(column, row)]);
    }
    full
}
