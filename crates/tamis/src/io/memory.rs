//! The default memory limit.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// Half of this machine's memory, or of the control group's limit if that is less; 2 GiB if neither is known.
pub fn memory_of_this_machine() -> u64 {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory).ok();
    let limits = system.as_ref().and_then(System::cgroup_limits);
    half_of(system.map_or(0, |system| system.total_memory()), limits.map(|limits| limits.total_memory))
}

/// Half of the smallest known limit; 0 stands for an unknown one.
fn half_of(total: u64, limit: Option<u64>) -> u64 {
    let known = limit.into_iter().chain([total]).filter(|bytes| *bytes > 0);
    known.min().unwrap_or(4 << 30) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_that_is_known_counts() {
        assert_eq!(half_of(8 << 30, None), 4 << 30);
        assert_eq!(half_of(8 << 30, Some(2 << 30)), 1 << 30);
        assert_eq!(half_of(8 << 30, Some(1 << 40)), 4 << 30);
        assert_eq!(half_of(0, None), 2 << 30);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_what_the_system_says() {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap();
        let line = text.lines().find(|line| line.starts_with("MemTotal:")).unwrap();
        let total = line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10;
        let half = memory_of_this_machine();
        assert!(half > 0 && half <= total / 2, "{half} of {total}");
    }
}
