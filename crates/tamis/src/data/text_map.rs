//! Maps whose keys are texts of the data.
//!
//! Their hash has a random key, so that crafted texts cannot collide and make a map as slow as a list. The order of such a
//! map differs from run to run: whoever goes through it sorts, or takes a result that has no order.

use std::collections::{HashMap, HashSet};

/// A map by names or texts that come from outside.
pub type TextMap<K, V> = HashMap<K, V, ahash::RandomState>;

/// A set of names or texts that come from outside.
pub type TextSet<K> = HashSet<K, ahash::RandomState>;
