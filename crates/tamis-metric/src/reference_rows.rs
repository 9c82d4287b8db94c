//! A learned metric with other reference rows: the distances stay, the neighbours are new.

use super::MetricError;
use super::classify::check_neighbors;
use super::metric::Metric;
use tamis::data::ClassLabels;
use tamis::data::LabelStats;
use tamis::data::TaskKind;
use tamis::io::{ReadError, RowSource};

impl Metric {
    /// The same metric with these labelled rows as reference rows of k-NN.
    pub fn with_reference_rows(
        &self,
        source: &mut dyn RowSource,
        task: TaskKind,
        n_neighbors: usize,
    ) -> Result<Metric, MetricError> {
        check_neighbors(n_neighbors)?;
        let vocabulary = self.vocabulary();
        let (mut places, mut labels, mut survey) = (Vec::new(), Vec::new(), LabelStats::default());
        while let Some(block) = source.next_block()? {
            places.extend(self.transform(&block.rows, &vocabulary));
            for (row, label) in block.rows.labels.iter().enumerate() {
                let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                survey.observe(label, place)?;
            }
            labels.extend(block.rows.labels);
        }
        if labels.is_empty() {
            return Err(ReadError::NoRows { files: source.name() }.into());
        }
        let ClassLabels { classes, class_of } = survey.classes(&labels, task)?.ok_or(MetricError::Numbers)?;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&row| class_of[row]);
        let mut class_sizes = vec![0; classes.len()];
        class_of.iter().for_each(|&class| class_sizes[class as usize] += 1);
        let along = |axis: usize| order.iter().map(|&row| places[row][axis] as f32).collect::<Vec<f32>>();
        let points = (0..self.dimensions()).flat_map(along).collect();
        Ok(Metric { classes, class_sizes, points, n_neighbors, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::dataset::tests::dataset;
    use super::super::{Candidate, EarlyStopping, MetricOptions, fit};
    use super::*;
    use tamis::io::{ReadOptions, RowStream, expand};

    #[test]
    fn the_rows_it_was_learned_from_give_the_metric_itself() {
        let line = |row: u64| {
            let value = |salt: u64| tamis::rng::splitmix64(row * 7 + salt) as f64 / u64::MAX as f64 - 0.5;
            let (a, b) = (value(1), value(2));
            format!("{},{a},{b},{}\n", if a * b > 0.0 { "yes" } else { "no" }, value(3))
        };
        let text = format!("y,a,b,c\n{}", (0..60).map(line).collect::<String>());
        let rows = dataset("t.csv", &text).unwrap();
        let candidates = Candidate::family("order-2").unwrap()[..1].to_vec();
        let options = MetricOptions { candidates, early_stopping: EarlyStopping::Off, ..MetricOptions::default() };
        let metric = fit(&rows, &options, &mut ()).unwrap().metric;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, &text).unwrap();
        let open = |path: &std::path::Path| {
            RowStream::open(expand(&[path.display().to_string()], None).unwrap(), ReadOptions::default())
        };
        let same = metric.with_reference_rows(&mut open(&path), TaskKind::Auto, metric.n_neighbors).unwrap();
        assert_eq!(
            (same.classes.clone(), same.class_sizes.clone()),
            (metric.classes.clone(), metric.class_sizes.clone())
        );
        for (found, wanted) in same.points.iter().zip(&metric.points) {
            assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
        }
        for n_neighbors in [0, 1001] {
            let error =
                metric.with_reference_rows(&mut open(&path), TaskKind::Auto, n_neighbors).unwrap_err().to_string();
            assert_eq!(error, "n_neighbors must be from 1 to 1000");
        }
        std::fs::write(&path, "y,a,b,c\n").unwrap();
        assert!(metric.with_reference_rows(&mut open(&path), TaskKind::Auto, 3).is_err(), "no rows");
    }
}
