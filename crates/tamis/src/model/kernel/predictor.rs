//! The function of a kernel model, prepared for rows.

use super::{InputMap, KernelFunction, KernelModel};
use crate::data::{FeatureId, FeatureKey, Row, Vocabulary};

/// The function of a kernel model with the ids of its variables.
pub(crate) struct KernelPredictor {
    /// By feature id: the place of the variable.
    places: Vec<Option<u32>>,
    maps: Vec<InputMap>,
    /// The input of each variable where its value is zero.
    zeros: Vec<f64>,
    /// `None` for a model without variables.
    function: Option<KernelFunction>,
    constant: Vec<f64>,
}

impl KernelPredictor {
    /// The predictor of a model; the names of its variables are added to the vocabulary.
    pub(crate) fn new(kernel: &KernelModel, vocabulary: &mut Vocabulary) -> Self {
        let effects = kernel.size().map(|size| &size.variables[..]).unwrap_or_default();
        let variables: Vec<_> = effects.iter().map(|effect| &kernel.variables[effect.variable]).collect();
        let ids: Vec<FeatureId> =
            variables.iter().map(|one| vocabulary.intern(FeatureKey::from_name(&one.name))).collect();
        let mut places = vec![None; vocabulary.span()];
        ids.iter().zip(0..).for_each(|(&id, place)| places[id as usize] = Some(place));
        let maps: Vec<InputMap> = variables.iter().map(|one| one.map.clone()).collect();
        KernelPredictor {
            places,
            zeros: maps.iter().map(|map| map.apply(0.0)).collect(),
            maps,
            function: kernel.size().and_then(|size| size.function.clone()),
            constant: kernel.constant.clone(),
        }
    }

    /// The margins of a row.
    pub(crate) fn margins(&self, row: Row<'_>) -> Vec<f64> {
        let Some(function) = &self.function else { return self.constant.clone() };
        let mut inputs = self.zeros.clone();
        for (id, value) in row.iter() {
            if let Some(Some(place)) = self.places.get(id as usize) {
                inputs[*place as usize] = self.maps[*place as usize].apply(value);
            }
        }
        function.margins(&inputs)
    }
}
