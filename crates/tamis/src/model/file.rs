//! Model files: one JSON document, versioned, with a checksum over its body.
//!
//! ```text
//! {"format":"tamis-model","version":2,"checksum":"crc32:9ae0daaf","body":{ … }}
//! ```
//! The body contains exactly the non-zero weights, one on each line. The error message of a file from a newer version
//! says so; a changed byte in the body fails the checksum; a body that parses is validated before it is used.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::{FeatureTests, Model, SizePath};
use crate::data::replace_file;

/// The version this build writes, and the newest it reads.
pub const FORMAT_VERSION: u32 = 2;
const FORMAT_NAME: &str = "tamis-model";
/// Larger files are refused before they are read.
const LARGEST_FILE: u64 = 4 << 30;

/// A model cannot be loaded or saved.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message of each says what its fields are")]
pub enum ModelError {
    #[error("{}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: cannot be written: {source}; the old file is unchanged", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: {} bytes is too large for a model", path.display(), size)]
    TooLarge { path: PathBuf, size: u64 },
    #[error("{}: not a tamis model: {reason}", path.display())]
    NotAModel { path: PathBuf, reason: String },
    #[error("{}: written by format {version}, this build reads up to {FORMAT_VERSION}; upgrade tamis", path.display())]
    Newer { path: PathBuf, version: u32 },
    #[error("{}: damaged: the checksum is {found}, the file says {stated}", path.display())]
    Checksum { path: PathBuf, found: String, stated: String },
    #[error("{}: {problem}", path.display())]
    Invalid { path: PathBuf, problem: String },
    #[error("{}: not written, and an old file is unchanged: {problem}", path.display())]
    NotSaved { path: PathBuf, problem: String },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    format: String,
    version: u32,
    #[serde(default)]
    checksum: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Model {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let body = self.body();
        let checksum = checksum(&body);
        format!(
            "{{\"format\":\"{FORMAT_NAME}\",\"version\":{FORMAT_VERSION},\"checksum\":\"{checksum}\",\"body\":{body}}}\n"
        )
    }

    /// The body: compact JSON, one feature on each line.
    fn body(&self) -> String {
        let json = |part: &dyn erased::Json| part.json();
        let lines = |parts: &mut dyn Iterator<Item = String>| {
            parts.map(|part| format!("\n{part}")).collect::<Vec<_>>().join(",")
        };
        let mut text = b"{\n".to_vec();
        let parts: [(&str, &dyn erased::Json); 5] = [
            ("recipe", &self.recipe),
            ("loss", &self.loss),
            ("row_scale", &self.row_scale),
            ("task", &self.task),
            ("seen", &self.seen),
        ];
        for (name, part) in parts {
            writeln!(text, "\"{name}\":{},", json(part)).expect("text grows");
        }
        if let Some(columns) = &self.columns {
            writeln!(text, "\"columns\":{},", json(columns)).expect("text grows");
        }
        if let Some(matrix) = &self.matrix {
            writeln!(text, "\"matrix\":{},", json(matrix)).expect("text grows");
        }
        if let Some(SizePath { paths, chosen, sizes }) = &self.size_path {
            let steps = lines(&mut sizes.iter().map(|step| json(step)));
            writeln!(text, "\"size_path\":{{\"paths\":{paths},\"chosen\":{chosen},\"sizes\":[{steps}]}},")
                .expect("text grows");
        }
        if let Some(FeatureTests { entered, rows, tests }) = &self.tests {
            let tests = lines(&mut tests.iter().map(|test| json(test)));
            writeln!(text, "\"tests\":{{\"entered\":{entered},\"rows\":{rows},\"tests\":[{tests}]}},")
                .expect("text grows");
        }
        if let Some(sampling) = &self.sampling {
            writeln!(text, "\"sampling\":{},", json(sampling)).expect("text grows");
        }
        if let Some(kernel) = &self.kernel {
            writeln!(text, "\"kernel\":{},", json(kernel)).expect("text grows");
        }
        text.extend(b"\"outputs\":[");
        for (number, output) in self.outputs.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            let class = output.class.as_ref().map(|class| format!("\"class\":{},", json(class))).unwrap_or_default();
            write!(text, "{comma}\n{{{class}\"intercept\":{},\"features\":[", json(&output.intercept))
                .expect("text grows");
            for (number, feature) in output.features.iter().enumerate() {
                text.extend(if number > 0 { ",\n" } else { "\n" }.bytes());
                serde_json::to_writer(&mut text, feature).expect("plain data becomes JSON");
            }
            text.extend(b"\n]}");
        }
        text.extend(b"\n]}");
        String::from_utf8(text).expect("JSON is text")
    }

    /// Saves the model: the old file is replaced only when the new one is complete. A model that could not be loaded
    /// again is an error.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        if let Some(problem) = self.problem() {
            return Err(ModelError::NotSaved { path: path.to_path_buf(), problem });
        }
        let failed = |source| ModelError::Write { path: path.to_path_buf(), source };
        replace_file(path, self.to_text().as_bytes()).map_err(failed)
    }

    /// Loads a model.
    pub fn load(path: &Path) -> Result<Model, ModelError> {
        let failed = |source| ModelError::Read { path: path.to_path_buf(), source };
        let size = std::fs::metadata(path).map_err(failed)?.len();
        if size > LARGEST_FILE {
            return Err(ModelError::TooLarge { path: path.to_path_buf(), size });
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        Model::from_bytes(&bytes, path)
    }

    /// A model from the bytes of its file; `path` is for error messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Model, ModelError> {
        let path = path.to_path_buf();
        let not_a_model = |reason: String| ModelError::NotAModel { path: path.clone(), reason };
        let reason = |error: serde_json::Error| other_kind(bytes).map_or_else(|| error.to_string(), String::from);
        let envelope: Envelope<'_> = serde_json::from_slice(bytes).map_err(|error| not_a_model(reason(error)))?;
        if envelope.format != FORMAT_NAME {
            return Err(not_a_model(format!("its format is {:?}", envelope.format)));
        }
        if envelope.version == 0 {
            return Err(not_a_model("there is no version 0".into()));
        }
        if envelope.version > FORMAT_VERSION {
            return Err(ModelError::Newer { path, version: envelope.version });
        }
        let found = checksum(envelope.body.get());
        if found != envelope.checksum {
            return Err(ModelError::Checksum { path, found, stated: envelope.checksum });
        }
        let body = envelope.body.get();
        let model = if envelope.version == 1 { from_version_1(body) } else { serde_json::from_str(body) };
        let model: Model = model.map_err(|error| not_a_model(error.to_string()))?;
        match model.problem() {
            Some(problem) => Err(ModelError::Invalid { path, problem }),
            None => Ok(model),
        }
    }
}

