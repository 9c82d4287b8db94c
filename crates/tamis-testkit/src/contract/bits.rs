//! Laws 1, 4, 5 and 6: the same stream gives the same bits, however it is split.

use crate::learner::TestLearner;
use tamis::data::State;
use tamis::data::{Batch, Row};
use tamis::learners::Learner;
use tamis::loss::LossKind;

use super::{Case, CheckResult, SHORT, bits, ensure, fresh, learn};
use crate::generators::stream;

/// Law 1: chunks of 1, of 7 and of everything give the same bits, also with a save and a load between chunks.
pub fn batch_cut(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let mut whole = fresh(&case.recipe, kind);
    let margins = learn(&mut whole, &batch, 0..batch.len());
    for (size, reload) in [(1, false), (7, false), (7, true)] {
        let mut cut = fresh(&case.recipe, kind);
        let mut cut_margins = Vec::new();
        for start in (0..batch.len()).step_by(size) {
            cut_margins.extend(learn(&mut cut, &batch, start..batch.len().min(start + size)));
            if reload {
                cut = reloaded(&cut, case, kind)?;
            }
        }
        ensure(same(&cut_margins, &margins), || format!("margins differ in chunks of {size} (reload: {reload})"))?;
        ensure(bits(&cut) == bits(&whole), || format!("states differ in chunks of {size} (reload: {reload})"))?;
    }
    Ok(())
}

/// Law 4: predictions do not change the state, and learning returns the margin that was predicted before.
pub fn predicting_is_pure(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let unseen = Row { ids: &[0, 4000], values: &[0.5, -2.0] };
    let (mut watched, mut alone) = (fresh(&case.recipe, kind), fresh(&case.recipe, kind));
    for (i, example) in batch.examples().enumerate() {
        let predicted = watched.margin(example.row);
        if i % 50 == 0 {
            let before = bits(&watched);
            look_around(&watched, &batch, unseen);
            ensure(bits(&watched) == before, || format!("looking changed the state at row {i}"))?;
        }
        let learned = watched.learn(example).margin;
        ensure(learned.to_bits() == predicted.to_bits(), || {
            format!("row {i}: learned with {learned:e}, predicted {predicted:e}")
        })?;
        alone.learn(example);
    }
    ensure(bits(&watched) == bits(&alone), || "the watched learner ends elsewhere".into())
}

/// Calls every method that must not change a learner.
fn look_around(learner: &TestLearner, batch: &Batch, unseen: Row<'_>) {
    let rows = (0..batch.len()).step_by(13).map(|i| batch.row(i)).chain([unseen]);
    let sum: f64 = rows.map(|row| learner.margin(row)).sum();
    let ids = (0..learner.span() as u32).chain([4000]);
    let asked = ids.map(|id| learner.weight(id) + f64::from(u8::from(learner.is_idle(id)))).sum::<f64>();
    std::hint::black_box((sum, asked, learner.bias(), learner.nonzeros(), learner.bytes()));
}

/// Law 5: stop at several rows, load into a new learner, continue: the same bits as without the stop.
pub fn save_and_load(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let mut whole = fresh(&case.recipe, kind);
    let margins = learn(&mut whole, &batch, 0..batch.len());
    for cut in [0, 1, 9, 333, batch.len()] {
        let mut first = fresh(&case.recipe, kind);
        let mut cut_margins = learn(&mut first, &batch, 0..cut);
        let mut second = reloaded(&first, case, kind)?;
        ensure(bits(&second) == bits(&first), || format!("cut at {cut}: loaded is not what was saved"))?;
        cut_margins.extend(learn(&mut second, &batch, cut..batch.len()));
        ensure(same(&cut_margins, &margins), || format!("cut at {cut}: margins differ"))?;
        ensure(bits(&second) == bits(&whole), || format!("cut at {cut}: states differ at the end"))?;
        ensure(second.nonzeros() == whole.nonzeros(), || format!("cut at {cut}: non-zeros differ at the end"))?;
    }
    Ok(())
}

/// Law 6: two runs, and runs on other threads, give the same bits.
pub fn same_bits(case: &Case, kind: LossKind) -> CheckResult {
    let batch = stream(SHORT, kind);
    let run = || {
        let mut learner = fresh(&case.recipe, kind);
        let margins = learn(&mut learner, &batch, 0..batch.len());
        (margins.iter().map(|margin| margin.to_bits()).collect::<Vec<_>>(), bits(&learner))
    };
    let first = run();
    std::thread::scope(|scope| {
        let others = [scope.spawn(run), scope.spawn(run)];
        others.into_iter().all(|other| other.join().is_ok_and(|result| result == first))
    })
    .then_some(())
    .ok_or_else(|| "a second run differs".to_string())
}

/// A new learner with the state of another; it must use everything that was saved.
fn reloaded(learner: &TestLearner, case: &Case, kind: LossKind) -> Result<TestLearner, String> {
    let mut state = State::default();
    learner.save(&mut state);
    let mut copy = fresh(&case.recipe, kind);
    copy.load(&mut state).map_err(|error| error.to_string())?;
    ensure(state.arrays().is_empty(), || format!("loading left {:?}", state.arrays().keys()))?;
    Ok(copy)
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
