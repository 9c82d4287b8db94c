//! Models for Python: content, files and predictions.

use std::path::{Path, PathBuf};

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tamis::data::Label;
use tamis::io::{ReadError, RowSource, RowStream};
use tamis::loss::Loss;
use tamis::model::{Model, Output, Predictor, Resize};
use tamis_report::of_model;

use crate::error::OrRaise;
use crate::fit::{Reading, sources};
use crate::input::Table;

/// A model.
#[pyclass(name = "Model", module = "tamis._core", frozen)]
pub struct PyModel {
    pub model: Model,
    predictor: Predictor,
}

impl From<Model> for PyModel {
    fn from(model: Model) -> Self {
        PyModel { predictor: Predictor::new(&model), model }
    }
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

    /// Saves the model. An existing file is replaced atomically.
    fn save(&self, path: PathBuf, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).or_raise(py)
    }

    /// The program's report on the model: one page of HTML that needs no network. `file` is what the page calls the
    /// model.
    fn report(&self, file: &str) -> String {
        of_model(&self.model, &tamis_report::ReportContext { file, ..Default::default() }).html()
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

    #[getter]
    fn loss(&self) -> &'static str {
        self.model.loss.name()
    }

    /// The margin from which on the second of two classes is predicted.
    #[getter]
    fn boundary(&self) -> f64 {
        self.predictor.loss().boundary()
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

    /// How the features were sampled, as JSON; `None` if they were not.
    #[getter]
    fn sampling(&self) -> Option<String> {
        self.model.sampling.as_ref().map(|sampling| serde_json::to_string(sampling).expect("plain data becomes JSON"))
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
            _ => return Err(crate::error::param_error("give one of n_features_to_select, frequency and fdr", py)),
        };
        Ok(self.model.resize(cut).or_raise(py)?.into())
    }

    /// Raw scores of rows: one row each, one column an output.
    fn margins<'py>(&self, table: Table<'_>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let margins = table.read(py, |source| self.score(source))?.or_raise(py)?;
        self.as_array(margins, py)
    }

    /// Raw scores of the rows of files.
    fn margins_of_files<'py>(
        &self,
        paths: Vec<String>,
        reading: Reading,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let files = sources(&paths, &reading, py)?;
        let mut options = reading.options(py)?;
        options.columns.needs_target = false;
        options.columns.known = self.model.columns.clone();
        let score = || self.score(&mut RowStream::open(files, options));
        let margins = py.detach(score).or_raise(py)?;
        self.as_array(margins, py)
    }
}

impl PyModel {
    fn score(&self, source: &mut dyn RowSource) -> Result<Vec<f64>, ReadError> {
        let mut margins = Vec::new();
        while let Some(block) = source.next_block()? {
            self.predictor.predict(&block.rows).iter().for_each(|row| margins.extend_from_slice(&row.margins));
        }
        Ok(margins)
    }

    fn as_array<'py>(&self, margins: Vec<f64>, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let outputs = self.model.outputs.len();
        let rows = margins.len() / outputs;
        PyArray1::from_vec(py, margins).reshape([rows, outputs])
    }
}
