#![doc = "Tamis presses a stream of wide data through a sieve and keeps the few features that matter."]
//!
//! The flow is the layout:
//! ```text
//! bytes ─ read ─► blocks ─ parse ─► rows ─ train / learn ─► weights ─► model ─► predict · eval
//! ```
//! [`read`] opens files and cuts them into blocks, [`parse`] and [`columnar`] turn blocks into rows, [`data`] holds rows,
//! names and scaling, [`loss`], [`rate`], [`shrink`] and [`project`] are the parts of the learners in [`learn`],
//! [`train`] drives a learner over the stream, [`model`] is what remains, [`eval`] judges it, [`tune`] chooses settings
//! and says how stable the choice of features is, [`synth`] makes data whose truth is known. [`moments`] gathers means and
//! co-moments in one pass, from which [`solve`] makes models; [`metric`] learns distances; [`sparsify`] samples features;
//! [`report`] draws pages; [`random`] is the one source of randomness. A [`recipe`] says what to do, as plain data. Nothing
//! here prints.
//!
//! From a file to 25 features and their predictions:
//! ```no_run
//! use tamis::model::Predictor;
//! use tamis::read::{ReadOptions, RowStream, expand};
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
pub mod eval;
pub mod learn;
pub mod loss;
pub mod metric;
pub mod model;
pub mod moments;
pub mod parse;
pub mod project;
pub mod random;
pub mod rate;
pub mod read;
pub mod recipe;
pub mod report;
pub mod shrink;
pub mod solve;
pub mod sparsify;
pub mod synth;
pub mod train;
pub mod tune;
