//! The file of a metric: safetensors with a checksum, as the file of moments.
//!
//! | array | holds |
//! |---|---|
//! | `axes` | L, turned: axis by axis, an entry a term |
//! | `offsets` | the mean of each coordinate |
//! | `points` | the training rows, coordinate by coordinate, class by class |
//!
//! The header has one entry, `tamis-metric`: version, checksum and the rest as JSON (variables, terms, rank-one updates, classes,
//! params, cross-validation results), separated by blanks. The file is replaced atomically. All values that are read are
//! checked before use.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde::{Deserialize, Serialize};

use super::MetricError;
use super::dataset::Variable;
use super::learning_curve::CvResult;
use super::metric::{Metric, Term};
use super::params::Params;
use tamis::data::Label;
use tamis::data::f64_codec::{bytes_of, doubles};
use tamis::data::replace_file;
use tamis::data::tensor_file::{Arrays, TensorFile};
use tamis::model::MatrixColumns;
use tamis::parse::schema::ModelSchema;

/// The version this build writes, and the newest it reads.
const FORMAT: TensorFile = TensorFile { name: "tamis-metric", version: 1 };

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    name: String,
    params: Option<Params>,
    cv_results: Vec<CvResult>,
    n_neighbors: usize,
    metric_neighbors: usize,
    classes: Vec<Label>,
    class_sizes: Vec<usize>,
    columns: Option<ModelSchema>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    matrix: Option<MatrixColumns>,
    n_features: usize,
    variables: Vec<Variable>,
    terms: Vec<Term>,
    updates: Vec<(f64, Vec<(u32, f64)>)>,
}

impl Metric {
    /// Saves the metric: the old file stays until the new one is whole. A metric that could not be loaded is an error.
    pub fn save(&self, path: &Path) -> Result<(), MetricError> {
        let failed = |source| MetricError::Write { path: path.to_path_buf(), source };
        let bytes = self.to_bytes();
        if let Err(MetricError::NotAMetric { reason, .. }) = Metric::from_bytes(&bytes, path) {
            return Err(MetricError::NotSaved { path: path.to_path_buf(), reason });
        }
        replace_file(path, &bytes).map_err(failed)
    }

    /// The bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let about = About {
            name: self.name.clone(),
            params: self.params.clone(),
            cv_results: self.cv_results.clone(),
            n_neighbors: self.n_neighbors,
            metric_neighbors: self.metric_neighbors,
            classes: self.classes.clone(),
            class_sizes: self.class_sizes.clone(),
            columns: self.columns.clone(),
            matrix: self.matrix.clone(),
            n_features: self.n_features,
            variables: self.variables.clone(),
            terms: self.terms.clone(),
            updates: self.updates.clone(),
        };
        let about = serde_json::to_string(&about).expect("plain data becomes JSON");
        let points: Vec<u8> = self.points.iter().flat_map(|point| point.to_le_bytes()).collect();
        let arrays = [
            ("axes", Dtype::F64, bytes_of(self.axes.iter().copied())),
            ("offsets", Dtype::F64, bytes_of(self.offsets.iter().copied())),
            ("points", Dtype::F32, points),
        ];
        let arrays: Arrays = arrays.into_iter().map(|(name, kind, bytes)| (name.into(), (kind, bytes))).collect();
        FORMAT.write(&about, &arrays)
    }

    /// Loads a metric.
    pub fn load(path: &Path) -> Result<Metric, MetricError> {
        let failed = |source| MetricError::Open { path: path.to_path_buf(), source };
        let bytes = std::fs::read(path).map_err(failed)?;
        Metric::from_bytes(&bytes, path)
    }

    /// A metric from the bytes of its file; `path` is for messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Metric, MetricError> {
        let path = path.to_path_buf();
        let not_one = |reason: String| MetricError::NotAMetric { path: path.clone(), reason };
        let broken = |source| MetricError::File { path: path.clone(), source };
        let (about, arrays) = FORMAT.read(bytes).map_err(broken)?;
        let about: About = serde_json::from_str(&about).map_err(|error| not_one(error.to_string()))?;
        assemble(about, &arrays).map_err(not_one)
    }
}

/// A metric from arrays whose bytes are those that were written; what they say is still looked at.
fn assemble(about: About, arrays: &BTreeMap<String, TensorView<'_>>) -> Result<Metric, String> {
    let array = |name: &str, kind: Dtype| match arrays.get(name) {
        Some(view) if view.dtype() == kind => Ok(view.data()),
        _ => Err(format!("the array {name} is missing")),
    };
    let (axes, offsets) = (doubles(array("axes", Dtype::F64)?), doubles(array("offsets", Dtype::F64)?));
    let word = |word: &[u8]| f32::from_le_bytes(word.try_into().expect("four bytes"));
    let points: Vec<f32> = array("points", Dtype::F32)?.chunks_exact(4).map(word).collect();
    check(&about, &axes, &offsets, &points)?;
    let About { name, params, cv_results, n_neighbors, metric_neighbors, .. } = about;
    let About { classes, class_sizes, columns, matrix, n_features, variables, terms, updates, .. } = about;
    Ok(Metric {
        name,
        params,
        cv_results,
        n_neighbors,
        metric_neighbors,
        classes,
        columns,
        matrix,
        variables,
        n_features,
        terms,
        updates,
        axes,
        offsets,
        points,
        class_sizes,
    })
}

