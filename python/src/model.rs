//! Models for Python: content, files and predictions.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis::data::{FeatureKey, Label, Vocabulary};
use tamis::eval::{Evaluation, UnknownClasses, evaluate, measure};
use tamis::export::{Dialect, ExportOptions, LinearForm, Points, Scorecard, Target, export};
use tamis::io::{ReadError, RowSource, RowStream};
use tamis::loss::Loss;
use tamis::model::kernel::KernelFunction;
use tamis::model::{MatrixColumns, Model, Output, Predictor, Resize, Task};
use tamis_report::{of_model, of_scorecard};

use crate::error::{OrRaise, param_error};
use crate::fit::{Input, input_of};
use crate::input::Table;
use crate::reading::{Reading, sources};

/// A model.
#[pyclass(name = "Model", module = "tamis._core", frozen)]
pub struct PyModel {
    pub model: Model,
    /// Made when rows are first predicted.
    predictor: OnceLock<Predictor>,
}

impl From<Model> for PyModel {
    fn from(model: Model) -> Self {
        let model = with_sorted_classes(model);
        PyModel { predictor: OnceLock::new(), model }
    }
}

/// The model with its classes in order, as scikit-learn has them. Classes that appear late in a stream come last in its
/// model.
fn with_sorted_classes(mut model: Model) -> Model {
    let order = |one: &Label, other: &Label| match (one, other) {
        (Label::Number(one), Label::Number(other)) => one.total_cmp(other),
        (Label::Text(one), Label::Text(other)) => one.cmp(other),
        (one, other) => matches!(one, Label::Text(_)).cmp(&matches!(other, Label::Text(_))),
    };
    let Task::Classes(classes) = &mut model.task else { return model };
    if classes.len() > 2 && !classes.is_sorted_by(|one, other| order(one, other).is_le()) {
        classes.sort_by(order);
        let by_class = |one: &Output, other: &Output| match (&one.class, &other.class) {
            (Some(one), Some(other)) => order(one, other),
            _ => Ordering::Equal,
        };
        model.outputs.sort_by(by_class);
        let steps = model.size_path.iter_mut().flat_map(|size_path| &mut size_path.sizes);
        steps.for_each(|step| step.outputs.sort_by(by_class));
    }
    model
}

/// Names, weights, scales and selection frequencies of an output's features.
type OutputArrays<'py> =
    (Vec<String>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Option<Bound<'py, PyArray1<f64>>>);

fn output_arrays<'py>(output: &Output, py: Python<'py>) -> OutputArrays<'py> {
    let features = &output.features;
    let array = |numbers: Vec<f64>| PyArray1::from_vec(py, numbers);
    let frequency: Option<Vec<f64>> = features.iter().map(|feature| feature.frequency).collect();
    (
        features.iter().map(|feature| feature.name.clone()).collect(),
        array(features.iter().map(|feature| feature.weight).collect()),
        array(features.iter().map(|feature| feature.scale).collect()),
        frequency.filter(|list| !list.is_empty()).map(array),
    )
}

pub fn label_object(label: &Label, py: Python<'_>) -> PyResult<Py<PyAny>> {
    Ok(match label {
        Label::Number(number) => number.into_pyobject(py)?.into_any().unbind(),
        Label::Text(text) => text.into_pyobject(py)?.into_any().unbind(),
        Label::Absent => py.None(),
    })
}

