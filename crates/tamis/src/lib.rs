//! Tamis learns sparse models from streams of wide data: high-dimensional rows in, a small linear model with named features
//! out.
//!
//! The folders follow the data:
//! ```text
//! RowSource ─► Vocabulary + TargetEncoder + ColumnScaler ─► RowStore ─► Trainer ─► Model ─► predict · evaluate
//! bytes ─ io ─► blocks ─ parse ─► rows ─┬─ train ─────────────────────────────────► Model
//!                                       └─ moments ─► solve ──────────────────────► Model
//! ```
//! | folder | what |
//! |---|---|
//! | [`io`], [`parse`], [`columnar`] | from files, or matrices in memory, to rows |
//! | [`data`] | rows, names, labels, scaling, stored rows, splits, files of arrays |
//! | [`loss`], [`prox`], [`step_size`], [`rng`] | the parts of learners |
//! | [`recipe`], [`param`] | what to learn, as plain data; names of parameters |
//! | [`learners`] | one learner a file |
//! | [`stabilized`], [`two_stage`], [`kernel`] | one method a folder; [`refine`] is what the first two share |
//! | [`select`] | estimates, and the rules that choose the smallest candidate about as good as the best |
//! | [`train`] | the driver of all methods |
//! | [`distributed`] | stages of a fit as functions of rows and bytes, for engines of several machines |
//! | [`model`], [`eval`], [`tune`] | the model file and prediction; evaluation; cross-validation and repeated fits |
//! | [`export`] | models as SQL, scikit-learn, ONNX, C, Python and scorecards |
//! | [`moments`], [`solve`] | sufficient statistics in one pass; models from them |
//! | [`synth`] | generated data with known coefficients |
//!
//! The library does not print, and knows no front end.
//!
//! Cargo features, all on by default: `columnar` reads and writes Parquet, Arrow IPC and npz, `compression` reads gzip,
//! zstd, bzip2 and xz, `moments` has the second moments of a stream, the solvers on them and the
//! kernel method.
//!
//! From a file to 25 features and their predictions:
//! ```no_run
//! use tamis::model::Predictor;
//! use tamis::io::{ReadOptions, RowStream, expand};
//! use tamis::recipe::{Method, Recipe};
//! use tamis::train::{FitOptions, fit};
//!
//! let recipe = Recipe { k: Some(25), ..Recipe::new(Method::Ftrl) };
//! let options = FitOptions { sources: expand(&["train.svm.gz".into()], None)?, ..FitOptions::default() };
//! let model = fit(&recipe, &options, None, &mut ())?.model;
//! model.save("model.json".as_ref())?;
//!
//! let predictor = Predictor::new(&model);
//! let mut stream = RowStream::open(expand(&["new.svm".into()], None)?, ReadOptions::default());
//! while let Some(block) = stream.next_block()? {
//!     for prediction in predictor.predict(&block.rows) {
//!         assert!(prediction.response.is_finite());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod columnar;
pub mod data;
pub mod distributed;
pub mod eval;
pub mod export;
pub mod io;
#[cfg(feature = "moments")]
pub mod kernel;
pub mod learners;
pub mod loss;
pub mod model;
#[cfg(feature = "moments")]
pub mod moments;
mod online;
pub mod param;
pub mod parse;
mod platt;
pub mod prox;
pub mod recipe;
pub mod refine;
pub mod rng;
pub mod select;
#[cfg(feature = "moments")]
pub mod solve;
pub mod stabilized;
pub mod step_size;
pub mod synth;
pub mod threads;
pub mod train;
mod trainer;
pub mod tune;
pub mod two_stage;