fn check(about: &About, axes: &[f64], offsets: &[f64], points: &[f32]) -> Result<(), String> {
    let finite = axes.iter().chain(offsets).all(|one| one.is_finite()) && points.iter().all(|one| one.is_finite());
    if !finite {
        return Err("a coordinate is not finite".into());
    }
    if !(1..=1000).contains(&about.n_neighbors) || !(1..=1000).contains(&about.metric_neighbors) {
        return Err("the number of neighbours is out of range".into());
    }
    if about.classes.len() < 2 || about.classes.len() != about.class_sizes.len() {
        return Err("classes and their sizes do not match".into());
    }
    let scaled = |one: &Variable| one.mean.is_finite() && one.std.is_finite() && one.std > 0.0;
    if !about.variables.iter().all(scaled) {
        return Err("a variable has no standard deviation".into());
    }
    let known = |term: &Term| {
        let inside = term.variables.iter().all(|&one| (one as usize) < about.variables.len());
        inside && !term.variables.is_empty() && term.scale.is_finite() && term.scale > 0.0
    };
    if about.terms.is_empty() || !about.terms.iter().all(known) {
        return Err("a term has no variables or an invalid scale".into());
    }
    let good_update = |(weight, entries): &(f64, Vec<(u32, f64)>)| {
        let good = |&(term, value): &(u32, f64)| (term as usize) < about.terms.len() && value.is_finite();
        *weight > 0.0 && weight.is_finite() && entries.iter().all(good)
    };
    if !about.updates.iter().all(good_update) {
        return Err("a rank-one update has an unknown term or no weight".into());
    }
    let rows = about.class_sizes.iter().try_fold(0_usize, |sum, &size| sum.checked_add(size));
    let dimensions = if axes.is_empty() { about.terms.len() } else { axes.len() / about.terms.len() };
    let fits = (axes.is_empty() || axes.len() == dimensions * about.terms.len()) && offsets.len() == dimensions;
    match rows.and_then(|rows| rows.checked_mul(dimensions)) {
        Some(needed) if needed == points.len() && needed > 0 && fits => Ok(()),
        _ => Err("the arrays do not match the terms and rows".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::super::{Candidate, EarlyStopping, MetricOptions, Params, fit};
    use super::*;

    fn metric() -> Metric {
        let mut text = String::from("a,b,c,y\n");
        for i in 0..40 {
            let (a, b) = (f64::from(i * 7 % 20), f64::from(i * 11 % 13));
            text += &format!("{a},{b},{},{}\n", i % 3, if a > 9.0 { "high" } else { "low" });
        }
        let params = Params { max_iter: 12, burn_in: 0, ..Params::default() };
        let candidates = vec![Candidate { name: "é".into(), params: Some(params) }];
        let options = MetricOptions { candidates, early_stopping: EarlyStopping::Off, ..MetricOptions::default() };
        fit(&dataset("t.csv", &text).unwrap(), &options, &mut ()).unwrap().metric
    }

    fn load(bytes: &[u8]) -> Result<Metric, MetricError> {
        Metric::from_bytes(bytes, Path::new("m.metric"))
    }

    #[test]
    fn a_metric_survives_its_file_bit_for_bit() {
        let metric = metric();
        assert!(metric.dimensions() > 0 && !metric.updates.is_empty());
        assert_eq!(load(&metric.to_bytes()).unwrap(), metric);
    }

    #[test]
    fn any_flipped_bit_is_noticed() {
        let metric = metric();
        let bytes = metric.to_bytes();
        for at in (0..bytes.len()).step_by(7) {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            // White space of the header's padding may change without changing anything.
            assert!(load(&bad).map_or(true, |same| same == metric), "byte {at}");
        }
        assert!((0..bytes.len()).step_by(5).all(|end| load(&bytes[..end]).is_err()));
    }

    #[test]
    fn complaints_say_what_is_wrong() {
        assert!(load(b"not at all").unwrap_err().to_string().contains("not a tamis-metric file"));
        let metric = metric();
        let mut bytes = metric.to_bytes();
        *bytes.last_mut().unwrap() ^= 1;
        assert_eq!(load(&bytes).unwrap_err().to_string(), "m.metric: damaged: checksum mismatch");
        let error = |change: &dyn Fn(&mut Metric)| {
            let mut changed = metric.clone();
            change(&mut changed);
            load(&changed.to_bytes()).unwrap_err().to_string()
        };
        assert!(error(&|metric| metric.points[0] = f32::NAN).contains("not finite"));
        assert!(error(&|metric| metric.points.truncate(1)).contains("do not match"));
        assert!(error(&|metric| metric.class_sizes[0] = usize::MAX).contains("do not match"));
        assert!(error(&|metric| metric.terms[0].variables[0] = 99).contains("no variables"));
        assert!(error(&|metric| metric.updates[0].1[0].0 = 99).contains("unknown term"));
        assert!(error(&|metric| metric.variables[0].std = 0.0).contains("no standard deviation"));
        assert!(error(&|metric| drop(metric.classes.pop())).contains("classes"));
        assert!(error(&|metric| metric.n_neighbors = 0).contains("neighbours"));
    }
}