#[pymethods]
impl PyModel {
    /// Loads a model file, the program's own.
    #[staticmethod]
    fn load(path: PathBuf, py: Python<'_>) -> PyResult<PyModel> {
        Ok(py.detach(|| Model::load(&path)).or_raise(py)?.into())
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8], py: Python<'_>) -> PyResult<PyModel> {
        Ok(Model::from_bytes(bytes, Path::new("the pickled model")).or_raise(py)?.into())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let make = py.get_type::<PyModel>().getattr("from_bytes")?;
        Ok((make, (PyBytes::new(py, self.model.to_text().as_bytes()),)))
    }

    /// Saves the model with the columns that Python fitted it to: their number, their names and the features they gave.
    /// An existing file is replaced atomically.
    #[pyo3(signature = (path, matrix=None))]
    fn save(&self, path: PathBuf, matrix: Option<(usize, Vec<String>, Vec<String>)>, py: Python<'_>) -> PyResult<()> {
        let columns = matrix.map(|(count, names, features)| MatrixColumns { count, names, features });
        let model = Model { matrix: columns.or_else(|| self.model.matrix.clone()), ..self.model.clone() };
        py.detach(|| model.save(&path)).or_raise(py)
    }

    /// The columns that Python fitted the model to: their number, their names and the features they gave.
    #[getter]
    fn matrix(&self) -> Option<(usize, Vec<String>, Vec<String>)> {
        let MatrixColumns { count, names, features } = self.model.matrix.clone()?;
        Some((count, names, features))
    }

    /// The program's report on the model: one page of HTML that needs no network. `file` is what the page calls the
    /// model, and `names` what it calls the features. With labelled `rows` and a name of them, it is evaluated on them.
    #[pyo3(signature = (file, names=None, rows=None))]
    fn report(
        &self,
        file: &str,
        names: Option<HashMap<String, String>>,
        rows: Option<(String, Bound<'_, PyAny>)>,
        py: Python<'_>,
    ) -> PyResult<String> {
        let names = names.unwrap_or_default();
        let model = self.with_names(&names);
        let found =
            rows.map(|(title, rows)| Ok::<_, PyErr>((title, self.evaluation(&rows, &names, py)?))).transpose()?;
        let evaluation = found.as_ref().map(|(title, found)| (title.as_str(), found));
        Ok(of_model(&model, &tamis_report::ReportContext { file, evaluation, ..Default::default() }).html())
    }

    /// The model for another program, as bytes. `names` are those of the features for users.
    #[pyo3(signature = (to, names, *, dialect, long, table, id_column, points, html))]
    #[allow(clippy::too_many_arguments, reason = "the keywords of `export` in Python")]
    fn export<'py>(
        &self,
        to: &str,
        names: HashMap<String, String>,
        dialect: &str,
        long: bool,
        table: String,
        id_column: String,
        points: [f64; 3],
        html: Option<String>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let unknown = |what: &str, found: &str, known: Vec<&str>| {
            param_error(&format!("{what} must be one of {}, got {found:?}", known.join(", ")), py)
        };
        let target = Target::of_name(to).ok_or_else(|| unknown("to", to, Target::ALL.map(Target::name).to_vec()))?;
        let dialect = Dialect::of_name(dialect)
            .ok_or_else(|| unknown("dialect", dialect, Dialect::ALL.map(Dialect::name).to_vec()))?;
        let [double_odds, base_points, base_odds] = points;
        let points = Points { double_odds, base_points, base_odds };
        let options = ExportOptions { dialect, is_long: long, table, id: id_column, points };
        let model = self.with_names(&names);
        let bytes = match html.filter(|_| target == Target::Scorecard) {
            None => export(&model, target, &options),
            Some(file) => LinearForm::new(&model, target)
                .and_then(|form| Scorecard::new(&form, points))
                .map(|card| of_scorecard(&card, &file).html().into_bytes()),
        };
        let bytes = bytes.map_err(|error| param_error(&error.to_string(), py))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The metrics of the model on labelled rows (a table, or paths and how to read them), as JSON.
    fn measure(&self, #[pyo3(from_py_with = input_of)] rows: Input<'_>, py: Python<'_>) -> PyResult<String> {
        let measure = |source: &mut dyn RowSource| measure(&self.model, source, UnknownClasses::Wrong);
        let found = self.with_rows(rows, measure, py)?.or_raise(py)?;
        Ok(serde_json::to_string(&found).expect("plain data becomes JSON"))
    }

    #[getter]
    fn text(&self) -> String {
        self.model.to_text()
    }

    /// How the model was made, as JSON.
    #[getter]
    fn recipe(&self) -> String {
        serde_json::to_string(&self.model.recipe).expect("plain data becomes JSON")
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.model.recipe.method_name()
    }

    /// Whether numbers are predicted by their logarithm.
    #[getter]
    fn has_log_link(&self) -> bool {
        self.model.loss.needs_counts()
    }

    #[getter]
    fn loss(&self) -> &'static str {
        self.model.loss.name()
    }

    /// The margin from which on the second of two classes is predicted.
    #[getter]
    fn boundary(&self) -> f64 {
        self.predictor().loss().boundary()
    }

    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.model.classes().iter().map(|label| label_object(label, py)).collect()
    }

    /// The training summary, as JSON.
    #[getter]
    fn seen(&self) -> String {
        serde_json::to_string(&self.model.seen).expect("plain data becomes JSON")
    }

    /// The schema of the training table, as JSON.
    #[getter]
    fn columns(&self) -> Option<String> {
        self.model.columns.as_ref().map(|known| serde_json::to_string(known).expect("plain data becomes JSON"))
    }

    #[getter]
    fn intercepts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.model.outputs.iter().map(|output| output.intercept))
    }

    /// For each output: names, weights, scales and selection frequencies of its features, largest effect first.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> Vec<OutputArrays<'py>> {
        self.model.outputs.iter().map(|output| output_arrays(output, py)).collect()
    }

    /// The size path, from all features down, without weights, as JSON; `None` if there is none.
    #[getter]
    fn size_path(&self) -> Option<String> {
        let mut size_path = self.model.size_path.clone()?;
        size_path.sizes.iter_mut().for_each(|step| step.outputs = Vec::new());
        serde_json::to_string(&size_path).ok()
    }

    /// The tests of the features, as JSON; `None` if they were not tested.
    #[getter]
    fn tests(&self) -> Option<String> {
        self.model.tests.as_ref().map(|tests| serde_json::to_string(tests).expect("plain data becomes JSON"))
    }

    /// How the features were sampled, as JSON; `None` if they were not.
    #[getter]
    fn sampling(&self) -> Option<String> {
        self.model.sampling.as_ref().map(|sampling| serde_json::to_string(sampling).expect("plain data becomes JSON"))
    }

    /// The variables, sizes and held-out errors of a kernel model, as JSON; `None` for other models.
    #[getter]
    fn kernel(&self) -> Option<String> {
        let mut kernel = self.model.kernel.clone()?;
        // Sizes that are kept have an empty function: Python needs none of its numbers.
        let functions = kernel.sizes.iter_mut().filter_map(|size| size.function.as_mut());
        functions.for_each(|function| *function = KernelFunction::default());
        serde_json::to_string(&kernel).ok()
    }

    /// The sizes stored with weights: size, intercepts, and outputs as in `outputs`.
    #[getter]
    fn sizes<'py>(&self, py: Python<'py>) -> Vec<(usize, Vec<f64>, Vec<OutputArrays<'py>>)> {
        let steps = self.model.size_path.iter().flat_map(|size_path| &size_path.sizes);
        let kept = steps.filter(|step| !step.outputs.is_empty());
        kept.map(|step| {
            let intercepts = step.outputs.iter().map(|output| output.intercept).collect();
            (step.size, intercepts, step.outputs.iter().map(|output| output_arrays(output, py)).collect())
        })
        .collect()
    }

    /// The model of the same training with another number of features, with a least selection frequency, or with the
    /// confirmed features.
    #[pyo3(signature = (size=None, frequency=None, fdr=None))]
    fn resize(
        &self,
        size: Option<usize>,
        frequency: Option<f64>,
        fdr: Option<f64>,
        py: Python<'_>,
    ) -> PyResult<PyModel> {
        let cut = match (size, frequency, fdr) {
            (Some(size), None, None) => Resize::Size(size),
            (None, Some(share), None) => Resize::Frequency(share),
            (None, None, Some(fdr)) => Resize::Fdr(fdr),
            _ => return Err(param_error("give one of n_features_to_select, frequency and fdr", py)),
        };
        Ok(self.model.resize(cut).or_raise(py)?.into())
    }

    /// Raw scores of rows: one row each, one column an output.
    fn margins<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let margins = table.read(py, |source| self.score(source))?.or_raise(py)?;
        self.as_array(margins, py)
    }

    /// The values of these features: one row each, one column a feature.
    fn values<'py>(
        &self,
        table: Table<'_>,
        features: Vec<String>,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut vocabulary = Vocabulary::new(None);
        let columns: Vec<usize> =
            features.iter().map(|name| vocabulary.intern(FeatureKey::from_name(name)) as usize).collect();
        let mut places = vec![0; features.len()];
        columns.iter().enumerate().for_each(|(place, &id)| places[id] = place);
        let run = |source: &mut dyn RowSource| -> Result<Vec<f64>, ReadError> {
            let mut values = Vec::new();
            while let Some(block) = source.next_block()? {
                for example in block.rows.lookup(&vocabulary).examples() {
                    let first = values.len();
                    values.resize(first + places.len(), 0.0);
                    example.row.iter().for_each(|(id, value)| values[first + places[id as usize]] = value);
                }
            }
            Ok(values)
        };
        let values = table.read(py, run)?.or_raise(py)?;
        let rows = values.len() / features.len().max(1);
        PyArray1::from_vec(py, values).reshape([rows, features.len()])
    }

    /// Raw scores of the rows of files.
    fn margins_of_files<'py>(
        &self,
        paths: Vec<String>,
        reading: Reading,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut stream = self.open_files(&paths, &reading, false, py)?;
        let margins = py.detach(|| self.score(&mut stream)).or_raise(py)?;
        self.as_array(margins, py)
    }
}

