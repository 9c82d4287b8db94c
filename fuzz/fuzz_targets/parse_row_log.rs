#![no_main]
//! Any bytes at all for `row_log`: see crates/tamis/tests/hostile.

#[allow(dead_code, reason = "each target uses one function")]
#[path = "../../crates/tamis/tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::row_log(bytes));
