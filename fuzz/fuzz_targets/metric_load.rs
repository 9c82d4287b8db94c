#![no_main]
//! Any bytes at all for `metric`: see crates/tamis-metric/tests/hostile.

#[path = "../../crates/tamis-metric/tests/hostile/mod.rs"]
mod hostile;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hostile::metric(bytes));