impl PyModel {
    /// The rows of files, as the model reads them.
    fn open_files(
        &self,
        paths: &[String],
        reading: &Reading,
        needs_target: bool,
        py: Python<'_>,
    ) -> PyResult<RowStream> {
        let files = sources(paths, reading, py)?;
        let mut options = reading.options(py)?;
        options.columns.needs_target = needs_target;
        options.columns.known = self.model.columns.clone();
        Ok(RowStream::open(files, options))
    }

    /// Calls `run` with labelled rows, without the interpreter lock.
    fn with_rows<R: Send>(
        &self,
        rows: Input<'_>,
        run: impl FnOnce(&mut dyn RowSource) -> R + Send,
        py: Python<'_>,
    ) -> PyResult<R> {
        match rows {
            Input::Table(table) => table.read(py, run),
            Input::Files(paths, reading) => {
                let mut stream = self.open_files(&paths, &reading, true, py)?;
                Ok(py.detach(|| run(&mut stream)))
            }
            Input::Batches(_) => Err(param_error("rows are a table or paths", py)),
        }
    }

    /// The evaluation on labelled rows, with the names of the page.
    fn evaluation(
        &self,
        rows: &Bound<'_, PyAny>,
        names: &HashMap<String, String>,
        py: Python<'_>,
    ) -> PyResult<Evaluation> {
        let evaluate = |source: &mut dyn RowSource| evaluate(&self.model, source);
        let found = self.with_rows(input_of(rows)?, evaluate, py)?.or_raise(py)?;
        let densities = found.densities.renamed(|name| names.get(name).cloned());
        Ok(Evaluation { densities, ..found })
    }

