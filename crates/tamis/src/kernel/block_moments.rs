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
use faer::{Accum, Mat, MatRef, Par};

use super::frequencies::Frequencies;
use super::ridge::{Moments, add_lower_product};
use super::rows::{BLOCKS, HALVES, Rows};
use crate::data::{State, StateError};
use crate::model::kernel::cos_sin_all;

/// The penalties that are compared.
pub const PENALTIES: [f64; 11] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];
/// Rows that are multiplied together.
const CHUNK: usize = 512;

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
        BlockMoments {
            blocks: (0..BLOCKS).map(|_| Moments::zeros(features + variables + 1, outputs)).collect(),
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
                let mut inputs = Mat::zeros(chunk.len(), columns.len());
                for (place, &column) in columns.iter().enumerate() {
                    let from = rows.inputs.col_as_slice(column);
                    let cells = inputs.col_as_slice_mut(place).iter_mut().zip(chunk);
                    cells.for_each(|(cell, &row)| *cell = from[row]);
                }
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
        let mut values = Mat::zeros(rows, features + variables + 1);
        let angles = values.as_mut().subcols_mut(0, features);
        matmul(angles, Accum::Replace, inputs, self.frequencies.matrix.as_ref(), 1.0, Par::Seq);
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let mut sines = Mat::zeros(rows, features);
        for feature in 0..features {
            let (cosines, sines) = (values.col_as_slice_mut(feature), sines.col_as_slice_mut(feature));
            cos_sin_all(cosines, self.frequencies.phases[feature], sines);
            cosines.iter_mut().zip(&roots).for_each(|(cosine, root)| *cosine *= root);
            if with_sines {
                sines.iter_mut().zip(&roots).for_each(|(sine, root)| *sine *= root);
                self.sine_sums[feature] += sines.iter().zip(&roots).map(|(sine, root)| root * sine).sum::<f64>();
            }
        }
        for variable in 0..variables {
            (0..rows).for_each(|row| values[(row, features + variable)] = roots[row] * inputs[(row, variable)]);
        }
        values.col_as_slice_mut(features + variables).copy_from_slice(&roots);
        let scaled = Mat::from_fn(rows, targets.ncols(), |row, output| roots[row] * targets[(row, output)]);
        let own = &mut self.blocks[block];
        add_lower_product(&mut own.gram, &values);
        if with_sines {
            add_lower_product(&mut self.sines, &sines);
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

    /// Adds them to a state, without the features.
    pub(super) fn save(&self, state: &mut State) {
        for (number, block) in self.blocks.iter().enumerate() {
            state.put(&format!("{number}.gram"), packed(&block.gram));
            let columns = (0..block.cross.ncols()).flat_map(|output| block.cross.col_as_slice(output));
            state.put(&format!("{number}.cross"), columns.copied().collect());
            state.put(&format!("{number}.sums"), vec![block.squares, block.weight]);
        }
        state.put("sines", packed(&self.sines));
        state.put("sine_sums", self.sine_sums.clone());
        state.put("sine_weight", vec![self.sine_weight]);
    }

    /// Takes moments of given features out of a state.
    pub(super) fn restore(state: &mut State, frequencies: Frequencies, outputs: usize) -> Result<Self, StateError> {
        let mut moments = BlockMoments::new(frequencies, outputs);
        let features = moments.frequencies.phases.len();
        let size = moments.blocks[0].gram.nrows();
        for number in 0..BLOCKS {
            let [gram, cross, sums] = ["gram", "cross", "sums"].map(|name| format!("{number}.{name}"));
            let numbers = state.take(&cross)?;
            if numbers.len() != size * outputs {
                return Err(state.wrong_shape(&cross));
            }
            let [squares, weight] = state.take_fixed(&sums)?;
            moments.blocks[number] = Moments {
                gram: unpacked(&state.take(&gram)?, size).ok_or_else(|| state.wrong_shape(&gram))?,
                cross: Mat::from_fn(size, outputs, |row, output| numbers[output * size + row]),
                squares,
                weight,
            };
        }
        moments.sines = unpacked(&state.take("sines")?, features).ok_or_else(|| state.wrong_shape("sines"))?;
        moments.sine_sums = state.take("sine_sums")?;
        [moments.sine_weight] = state.take_fixed("sine_weight")?;
        if moments.sine_sums.len() != features {
            return Err(state.wrong_shape("sine_sums"));
        }
        Ok(moments)
    }

    /// The total weight.
    pub fn weight(&self) -> f64 {
        self.blocks.iter().map(|block| block.weight).sum()
    }

    /// Ridge weights of every half and its complement, and their error on the other half.
    pub fn fit_halves(&self, penalty: f64) -> HalfFits {
        let mut split = Split::new(self);
        HalfFits::of(HALVES.iter().map(|half| split.set(self, half).fit(penalty)).collect())
    }

    /// The place of the penalty of least error on the first half, found by walking from `start` to the nearest minimum;
    /// and the fits of all halves with it.
    pub fn fit_best_halves(&self, start: usize) -> (usize, HalfFits) {
        let mut split = Split::new(self);
        split.set(self, &HALVES[0]);
        let mut fits: [Option<SplitFit>; PENALTIES.len()] = [const { None }; PENALTIES.len()];
        let mut error = |place: usize| fits[place].get_or_insert_with(|| split.fit(PENALTIES[place])).1;
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
        let others = HALVES[1..].iter().map(|half| split.set(self, half).fit(PENALTIES[place]));
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

/// The moments of a half and of its complement, and the memory of a fit: one after the other, all splits use the same.
struct Split {
    sides: [Moments; 2],
    matrix: Mat<f64>,
}

impl Split {
    fn new(moments: &BlockMoments) -> Self {
        let (size, outputs) = (moments.blocks[0].gram.nrows(), moments.blocks[0].cross.ncols());
        Split { sides: [0; 2].map(|_| Moments::zeros(size, outputs)), matrix: Mat::zeros(size - 1, size - 1) }
    }

    /// Becomes the split of a half.
    fn set(&mut self, moments: &BlockMoments, half: &[usize; 4]) -> &mut Self {
        for (side, inside) in self.sides.iter_mut().zip([true, false]) {
            let mut members = (0..BLOCKS).filter(|block| half.contains(block) == inside);
            side.set_to_sum([0; 4].map(|_| &moments.blocks[members.next().expect("a half has four blocks")]));
        }
        self
    }

    fn fit(&mut self, penalty: f64) -> SplitFit {
        let [one, other] = &self.sides;
        let weights = [one, other].map(|side| side.ridge_in(penalty, &mut self.matrix));
        let error = other.squared_error(&weights[0]) + one.squared_error(&weights[1]);
        let total = (one.weight + other.weight) * weights[0].ncols() as f64;
        (weights, error / total.max(f64::MIN_POSITIVE))
    }
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

/// The lower triangle of a square matrix, column by column.
fn packed(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.ncols()).flat_map(|column| &matrix.col_as_slice(column)[column..]).copied().collect()
}

/// The matrix of a packed lower triangle; `None` if the length is another one.
fn unpacked(numbers: &[f64], size: usize) -> Option<Mat<f64>> {
    if numbers.len() != size * (size + 1) / 2 {
        return None;
    }
    let mut matrix = Mat::zeros(size, size);
    let mut rest = numbers;
    for column in 0..size {
        let (own, others) = rest.split_at(size - column);
        matrix.col_as_slice_mut(column)[column..].copy_from_slice(own);
        rest = others;
    }
    Some(matrix)
}