/// A model of format 1, where the tests of the features are a part of the size path.
fn from_version_1(body: &str) -> serde_json::Result<Model> {
    let mut body: serde_json::Value = serde_json::from_str(body)?;
    let size_path = body.get_mut("size_path").and_then(|size_path| size_path.as_object_mut());
    if let Some(tests) = size_path.and_then(|size_path| size_path.remove("tests")) {
        body["tests"] = tests;
    }
    serde_json::from_value(body)
}

/// What a file is that is no model, by its first bytes.
fn other_kind(bytes: &[u8]) -> Option<&'static str> {
    let head = &bytes[..bytes.len().min(1 << 16)];
    let holds = |text: &str| head.windows(text.len()).any(|window| window == text.as_bytes());
    let begins = |start: &[u8]| head.trim_ascii_start().starts_with(start);
    match () {
        () if head.is_empty() => Some("the file is empty"),
        () if holds("\"tamis-moments\"") => Some("it holds moments; solve them first"),
        () if holds("\"tamis-metric\"") => Some("it holds a metric"),
        () if holds("\"tamis-checkpoint\"") => Some("it is a checkpoint; resume it, or write its report"),
        () if begins(b"<") => Some("it is a page"),
        () if begins(b"{") && holds("tamis-model") => None,
        () if begins(b"{") => Some("it is other JSON"),
        () => Some("it looks like data; the model comes first, then the data"),
    }
}

fn checksum(body: &str) -> String {
    format!("crc32:{:08x}", crc32fast::hash(body.as_bytes()))
}

