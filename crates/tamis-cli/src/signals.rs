//! Ctrl-C ends a training after the current rows, so that a checkpoint can be written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::output::note;

/// A flag that the first Ctrl-C sets. The second Ctrl-C ends the program at once.
pub fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        note!("tamis: stopping after the current rows; press Ctrl-C again to stop at once");
    };
    // A process can set one handler. Without one, Ctrl-C simply ends the program.
    ctrlc::set_handler(handler).ok();
    stop
}
