//! Moments with the names of their columns. These are saved, merged and solved.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Column, Comoments, MomentsError, RowIdentity};
use crate::data::Label;
use crate::parse::schema::ModelSchema;

/// Moments of named columns, for all rows or by cross-validation fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// The role and name of each column.
    pub columns: Vec<Column>,
    /// The table the rows came from.
    pub table: Option<ModelSchema>,
    /// The decay rate; 0 after [`Moments::decay`]. `None` if all rows have the same weight.
    pub decay: Option<f64>,
    /// Whether features were screened out: a feature without a column was then not zero.
    pub screened: bool,
    /// The number of malformed lines that were skipped.
    pub skipped: u64,
    /// The moments of each fold; a single entry without folds.
    pub folds: Vec<Comoments>,
    /// Which rows these are.
    pub identity: RowIdentity,
}

impl Moments {
    /// The moments of rows that come from no file.
    pub fn new(columns: Vec<Column>, folds: Vec<Comoments>) -> Self {
        let identity = RowIdentity::default();
        Moments { columns, table: None, decay: None, screened: false, skipped: 0, folds, identity }
    }

    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.folds.iter().map(|fold| fold.rows).sum()
    }

    /// The number of columns that may be used as features.
    pub fn features(&self) -> usize {
        self.columns.iter().filter(|column| column.is_feature()).count()
    }

    /// The classes, in the order of their columns; empty for a numeric target.
    pub fn classes(&self) -> Vec<Label> {
        let class = |column: &Column| if let Column::Class(label) = column { Some(label.clone()) } else { None };
        self.columns.iter().filter_map(class).collect()
    }

    /// The moments of all folds together.
    pub fn total(&self) -> Cow<'_, Comoments> {
        let [first, rest @ ..] = &self.folds[..] else { return Cow::Owned(Comoments::new(self.columns.len())) };
        if rest.is_empty() {
            return Cow::Borrowed(first);
        }
        let mut total = first.clone();
        rest.iter().for_each(|fold| total.merge(fold));
        Cow::Owned(total)
    }

    /// Merges the moments of other rows: fold by fold, columns by name. A feature that one side does not have was zero
    /// in all its rows. If that cannot be (tables with other columns, screened features), it is an error. So are rows
    /// that were merged before, unless `again` allows them, and sums that are not finite: such moments cannot be saved.
    pub fn merge(&mut self, other: &Moments, again: bool) -> Result<(), MomentsError> {
        self.check_alike(other, "merge")?;
        if self.decay != other.decay {
            let word = |decay: Option<f64>| {
                decay.map_or("counts all rows alike".into(), |rate| format!("forgets at the rate {rate}"))
            };
            let text =
                format!("one {} and the other {}: such moments cannot be merged", word(self.decay), word(other.decay));
            return Err(MomentsError::Differ(text));
        }
        if let Some(rows) = self.identity.overlap(&other.identity).filter(|_| !again) {
            return Err(MomentsError::Twice { rows });
        }
        let places = self.places_of(other, true)?;
        let size = self.columns.len();
        for (own, other) in self.folds.iter_mut().zip(&other.folds) {
            own.grow(size);
            match &places {
                Some(places) => own.merge(&other.moved(places, size)),
                None => own.merge(other),
            }
        }
        self.skipped += other.skipped;
        self.identity.merge(&other.identity);
        self.check_finite()
    }

    /// Subtracts rows that were added before: the inverse of [`Moments::merge`]. After an error nothing has changed.
    pub fn subtract(&mut self, other: &Moments) -> Result<(), MomentsError> {
        self.check_alike(other, "subtract")?;
        if self.decay.is_some() || other.decay.is_some() {
            let text = "rows cannot be taken from moments that decay: they count less by now than when they came";
            return Err(MomentsError::Differ(text.into()));
        }
        let places = self.places_of(other, false)?;
        let identity = self.identity.without(&other.identity).ok_or(MomentsError::NeverAdded { rows: other.rows() })?;
        let mut folds = self.folds.clone();
        for (own, other) in folds.iter_mut().zip(&other.folds) {
            if own.rows <= other.rows || own.weight <= other.weight {
                let weight = own.weight - other.weight;
                return Err(MomentsError::NothingLeft { whole: own.rows, part: other.rows, weight });
            }
            let failed =
                |column: usize| MomentsError::NotAPart { column: format!("{:?}", self.columns[column].name()) };
            match &places {
                Some(places) => own.subtract(&other.moved(places, self.columns.len())).map_err(failed)?,
                None => own.subtract(other).map_err(failed)?,
            }
        }
        (self.folds, self.identity) = (folds, identity);
        self.skipped = self.skipped.saturating_sub(other.skipped);
        Ok(())
    }

    /// Multiplies the weights of all rows so far by `keep`.
    pub fn decay(&mut self, keep: f64) {
        self.folds.iter_mut().for_each(|fold| fold.decay(keep));
        self.decay.get_or_insert(0.0);
    }

    /// Moments whose sums overflowed are of no use, and their file could not be read.
    pub(super) fn check_finite(&self) -> Result<(), MomentsError> {
        for fold in &self.folds {
            if ![fold.weight, fold.squares].iter().all(|sum| sum.is_finite()) {
                return Err(MomentsError::WeightsNotFinite);
            }
            let is_finite = |at: usize| fold.means[at].is_finite() && fold.comoments.get(at, at).is_finite();
            if let Some(at) = (0..fold.means.len()).find(|&at| !is_finite(at)) {
                return Err(MomentsError::NotFinite { column: self.columns[at].name() });
            }
            if let Some(at) = (0..fold.means.len()).find(|&at| !fold.comoments.row_is_finite(at)) {
                return Err(MomentsError::NotFinite { column: self.columns[at].name() });
            }
        }
        Ok(())
    }

    fn check_alike(&self, other: &Moments, verb: &str) -> Result<(), MomentsError> {
        if self.folds.len() != other.folds.len() {
            let (a, b) = (self.folds.len(), other.folds.len());
            return Err(MomentsError::OtherFolds { verb: verb.into(), folds: [a, b] });
        }
        if self.classes().is_empty() != other.classes().is_empty() {
            return Err(MomentsError::OtherTask { verb: verb.into() });
        }
        if let (Some(a), Some(b)) = (&self.table, &other.table) {
            let names =
                |table: &ModelSchema| table.numeric.iter().chain(&table.categorical).cloned().collect::<Vec<_>>();
            let (a, b) = (names(a), names(b));
            let stray = a.iter().find(|name| !b.contains(name)).or(b.iter().find(|name| !a.contains(name)));
            if let Some(name) = stray {
                return Err(MomentsError::OtherTable { verb: verb.into(), name: name.clone() });
            }
        }
        Ok(())
    }

    /// The position of each column of `other` among our columns, or `None` if both have the same columns. New columns
    /// are added where that is allowed.
    fn places_of(&mut self, other: &Moments, may_grow: bool) -> Result<Option<Vec<u32>>, MomentsError> {
        let mut known: BTreeMap<String, u32> = self.columns.iter().map(Column::key).zip(0..).collect();
        let lost = || {
            let theirs: Vec<String> = other.columns.iter().map(Column::key).collect();
            self.columns.iter().find(|column| column.is_feature() && !theirs.contains(&column.key()))
        };
        let strange = other.columns.iter().find(|column| !known.contains_key(&column.key()));
        let screened = self.screened || other.screened;
        let open = |column: &Column| column.is_feature() || matches!(column, Column::Class(_));
        if let Some(column) = strange.filter(|column| !may_grow || !open(column) || (screened && column.is_feature())) {
            return Err(MomentsError::OtherColumn { name: column.name(), screened });
        }
        if let Some(column) = lost().filter(|_| screened) {
            return Err(MomentsError::OtherColumn { name: column.name(), screened });
        }
        if self.columns == other.columns {
            return Ok(None);
        }
        let mut places = Vec::with_capacity(other.columns.len());
        for column in &other.columns {
            let fresh = self.columns.len() as u32;
            let place = *known.entry(column.key()).or_insert(fresh);
            if place == fresh {
                self.columns.push(column.clone());
            }
            places.push(place);
        }
        Ok(Some(places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn moments(names: &[&str], rows: &[f64]) -> Moments {
        let mut columns = vec![Column::Target("y".into())];
        columns.extend(names.iter().map(|name| Column::Feature(name.to_string())));
        let mut sums = Comoments::new(columns.len());
        sums.observe_dense(rows, &[]);
        Moments::new(columns, vec![sums])
    }

    #[test]
    fn merging_goes_by_name_and_absent_is_zero() {
        let mut left = moments(&["a", "b"], &[1.0, 2.0, 3.0, 4.0, 5.0, 7.0]);
        left.merge(&moments(&["c", "a"], &[9.0, 1.0, 5.0]), false).unwrap();
        let whole = moments(&["a", "b", "c"], &[1.0, 2.0, 3.0, 0.0, 4.0, 5.0, 7.0, 0.0, 9.0, 5.0, 0.0, 1.0]);
        assert_eq!(left.columns, whole.columns);
        for i in 0..4 {
            assert!((left.folds[0].means[i] - whole.folds[0].means[i]).abs() < 1e-14);
            (0..4).for_each(|j| {
                assert!((left.folds[0].comoments.get(i, j) - whole.folds[0].comoments.get(i, j)).abs() < 1e-12);
            });
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let message = |result: Result<(), MomentsError>| result.unwrap_err().to_string();
        let plain = || moments(&["a"], &[1.0, 2.0, 3.0, 5.0]);
        let other = || moments(&["b"], &[1.0, 2.0]);
        let mut forgetful = plain();
        forgetful.decay(0.5);
        assert!(
            message(forgetful.merge(&plain(), false))
                .contains("forgets at the rate 0 and the other counts all rows alike")
        );
        assert!(message(forgetful.subtract(&other())).contains("moments that decay"));
        assert!(message(plain().subtract(&plain())).contains("cannot subtract 2 rows from 2 rows"));
        assert!(message(plain().subtract(&other())).contains("\"b\" is a column of one and not of the other"));
        let screened = Moments { screened: true, ..plain() };
        assert!(message(screened.clone().merge(&other(), false)).contains("`features-of`"));
        let folds = Moments { folds: vec![Comoments::new(2), Comoments::new(2)], ..plain() };
        assert!(message(plain().merge(&folds, false)).contains("1 and of 2 folds"));
        let classes =
            Moments { columns: vec![Column::Class(Label::Number(1.0)), Column::Feature("a".into())], ..plain() };
        assert!(message(plain().merge(&classes, false)).contains("`task`"));
    }
}
