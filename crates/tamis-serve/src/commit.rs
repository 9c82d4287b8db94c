//! Group commit: requests that wait are checked, written as one frame, synced once and learned.
//!
//! Rows are checked before they are written. If they fail to be learned all the same (the weights diverge, the memory is
//! used up), their frame is taken back and the training is restored from disk.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::http::StatusCode;
use tamis::data::RawRows;
use tamis::io::Block;
use tamis::parse::row_log::{LateRow, RecordHead, push_record, records, rows_checksum};
use tokio::sync::oneshot;

use crate::error::ApiError;
use crate::keys::{KnownKey, labels_checksum};
use crate::learn::LateLabel;
use crate::learner::{Content, LearnJob, Learned, Learner, RememberJob, restore};
use crate::log::Mark;
use crate::pending::now;

/// The answer when the disk takes nothing.
pub fn not_written(error: &io::Error) -> ApiError {
    let message = format!("the rows cannot be written to the log: {error}; nothing was learned");
    ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "log_not_written", message)
}

/// A request whose rows are in the body of a frame.
struct Member {
    key: String,
    known: KnownKey,
    late: Vec<LateRow>,
    /// The lines of its rows, to say which one cannot be learned.
    lines: (u64, Vec<u32>),
    reply: oneshot::Sender<Result<Learned, ApiError>>,
}

impl Learner {
    /// Brings scored rows to disk, and answers.
    pub(crate) fn remember(&mut self, jobs: Vec<RememberJob>) {
        if jobs.is_empty() {
            return;
        }
        let (rows, replies): (Vec<_>, Vec<_>) = jobs.into_iter().map(|job| (job.rows, job.reply)).unzip();
        let added = self.pending.add(rows.into_iter().flatten().collect(), now());
        let expired = added.as_ref().map_or(0, |expired| *expired);
        self.app.metrics.expired_labels.fetch_add(expired, Ordering::Relaxed);
        // A client that has its answer may look at the metrics.
        self.count();
        let answer = added.map(drop).map_err(|error| not_written(&error));
        replies.into_iter().for_each(|reply| drop(reply.send(answer.clone())));
        if let Err(error) = self.pending.compact(false) {
            self.app.note(&format!("the rows that wait for labels cannot be written anew: {error}"));
        }
    }

    /// Learns requests as one group, and answers them.
    pub(crate) fn learn(&mut self, jobs: Vec<LearnJob>) {
        let (mut group, mut blocks, mut later) = (Vec::new(), Vec::new(), Vec::new());
        let (mut body, mut rows, mut sequence) = (Vec::new(), self.learning.rows(), self.log.sequence);
        let mut met = Met::default();
        for job in jobs {
            if met.has(&job) {
                later.push(job);
                continue;
            }
            let LearnJob { content, key, reply } = job;
            let (block, late) = match self.ready(content, &key) {
                Ok(ready) => ready,
                Err(answer) => {
                    let _ = reply.send(answer);
                    continue;
                }
            };
            sequence += 1;
            let head = RecordHead { sequence, first_row: rows + 1, key: &key, late: &late };
            let checksum = push_record(&mut body, &head, &block.rows);
            let known = KnownKey::new(sequence, &late, &block.rows, checksum);
            let lines = (block.first_line, block.rows.lines.clone());
            rows += known.accepted;
            met.add(&key, &late);
            group.push(Member { key, known, late, lines, reply });
            blocks.push(block);
        }
        if !group.is_empty() {
            self.commit(group, blocks, &body, sequence);
        }
        if !later.is_empty() {
            self.learn(later);
        }
    }

    /// The rows of a request, or the answer to one that is not learned now.
    fn ready(&mut self, content: Content, key: &str) -> Result<(Block, Vec<LateRow>), Result<Learned, ApiError>> {
        let block = match content {
            Content::Rows(block) => {
                let block = block.without_weightless_rows();
                self.known(key, || rows_checksum(&block.rows)).map_or(Ok((block, Vec::new())), Err)
            }
            Content::Labels(labels) => {
                let checksum = || labels_checksum(labels.iter().map(|label| (label.id.as_str(), &label.y)));
                match self.known(key, checksum) {
                    Some(answer) => Err(answer),
                    None => self.labelled(&labels).map_err(Err),
                }
            }
        };
        let (block, late) = block?;
        if block.rows.is_empty() {
            return Err(Ok(Learned { accepted: 0, sequence: self.log.sequence, repeated: false }));
        }
        if let Some(busy) = self.too_many_wait() {
            return Err(Err(busy));
        }
        self.learning.check(&block).map_err(|error| Err(error.into()))?;
        Ok((block, late))
    }

