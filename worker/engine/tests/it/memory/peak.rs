//! Peak of a process's anonymous memory: `RssAnon` of Linux's `/proc/self/status`, sampled continuously.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs `work` and returns the maximum number of bytes in use, including those from before: memory that the allocator
/// kept may be reused, so the two cannot be distinguished.
pub(crate) fn peak_while<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(anonymous());
                std::thread::sleep(Duration::from_micros(200));
            }
            peak
        });
        let result = work();
        // Memory still in use counts too.
        let after = anonymous();
        done.store(true, Ordering::Relaxed);
        let peak = sampler.join().unwrap().max(after);
        (result, peak)
    })
}

/// Returns the number of bytes of memory that belong to no file.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
