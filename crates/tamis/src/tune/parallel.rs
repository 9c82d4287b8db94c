//! Parallel jobs: each runs on one thread, and results are returned in order.
//!
//! Plain threads take the next job. A work-stealing pool is not used: a fit sometimes waits for its own threads, and
//! the pool would start the next fit in the meantime, with all its memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Called after each job with the number of finished jobs and of all jobs, from any thread.
pub type Watch<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The results of all jobs in order, or the error of the earliest that failed. Jobs are taken in order and no more are
/// begun after a failure, so that error is the same on any number of threads.
pub fn side_by_side<T: Send, E: Send>(
    jobs: usize,
    threads: usize,
    watch: Watch<'_>,
    run: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let results: Mutex<Vec<Option<Result<T, E>>>> = Mutex::new((0..jobs).map(|_| None).collect());
    let work = || {
        while !failed.load(Ordering::SeqCst) {
            let job = next.fetch_add(1, Ordering::SeqCst);
            if job >= jobs {
                break;
            }
            let result = run(job);
            failed.fetch_or(result.is_err(), Ordering::SeqCst);
            results.lock().expect("no thread panicked")[job] = Some(result);
            watch(done.fetch_add(1, Ordering::SeqCst) + 1, jobs);
        }
    };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads.clamp(1, jobs.max(1))).map(|_| scope.spawn(work)).collect();
        work();
        helpers.into_iter().for_each(|helper| helper.join().expect("no job panics"));
    });
    let results = results.into_inner().expect("no thread panicked");
    // After the first error there may be jobs that were never started.
    results.into_iter().map_while(|result| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        for threads in [0, 1, 2, 7] {
            let seen = Mutex::new(Vec::new());
            let watch = |done: usize, of: usize| seen.lock().unwrap().push((done, of));
            let squares = side_by_side(20, threads, &watch, |job| Ok::<_, ()>(job * job)).unwrap();
            assert_eq!(squares, (0..20).map(|job| job * job).collect::<Vec<_>>());
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (1..=20).map(|done| (done, 20)).collect::<Vec<_>>());
        }
        assert_eq!(side_by_side(0, 3, &|_, _| (), Ok::<usize, ()>), Ok(Vec::new()));
    }

    #[test]
    fn the_earliest_failure_is_told() {
        for threads in [1, 2, 5] {
            let run = |job: usize| if job % 7 == 3 { Err(job) } else { Ok(job) };
            assert_eq!(side_by_side(50, threads, &|_, _| (), run), Err(3));
        }
    }
}
