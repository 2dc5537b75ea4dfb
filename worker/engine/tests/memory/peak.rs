//! The peak of a process's anonymous memory: `RssAnon` of Linux's `/proc/self/status`, looked at all the time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Runs `work`; returns how many bytes were in use at the worst moment that was seen, those of before included: what the
/// allocator kept of them it may use again, so they cannot be told apart.
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
        // What is still in use was in use at some moment.
        let after = anonymous();
        done.store(true, Ordering::Relaxed);
        let peak = sampler.join().unwrap().max(after);
        (result, peak)
    })
}

/// Bytes of memory that belong to no file.
fn anonymous() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}
