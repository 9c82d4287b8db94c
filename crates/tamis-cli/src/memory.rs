//! The memory of this process.

/// The largest resident memory so far, in bytes, where the system tells it.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_used_is_told() {
        let before = peak_memory().expect("Linux tells it");
        let block = vec![1_u8; 64 << 20];
        assert!(block.iter().step_by(4096).all(|byte| *byte == 1));
        assert!(peak_memory().unwrap() >= before.max(64 << 20));
    }
}
