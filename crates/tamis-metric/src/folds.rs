//! Cross-validation folds, stratified by class: every fold has the same share of every class. Folds depend on the seed.

use tamis::data::stratified_folds;

use super::dataset::Dataset;

/// Rows to learn from and rows held out.
pub(super) struct Fold {
    pub(super) train: Vec<usize>,
    pub(super) held_out: Vec<usize>,
}

/// The folds of one repetition, stratified by class. Empty folds are left out.
pub(super) fn folds_of(dataset: &Dataset, folds: usize, seed: u64, repetition: u64) -> Vec<Fold> {
    let fold_of = stratified_folds(&dataset.class_of, folds, seed, repetition);
    let fold = |number: usize| {
        let (held_out, train) = (0..dataset.rows()).partition(|&row| fold_of[row] == number);
        Fold { train, held_out }
    };
    (0..folds).map(fold).filter(|fold| !fold.held_out.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::*;

    #[test]
    fn every_row_is_held_out_once_and_folds_have_the_share_of_every_class() {
        let text: String =
            (0..60).map(|row| format!("{row}.5,{}\n", if row % 3 == 0 { "few" } else { "many" })).collect();
        let dataset = dataset("t.csv", &format!("x,y\n{text}")).unwrap();
        let folds = folds_of(&dataset, 5, 1, 0);
        let mut all: Vec<usize> = folds.iter().flat_map(|fold| fold.held_out.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<_>>());
        for fold in &folds {
            assert_eq!(fold.train.len() + fold.held_out.len(), 60);
            assert_eq!(fold.held_out.iter().filter(|&&row| row % 3 == 0).count(), 4);
        }
        assert_ne!(folds[0].held_out, folds_of(&dataset, 5, 1, 1)[0].held_out, "repetitions differ");
    }
}
