//! Time that this disk takes to make something durable: without it no rate says anything.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

const TIMES: usize = 200;

pub(crate) struct FsyncTimes {
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
}

/// Appends 4 KiB and syncs them, again and again, in `folder`.
pub(crate) fn fsync_times(folder: &Path) -> std::io::Result<FsyncTimes> {
    let path = folder.join("fsync");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES {
        file.write_all(&[7; 4096])?;
        let begun = Instant::now();
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    std::fs::remove_file(path)?;
    times.sort_by(f64::total_cmp);
    Ok(FsyncTimes { median_ms: times[TIMES / 2], p99_ms: times[TIMES * 99 / 100] })
}