    /// The answer to a request whose key is known.
    fn known(&self, key: &str, checksum: impl FnOnce() -> u32) -> Option<Result<Learned, ApiError>> {
        let known = self.keys.get(key)?;
        if known.checksum != checksum() {
            let message = format!("the key {key:?} was used for other rows (record {})", known.sequence);
            return Some(Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", message)));
        }
        Some(Ok(Learned { accepted: known.accepted, sequence: known.sequence, repeated: true }))
    }

    /// The rows of labels. All must be there: a request is learned as a whole.
    fn labelled(&mut self, labels: &[LateLabel]) -> Result<(Block, Vec<LateRow>), ApiError> {
        self.expire();
        let (mut rows, mut late) = (RawRows::by_name(), Vec::new());
        for LateLabel { id, y, weight, line } in labels {
            let Some((row, place)) = self.pending.get(id) else {
                let text = format!(
                    "request:{line}: no row with the id {id:?} waits for a label; it was not scored, or too long ago"
                );
                return Err(ApiError::new(StatusCode::NOT_FOUND, "unknown_id", text).at_line(*line));
            };
            row.entries(0).for_each(|(key, value)| rows.push_name(&[&key.to_string()], value));
            rows.adds_duplicates |= row.adds_duplicates;
            rows.end_row(y.clone(), weight.unwrap_or_else(|| row.weight(0)), *line as u32 - 1);
            late.push(place);
        }
        Ok((Block { rows, file: "request".into(), first_line: 1 }, late))
    }

    /// Brings a group to disk and learns it.
    fn commit(&mut self, group: Vec<Member>, blocks: Vec<Block>, body: &[u8], last: u64) {
        let (mark, started) = (self.log.mark(), Instant::now());
        if let Err(error) = self.log.append(body, last, self.app.options.limits.log) {
            let full = not_written(&error);
            group.into_iter().for_each(|member| drop(member.reply.send(Err(full.clone()))));
            return;
        }
        self.app.metrics.sync_seconds.observe(started.elapsed());
        self.is_published &= self.learning.is_in_batches();
        for (number, block) in blocks.into_iter().enumerate() {
            if let Err(error) = self.learning.learn(block, group[number].known.sequence) {
                return self.take_back(group, number, body, mark, error.into());
            }
        }
        for Member { key, known, late, reply, .. } in group {
            self.app.metrics.rows_learned.fetch_add(known.accepted, Ordering::Relaxed);
            late.iter().for_each(|late| self.pending.answered(late));
            self.keys.add(&key, known);
            let _ = reply.send(Ok(Learned { accepted: known.accepted, sequence: known.sequence, repeated: false }));
        }
    }

    /// Takes a group back in which the request with the number `blamed` cannot be learned, and learns the others again.
    fn take_back(&mut self, mut group: Vec<Member>, blamed: usize, body: &[u8], mark: Mark, error: ApiError) {
        self.log.undo(mark);
        match restore(&self.app, &self.path, None) {
            Ok((learning, log, keys)) => (self.learning, self.log, self.keys) = (learning, log, keys),
            Err(lost) => {
                // What is on disk cannot be restored while the server runs: no row may be learned on a doubtful state.
                self.app.note(&format!("the training cannot be restored: {lost}"));
                let gone = ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "not_restored", lost.to_string());
                self.app.stop();
                return group.into_iter().for_each(|member| drop(member.reply.send(Err(gone.clone()))));
            }
        }
        let mut written = records(body, 0).expect("just written");
        written.remove(blamed);
        let _ = group.remove(blamed).reply.send(Err(error));
        for (member, record) in group.into_iter().zip(written) {
            let Member { key, lines: (first_line, lines), reply, .. } = member;
            let mut rows = record.rows;
            rows.lines = lines;
            let block = Block { rows, file: "request".into(), first_line };
            let content = match record.late.is_empty() {
                true => Content::Rows(Box::new(block)),
                false => Content::Labels(LateLabel::of(&block.rows, &record.late)),
            };
            self.learn(vec![LearnJob { content, key, reply }]);
        }
    }
}

/// Keys and ids of a group: a request that repeats one waits for the next group, and is then answered by what this one did.
#[derive(Default)]
struct Met {
    keys: HashSet<String>,
    ids: HashSet<String>,
}

impl Met {
    fn has(&self, job: &LearnJob) -> bool {
        let has_id = match &job.content {
            Content::Labels(labels) => labels.iter().any(|label| self.ids.contains(&label.id)),
            Content::Rows(_) => false,
        };
        has_id || self.keys.contains(&job.key)
    }

    fn add(&mut self, key: &str, late: &[LateRow]) {
        if !key.is_empty() {
            self.keys.insert(key.into());
        }
        self.ids.extend(late.iter().map(|late| late.id.clone()));
    }
}
