//! Parsed rows that are cut, joined or selected.

use super::names::Names;
use super::raw_rows::Keys;
use super::{FeatureKey, FeatureNumbers, RawRows};

impl RawRows {
    /// Splits off the rows from number `at` on and returns them.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn split_off(&mut self, at: usize) -> RawRows {
        let cut = self.offsets[at];
        let mut offsets = self.offsets.split_off(at);
        offsets.iter_mut().for_each(|offset| *offset -= cut);
        self.offsets.push(cut);
        let keys = match &mut self.keys {
            Keys::Index(indices) => Keys::Index(indices.split_off(cut)),
            Keys::Name(names) => Keys::Name(names.split_off(cut)),
        };
        RawRows {
            offsets,
            keys,
            values: self.values.split_off(cut),
            labels: self.labels.split_off(at),
            lines: self.lines.split_off(at),
            tags: self.tags.split_off(at.min(self.tags.len())),
            left_out: Vec::new(),
            weights: self.weights.split_off(at),
            adds_duplicates: self.adds_duplicates,
        }
    }

    /// Appends rows of the same kind, whose lines come `shift` lines later.
    ///
    /// # Panics
    /// If some features have names and others numbers.
    pub fn append(&mut self, rows: RawRows, shift: u32) {
        let (entries, before) = (self.values.len(), self.len());
        match (&mut self.keys, rows.keys) {
            (Keys::Index(to), Keys::Index(from)) => to.to_mut().extend_from_slice(&from),
            (Keys::Name(to), Keys::Name(from)) => to.extend(&from, 0..from.len()),
            _ => panic!("features of this block go by another kind of key"),
        }
        if !self.tags.is_empty() || !rows.tags.is_empty() {
            self.tags.resize(before, "".into());
            self.tags.extend(rows.tags);
            self.tags.resize(before + rows.labels.len(), "".into());
        }
        self.values.extend(rows.values);
        self.offsets.extend(rows.offsets.into_iter().skip(1).map(|offset| offset + entries));
        self.labels.extend(rows.labels);
        self.weights.extend(rows.weights);
        self.lines.extend(rows.lines.into_iter().map(|line| line + shift));
        self.left_out.extend(rows.left_out.into_iter().map(|line| line + shift));
    }

    /// The selected rows in their order, with lines, labels, weights and tags.
    pub fn keep(&self, wanted: impl Fn(usize) -> bool) -> RawRows {
        let (keys, mut numbers) = match &self.keys {
            Keys::Index(_) => (Keys::Index(FeatureNumbers::default()), Vec::new()),
            Keys::Name(names) => {
                let kept = Names::with_columns(names.columns().clone());
                let numbers = kept.numbers_of(names);
                (Keys::Name(kept), numbers)
            }
        };
        let mut kept = RawRows { adds_duplicates: self.adds_duplicates, ..Self::with_keys(keys) };
        for row in (0..self.len()).filter(|&row| wanted(row)) {
            let span = self.offsets[row]..self.offsets[row + 1];
            match (&mut kept.keys, &self.keys) {
                (Keys::Index(to), Keys::Index(from)) => to.to_mut().extend_from_slice(&from[span.clone()]),
                (Keys::Name(to), Keys::Name(from)) => to.extend_with(from, span.clone(), &mut numbers),
                _ => unreachable!("made of the same kind"),
            }
            kept.values.extend_from_slice(&self.values[span]);
            kept.tags.extend(self.tags.get(row).cloned());
            kept.end_row(self.labels[row].clone(), self.weights[row], self.lines[row]);
        }
        kept
    }

    /// The rows with names in place of numbers; a number without a name stays.
    pub fn named<'a>(&self, name: impl Fn(u32) -> Option<&'a str>) -> RawRows {
        let mut named = RawRows { adds_duplicates: self.adds_duplicates, tags: self.tags.clone(), ..Self::by_name() };
        for i in 0..self.len() {
            for (key, value) in self.entries(i) {
                match key {
                    FeatureKey::Index(index) => match name(index) {
                        Some(text) => named.push_name(&[text], value),
                        None => named.push_name(&[&index.to_string()], value),
                    },
                    FeatureKey::Name(text) => named.push_name(&[text], value),
                }
            }
            named.end_row(self.labels[i].clone(), self.weights[i], self.lines[i]);
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::super::raw_rows::tests::named;
    use super::*;
    use crate::data::Label;

    #[test]
    fn rows_can_be_cut_anywhere() {
        let rows: [&[(&str, f64)]; 3] = [&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)]];
        for at in 0..=3 {
            let mut first = named(&rows);
            let second = first.split_off(at);
            assert_eq!((first.len(), second.len()), (at, 3 - at));
            let all = (0..at).map(|i| (&first, i)).chain((0..3 - at).map(|i| (&second, i)));
            for ((part, i), row) in all.zip(rows) {
                let keys: Vec<_> = row.iter().map(|&(name, value)| (FeatureKey::from_name(name), value)).collect();
                assert_eq!(part.entries(i).collect::<Vec<_>>(), keys);
            }
        }
    }

    #[test]
    fn cut_rows_can_be_joined_again() {
        let mut whole = named(&[&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)], &[("a", 4.0)]]);
        whole.tags = ["p", "", "r", "s"].map(Into::into).into();
        for at in 0..=4 {
            let mut first = whole.clone();
            let mut second = first.split_off(at);
            second.lines.iter_mut().for_each(|line| *line -= at as u32);
            first.append(second, at as u32);
            assert_eq!(first, whole);
        }
    }

    #[test]
    fn rows_can_be_picked() {
        let mut parsed = named(&[&[("a", 1.0), ("bc", 2.0)], &[], &[("7", 3.0)], &[("a", 4.0)]]);
        parsed.tags = ["p", "q", "r", "s"].map(Into::into).into();
        let kept = parsed.keep(|row| row != 1);
        assert_eq!((kept.lines.as_slice(), kept.labels.len()), ([0, 2, 3].as_slice(), 3));
        assert_eq!(kept.tags.concat(), "prs");
        for (row, old) in [0, 2, 3].into_iter().enumerate() {
            assert_eq!(kept.entries(row).collect::<Vec<_>>(), parsed.entries(old).collect::<Vec<_>>());
        }
        assert_eq!(parsed.keep(|_| true), parsed);
        let mut numbered = RawRows::by_index();
        for row in 0..3 {
            (0..=row).for_each(|index| numbered.push_index(index, 1.0 + f64::from(row)));
            numbered.end_row(Label::Absent, 2.0, row);
        }
        let kept = numbered.keep(|row| row == 1);
        assert_eq!(kept.entries(0).collect::<Vec<_>>(), [(FeatureKey::Index(0), 2.0), (FeatureKey::Index(1), 2.0)]);
        assert_eq!(kept.weight(0), 2.0);
    }
}
