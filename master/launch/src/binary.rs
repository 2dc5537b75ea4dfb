//! The worker's program and the GPUs that this host has.

use super::error::LaunchError;
use std::path::{Path, PathBuf};

/// The worker's executable: COMPASS_WORKER, or beside this one, or on PATH.
///
/// # Errors
/// [`LaunchError::NoBinary`] when none of these exists.
pub fn find_worker() -> Result<PathBuf, LaunchError> {
    if let Some(path) = std::env::var_os("COMPASS_WORKER") {
        let path = PathBuf::from(path);
        return if path.is_file() { Ok(path) } else { Err(LaunchError::NoSuchWorker { path }) };
    }
    let beside = std::env::current_exe().unwrap_or_default().with_file_name("compass-worker");
    if beside.is_file() {
        return Ok(beside);
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&on_path).map(|folder| folder.join("compass-worker")).find(|path| path.is_file());
    found.ok_or(LaunchError::NoBinary { beside })
}

/// Returns whether this host shows a GPU: the driver's device files, also those of WSL.
pub fn sees_gpu() -> bool {
    ["/dev/nvidiactl", "/dev/dxg"].iter().any(|path| Path::new(path).exists())
}

/// GPUs that this host lets us use: those that CUDA_VISIBLE_DEVICES names, else those that the driver shows.
pub fn visible_gpus() -> u32 {
    if !sees_gpu() {
        return 0;
    }
    let driver = std::fs::read_dir("/dev").into_iter().flatten().flatten();
    let names: Vec<String> = driver.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    count_gpus(std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref(), names.iter().map(String::as_str))
}

/// See [`visible_gpus`]; `devices` are the names below /dev. As CUDA reads it, the list ends at the first -1.
fn count_gpus<'n>(visible: Option<&str>, devices: impl Iterator<Item = &'n str>) -> u32 {
    if let Some(list) = visible {
        let named = list.split(',').map(str::trim).take_while(|name| !name.is_empty() && !name.starts_with('-'));
        return named.count() as u32;
    }
    let is_gpu = |name: &&str| {
        let number = name.strip_prefix("nvidia");
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    // WSL shows one device file for whatever there is.
    (devices.filter(is_gpu).count() as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_counted_as_cuda_does() {
        let devices = ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia", "sda1"];
        for (visible, expected) in [
            (None, 2),
            (Some("0"), 1),
            (Some("3, 5,7"), 3),
            (Some(""), 0),
            (Some("-1"), 0),
            (Some("0,-1,2"), 1),
            (Some("GPU-8932f937,MIG-1"), 2),
        ] {
            assert_eq!(count_gpus(visible, devices.into_iter()), expected, "{visible:?}");
        }
        assert_eq!(count_gpus(None, ["dxg"].into_iter()), 1);
    }
}
