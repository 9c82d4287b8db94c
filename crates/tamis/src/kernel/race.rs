//! Searches with each input map and family of frequencies, of which the one with the least error goes to the end.

use rayon::prelude::*;

use super::sample::{Prepared, Sample};
use super::search::{Elimination, FINAL_SIZE, FINALISTS, RACED_SIZE, Screened, SearchPlan, Step, screen};
use crate::model::kernel::KernelSearch;
use crate::recipe::{FrequencyFamily, InputKind};

/// What is given; `None` is searched for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) inputs: Option<InputKind>,
    pub(super) family: Option<FrequencyFamily>,
    pub(super) max_variables: usize,
    pub(super) k: Option<usize>,
    pub(super) seed: u64,
}

/// The best of the searches on all rows of the sample.
pub(super) struct Search {
    pub(super) plan: SearchPlan,
    pub(super) prepared: Prepared,
    pub(super) screened: Screened,
    pub(super) steps: Vec<Step>,
}

/// Searches with every input map and family that is not given; returns their errors at a middle size, and the best one.
pub(super) fn search_all(sample: &Sample, wanted: Wanted) -> (Vec<KernelSearch>, Search) {
    let kinds: Vec<InputKind> =
        InputKind::ALL.into_iter().filter(|kind| wanted.inputs.is_none_or(|one| one == *kind)).collect();
    let families: Vec<FrequencyFamily> =
        FrequencyFamily::ALL.into_iter().filter(|family| wanted.family.is_none_or(|one| one == *family)).collect();
    let all: Vec<usize> = (0..sample.weights.len()).collect();
    let plan = |inputs, family| SearchPlan {
        inputs,
        family,
        max_variables: wanted.max_variables,
        k: wanted.k,
        seed: wanted.seed,
    };
    let scanned: Vec<(InputKind, Prepared, Screened)> = kinds
        .into_par_iter()
        .map(|kind| {
            let prepared = sample.prepare(&all, kind);
            let screened = screen(&prepared.rows, wanted.max_variables);
            (kind, prepared, screened)
        })
        .collect();
    let pairs: Vec<(usize, FrequencyFamily)> =
        (0..scanned.len()).flat_map(|kind| families.iter().map(move |&family| (kind, family))).collect();
    let mut raced: Vec<(usize, FrequencyFamily, Elimination)> = pairs
        .into_par_iter()
        .map(|(kind, family)| {
            let (_, prepared, screened) = &scanned[kind];
            let search = Elimination::new(screened, family, wanted.k, (wanted.seed, 0));
            (kind, family, search.down_to(&prepared.rows, RACED_SIZE))
        })
        .collect();
    let searches = raced.iter().map(|(kind, family, search)| KernelSearch {
        inputs: scanned[*kind].0,
        family: *family,
        inner: search.inner(),
    });
    let searches: Vec<KernelSearch> = searches.collect();
    raced.sort_by(|one, other| one.2.inner().total_cmp(&other.2.inner()));
    raced.truncate(FINALISTS);
    let finished = |(kind, family, search): (usize, FrequencyFamily, Elimination)| {
        (kind, family, search.down_to(&scanned[kind].1.rows, FINAL_SIZE))
    };
    let finished: Vec<_> = raced.into_par_iter().map(finished).collect();
    let best = finished.into_iter().min_by(|one, other| one.2.inner().total_cmp(&other.2.inner()));
    let (kind, family, search) = best.expect("there is at least one search");
    let steps = search.down_to(&scanned[kind].1.rows, 1).steps;
    let (inputs, prepared, screened) = scanned.into_iter().nth(kind).expect("it was scanned");
    (searches, Search { plan: plan(inputs, family), prepared, screened, steps })
}
