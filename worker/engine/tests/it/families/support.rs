//! The cases of `tests/goldens`, complete or damaged, on the CPU or on the device in COMPASS_TEST_DEVICE (`cuda:0`).

use compass_engine::{BareModel, DeviceChoice};
use compass_plan::engine::EngineFault;
use compass_plan::{Dtype, ModelKind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Returns the folder of a case.
pub(crate) fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens").join(case)
}

/// Returns the device of these tests.
pub(crate) fn device() -> DeviceChoice {
    static DEVICE: LazyLock<DeviceChoice> = LazyLock::new(|| {
        let choice = std::env::var("COMPASS_TEST_DEVICE").map_or(DeviceChoice::Cpu, |name| name.parse().unwrap());
        if choice != DeviceChoice::Cpu {
            let library = compass_engine::load_cuda_library();
            assert!(library.is_loaded(), "{library:?}");
        }
        choice
    });
    *DEVICE
}

/// Returns the accepted difference of logits from transformers' on the CPU, relative to the largest: `on_cpu` there, and
/// at least 1e-4 on other devices, whose products are summed in another order.
pub(crate) fn tolerance(on_cpu: f64) -> f64 {
    if device() == DeviceChoice::Cpu { on_cpu } else { on_cpu.max(1e-4) }
}

/// Loads a folder in the layout of its files.
pub(crate) fn load(folder: &Path, dtype: Dtype, threads: u32) -> Result<BareModel, EngineFault> {
    let there = |name: &str| folder.join(name).exists();
    let layout = match (there("params.json"), there("model_config.pt")) {
        (true, _) => ModelKind::Llama,
        (_, true) => ModelKind::InternLm,
        _ => ModelKind::Hf,
    };
    BareModel::load_layout(folder, layout, dtype, &device(), threads)
}

/// Copies a case.
pub(crate) fn copy_of(case: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden(case)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// Loads a copy of a case whose file `name` is replaced by the result of `damage`. It must load and compute logits, or
/// fail with one line that starts with a file of the model.
pub(crate) fn message_of(case: &str, name: &str, damage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<(), String> {
    let folder = copy_of(case);
    let bytes = std::fs::read(golden(case).join(name)).unwrap();
    std::fs::write(folder.path().join(name), damage(bytes)).unwrap();
    message_in(folder.path())
}

/// Checks a folder as [`message_of`] does.
#[track_caller]
pub(crate) fn message_in(folder: &Path) -> Result<(), String> {
    match load(folder, Dtype::Float32, 1) {
        Ok(mut model) => {
            // Any result is accepted: meaningless numbers, or an error of libtorch.
            let _ = model.prefill(&[1, 2, 3]);
            Ok(())
        }
        Err(EngineFault::Missing(message) | EngineFault::Model(message)) => {
            assert_eq!(message.lines().count(), 1, "{message}");
            assert!(message.starts_with(folder.to_str().unwrap()), "{message}");
            Err(message)
        }
        Err(fault @ (EngineFault::Device(_) | EngineFault::Lost(_) | EngineFault::Refused(_))) => {
            panic!("unexpected fault: {fault}")
        }
    }
}

/// The folder of other goldens, which `save_cases.py` writes.
pub(crate) fn other_goldens() -> Option<PathBuf> {
    std::env::var_os("COMPASS_GOLDENS").map(PathBuf::from)
}

/// Every case with a golden, by name.
pub(crate) fn golden_cases() -> Vec<(String, PathBuf)> {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let folder = other_goldens().unwrap_or_else(own);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries.filter(|path| path.join("golden.safetensors").exists()).collect();
    cases.sort();
    cases.into_iter().map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}
