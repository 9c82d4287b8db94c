//! A learned metric among other rows: the distances stay, the neighbours are new.

use super::MetricError;
use super::learned::Metric;
use super::table::classes_of;
use super::vote::check_voters;
use crate::data::Label;
use crate::read::{ReadError, RowSource};
use crate::train::{LabelSurvey, TaskKind, TrainError};

impl Metric {
    /// The same distances among these labelled rows, `voters` of which vote.
    pub fn among(&self, source: &mut dyn RowSource, task: TaskKind, voters: usize) -> Result<Metric, MetricError> {
        check_voters(voters)?;
        let dictionary = self.dictionary();
        let (mut places, mut labels, mut survey) = (Vec::new(), Vec::new(), LabelSurvey::default());
        while let Some(block) = source.next_block()? {
            places.extend(self.embed(&block.rows, &dictionary));
            for (row, label) in block.rows.labels.iter().enumerate() {
                let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
                if *label == Label::Absent {
                    return Err(TrainError::NoLabel { place: place() }.into());
                }
                survey.observe(label, place);
            }
            labels.extend(block.rows.labels);
        }
        if labels.is_empty() {
            return Err(ReadError::NoRows { files: source.name() }.into());
        }
        let (classes, class_of) = classes_of(&survey, &labels, task)?;
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&row| class_of[row]);
        let mut class_sizes = vec![0; classes.len()];
        class_of.iter().for_each(|&class| class_sizes[class as usize] += 1);
        let along = |axis: usize| order.iter().map(|&row| places[row][axis] as f32).collect::<Vec<f32>>();
        let points = (0..self.dimensions()).flat_map(along).collect();
        Ok(Metric { classes, class_sizes, points, voters, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::table;
    use super::super::{Candidate, MetricOptions, Stop, fit};
    use super::*;
    use crate::read::{ReadOptions, RowStream, expand};

    #[test]
    fn the_rows_it_was_learned_from_give_the_metric_itself() {
        let line = |row: u64| {
            let value = |salt: u64| crate::random::mix(row * 7 + salt) as f64 / u64::MAX as f64 - 0.5;
            let (a, b) = (value(1), value(2));
            format!("{},{a},{b},{}\n", if a * b > 0.0 { "yes" } else { "no" }, value(3))
        };
        let text = format!("y,a,b,c\n{}", (0..60).map(line).collect::<String>());
        let rows = table("t.csv", &text).unwrap();
        let candidates = Candidate::family("order-2").unwrap()[..1].to_vec();
        let options = MetricOptions { candidates, stop: Stop::Last, ..MetricOptions::default() };
        let metric = fit(&rows, &options, &()).unwrap().metric;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, &text).unwrap();
        let open = |path: &std::path::Path| {
            RowStream::open(expand(&[path.display().to_string()], None).unwrap(), ReadOptions::default())
        };
        let same = metric.among(&mut open(&path), TaskKind::Auto, metric.voters).unwrap();
        assert_eq!(
            (same.classes.clone(), same.class_sizes.clone()),
            (metric.classes.clone(), metric.class_sizes.clone())
        );
        for (found, wanted) in same.points.iter().zip(&metric.points) {
            assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
        }
        for voters in [0, 1001] {
            let told = metric.among(&mut open(&path), TaskKind::Auto, voters).unwrap_err().to_string();
            assert_eq!(told, "`voters` must be from 1 to 1000");
        }
        std::fs::write(&path, "y,a,b,c\n").unwrap();
        assert!(metric.among(&mut open(&path), TaskKind::Auto, 3).is_err(), "no rows");
    }
}
