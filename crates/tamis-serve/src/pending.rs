//! Rows that were scored and wait for their labels. They are in memory only: a restart forgets them.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use tamis::data::RawRows;

/// Scored rows by their ids.
pub struct Pending {
    rows: HashMap<String, (RawRows, u64)>,
    /// Ids in the order in which they came, with the number that tells a row from a later one with its id.
    order: VecDeque<(String, u64, Instant)>,
    next: u64,
    most: usize,
    longest: Duration,
}

impl Pending {
    /// No rows. At most `most` wait, and none longer than `longest`.
    pub fn new(most: usize, longest: Duration) -> Self {
        Pending { rows: HashMap::new(), order: VecDeque::new(), next: 0, most, longest }
    }

    /// The number of rows that wait.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Remembers rows with their ids; a row with the same id is replaced. Returns how many rows expired.
    pub fn add(&mut self, rows: Vec<(String, RawRows)>, now: Instant) -> u64 {
        for (id, row) in rows {
            self.next += 1;
            self.rows.insert(id.clone(), (row, self.next));
            self.order.push_back((id, self.next, now));
        }
        self.expire(now)
    }

    /// Forgets rows that are too old, or too many. Returns how many.
    pub fn expire(&mut self, now: Instant) -> u64 {
        let mut expired = 0;
        while let Some((id, number, since)) = self.order.front() {
            let is_current = self.rows.get(id).is_some_and(|(_, current)| current == number);
            if is_current && self.rows.len() <= self.most && now.duration_since(*since) < self.longest {
                break;
            }
            if is_current {
                self.rows.remove(id);
                expired += 1;
            }
            self.order.pop_front();
        }
        expired
    }

    /// The row with an id.
    pub fn get(&self, id: &str) -> Option<&RawRows> {
        self.rows.get(id).map(|(row, _)| row)
    }

    /// Forgets a row that has its label.
    pub fn remove(&mut self, id: &str) {
        self.rows.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::data::Label;

    fn row(value: f64) -> RawRows {
        let mut row = RawRows::by_name();
        row.push_name(&["a"], value);
        row.end_row(Label::Absent, 1.0, 0);
        row
    }

    #[test]
    fn rows_wait_for_a_while_and_not_too_many() {
        let (start, mut pending) = (Instant::now(), Pending::new(2, Duration::from_secs(10)));
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(pending.add(vec![("a".into(), row(1.0)), ("b".into(), row(2.0))], at(0)), 0);
        assert_eq!(pending.add(vec![("a".into(), row(3.0))], at(5)), 0, "the same id is replaced");
        assert_eq!(pending.get("a"), Some(&row(3.0)));
        assert_eq!(pending.expire(at(11)), 1, "b is too old");
        assert_eq!((pending.get("b"), pending.len()), (None, 1));
        assert_eq!(pending.add(vec![("c".into(), row(1.0)), ("d".into(), row(1.0))], at(12)), 1, "a makes room");
        pending.remove("c");
        assert_eq!((pending.len(), pending.expire(at(13))), (1, 0));
    }
}
