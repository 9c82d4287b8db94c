//! The kernel method.

use crate::recipe::table::{Range, params};
use crate::recipe::{FrequencyFamily, InputKind};

params! {
    /// Parameters of `kernel`.
    pub struct KernelParams {
        /// Input map of the variables: z-score or rank [default: the one of lower error].
        inputs: Option<InputKind> = None, INPUTS;
        /// Frequencies of features: mixed (one, two or three variables) or whole (all) [default: the one of lower
        /// error].
        family: Option<FrequencyFamily> = None, FAMILY;
        /// Random Fourier features of the model [default: the number of rows, from 400 up to 1000].
        n_fourier: Option<usize> = None, N_FOURIER, Range::at_least(50.0).at_most(4000.0);
        /// Variables that the scan of singles, pairs and triples passes on to the search.
        max_variables: usize = 48, MAX_VARIABLES, Range::at_least(1.0).at_most(200.0);
    }
}