/// `serde_json::to_string` behind a trait object, for the list of parts above.
mod erased {
    pub trait Json {
        fn json(&self) -> String;
    }
    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> String {
            serde_json::to_string(self).expect("plain data becomes JSON")
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::data::{Label, RowScale};
    use crate::loss::LossKind;
    use crate::model::{Feature, FeatureTest, Output, Sampling, Task, TrainingSummary};
    use crate::recipe::{Recipe, SamplingLaw};

    pub(in crate::model) fn model() -> Model {
        let feature = |name: &str, weight| Feature {
            name: name.into(),
            weight,
            scale: 2.0,
            frequency: None,
            centre: 0.0,
            evidence: None,
            bucket: None,
        };
        Model {
            recipe: Recipe::default().into(),
            loss: LossKind::Logistic,
            row_scale: RowScale::None,
            task: Task::Classes(vec![Label::Text("ham".into()), Label::Text("spam".into())]),
            columns: None,
            matrix: None,
            seen: TrainingSummary { rows: 3, ..TrainingSummary::default() },
            outputs: vec![Output {
                class: None,
                intercept: 0.1 + 0.2,
                features: vec![feature("a \"b\"\n</script>", 1.0 / 3.0), feature("é", -5e-324)],
            }],
            size_path: None,
            tests: None,
            sampling: None,
            kernel: None,
        }
    }

    pub(in crate::model) fn load(text: &str) -> Result<Model, ModelError> {
        Model::from_bytes(text.as_bytes(), Path::new("m.json"))
    }

    #[test]
    fn a_model_survives_its_file_bit_for_bit() {
        assert_eq!(load(&model().to_text()).unwrap(), model());
        let settings = [("radius".to_string(), 64.0)].into();
        let sampling =
            Sampling { law: SamplingLaw::Weight, draws: Some(7), expected: 2.5, candidates: 9, epochs: 3, settings };
        let drawn = Model { sampling: Some(sampling), ..model() };
        assert_eq!(load(&drawn.to_text()).unwrap(), drawn);
    }

    #[test]
    fn format_1_has_the_tests_in_the_size_path() {
        let size_path = SizePath { paths: 32, chosen: 0, sizes: Vec::new() };
        let test = FeatureTest { name: "é".into(), z: 4.5, q: 0.01, with: vec!["b".into()] };
        let tests = FeatureTests { entered: 9, rows: 200, tests: vec![test] };
        let step = r#"{"size":2,"gravity":1.0,"loss":0.5,"standard_error":0.1,"selected":2.0}"#;
        let step: crate::model::SizePoint = serde_json::from_str(step).unwrap();
        let new = Model { size_path: Some(SizePath { sizes: vec![step], ..size_path }), tests: Some(tests), ..model() };
        let mut body: serde_json::Value = serde_json::from_str(&new.body()).unwrap();
        let tests = body.as_object_mut().unwrap().remove("tests").unwrap();
        body["size_path"]["tests"] = tests;
        let body = body.to_string();
        let sum = checksum(&body);
        let old = format!("{{\"format\":\"tamis-model\",\"version\":1,\"checksum\":\"{sum}\",\"body\":{body}}}");
        assert_eq!(load(&old).unwrap(), new);
        assert_eq!(load(&new.to_text()).unwrap(), new);
    }

    #[test]
    fn any_flipped_bit_of_the_body_is_noticed() {
        let text = model().to_text().into_bytes();
        let body = model().to_text().find("\"body\":").unwrap();
        for at in body + 7..text.len() - 2 {
            let mut bad = text.clone();
            bad[at] ^= 1;
            assert!(Model::from_bytes(&bad, Path::new("m.json")).is_err(), "byte {at}");
        }
    }

    #[test]
    fn error_messages_say_what_to_do() {
        let text = model().to_text();
        let message = |text: &str| load(text).unwrap_err().to_string();
        assert_eq!(
            message(&text.replace("\"version\":2", "\"version\":3")),
            "m.json: written by format 3, this build reads up to 2; upgrade tamis"
        );
        assert!(message(&text.replace("spam", "spam!")).starts_with("m.json: damaged: the checksum is crc32:"));
        assert!(message(&text.replace("\"version\":2", "\"version\":0")).contains("there is no version 0"));
        assert!(message("").contains("not a tamis model"));
        assert!(message("{\"format\":\"other\",\"version\":1,\"body\":{}}").contains("its format is \"other\""));
        assert!(message(&text[..text.len() / 2]).contains("not a tamis model"));
    }

    #[test]
    fn a_model_that_could_not_be_loaded_is_not_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.json");
        model().save(&path).unwrap();
        let mut heavy = model();
        heavy.outputs[0].features[1].weight = f64::INFINITY;
        let mut lost = model();
        lost.seen.progressive_loss = f64::INFINITY;
        let mut shifted = model();
        shifted.outputs[0].intercept = f64::NAN;
        for (bad, what) in [(heavy, "the weight of \"é\""), (lost, "the mean loss"), (shifted, "the intercept")] {
            let error = bad.save(&path).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("not written, and an old file is unchanged"), "{error}");
            assert_eq!(Model::load(&path).unwrap(), model());
            assert!(load(&bad.to_text()).is_err(), "the same model is refused on the way in");
        }
    }
}