    /// The model with other names of features.
    fn with_names(&self, names: &HashMap<String, String>) -> Model {
        let mut model = self.model.clone();
        let rename = |name: &mut String| {
            if let Some(other) = names.get(name) {
                name.clone_from(other);
            }
        };
        for test in model.tests.iter_mut().flat_map(|tests| &mut tests.tests) {
            rename(&mut test.name);
            test.with.iter_mut().for_each(rename);
        }
        if let Some(kernel) = &mut model.kernel {
            kernel.variables.iter_mut().for_each(|one| rename(&mut one.name));
        }
        let steps = model.size_path.iter_mut().flat_map(|size_path| &mut size_path.sizes);
        let outputs = model.outputs.iter_mut().chain(steps.flat_map(|step| &mut step.outputs));
        outputs.flat_map(|output| &mut output.features).for_each(|feature| rename(&mut feature.name));
        model
    }

    fn predictor(&self) -> &Predictor {
        self.predictor.get_or_init(|| Predictor::new(&self.model))
    }

    fn score(&self, source: &mut dyn RowSource) -> Result<Vec<f64>, ReadError> {
        let mut margins = Vec::new();
        while let Some(block) = source.next_block()? {
            self.predictor().predict(&block.rows).iter().for_each(|row| margins.extend_from_slice(&row.margins));
        }
        Ok(margins)
    }

    fn as_array<'py>(&self, margins: Vec<f64>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let outputs = self.model.outputs.len();
        let rows = margins.len() / outputs;
        PyArray1::from_vec(py, margins).reshape([rows, outputs])
    }
}
