//! The thread pool of a training, a solver or a metric: created when it is first needed, and handed down to all of its parts.

use std::sync::{Arc, OnceLock};

/// A number of threads, and the pool they work in. Clones share the pool.
#[derive(Clone, Debug)]
pub struct Threads {
    count: usize,
    pool: Arc<OnceLock<rayon::ThreadPool>>,
}

impl Threads {
    /// A pool of `count` threads; 0 takes one for each core.
    pub fn new(count: usize) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Threads { count: if count == 0 { cores() } else { count }, pool: Arc::default() }
    }

    /// The number of threads.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs parallel work in the pool.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let build = || rayon::ThreadPoolBuilder::new().num_threads(self.count).build().expect("threads can be created");
        self.pool.get_or_init(build).install(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_one_pool() {
        let threads = Threads::new(2);
        assert_eq!(threads.install(rayon::current_num_threads), 2);
        assert!(std::ptr::eq(threads.pool.get().unwrap(), threads.clone().pool.get().unwrap()));
        assert_eq!(Threads::new(0).count(), std::thread::available_parallelism().unwrap().get());
    }
}
