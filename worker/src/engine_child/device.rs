//! The device of an engine: the requested one, or an error with a remedy. Another device is never used silently.
//!
//! Pure: the state of machine, environment and libtorch is an argument ([`Seen`]).

use compass_common::gpu_files::{GpuFiles, hides_all};
use compass_engine::{CudaLibrary, CudaRuntime, DeviceChoice};
use compass_plan::engine::EngineFault;
use compass_plan::{DeviceRequest, ModelPlan};

/// Knowledge of GPUs before a model is loaded.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// GPUs as files show them.
    pub(super) files: GpuFiles,
    /// CUDA_VISIBLE_DEVICES, if set.
    pub(super) visible: Option<String>,
    /// Result of loading the CUDA half of libtorch.
    pub(super) library: CudaLibrary,
    /// GPUs that the CUDA half can use.
    pub(super) runtime: CudaRuntime,
    /// Help for the user: the way to compute on the CPU instead.
    pub(super) on_cpu: &'static str,
}

impl Seen {
    /// Returns whether every GPU is hidden from this process.
    pub(super) fn is_hidden(&self) -> bool {
        self.visible.as_deref().is_some_and(hides_all)
    }

    /// Returns why libtorch cannot use an existing GPU, with a remedy.
    fn trouble(&self) -> String {
        match &self.library {
            CudaLibrary::Absent => format!("libtorch_cuda.so is missing beside libtorch_cpu.so; help: {INSTALL}"),
            CudaLibrary::Failed(reason) => format!("{}; help: {INSTALL}", unloadable(reason)),
            CudaLibrary::Loaded(_) => self.cuda_trouble(),
        }
    }

    /// Returns why the CUDA half, which is loaded, finds no GPU, with a remedy.
    fn cuda_trouble(&self) -> String {
        let (code, said, help) = match &self.runtime.error {
            Some(error) => (error.code, format!("CUDA error {}: {}", error.code, error.text), error.help),
            None => (0, "CUDA finds no working GPU".to_owned(), None),
        };
        match (&self.runtime, &self.visible) {
            (CudaRuntime { driver: Some(driver), needs: Some(needs), .. }, _) if driver < needs => format!(
                "the NVIDIA driver supports CUDA {}, and this libtorch needs {}; help: update the driver (580 or newer), or \
                 use a libtorch 2.11 built for CUDA {} or older",
                version(*driver),
                version(*needs),
                version(*driver)
            ),
            (CudaRuntime { driver: None, needs: Some(_), .. }, _) if code == INSUFFICIENT_DRIVER => format!(
                "the driver's library libcuda.so.1 is missing ({said}); help: install NVIDIA's driver 580 or newer; a \
                 container needs the host's: `docker run --gpus all`, `apptainer run --nv`"
            ),
            (_, Some(list)) if matches!(code, 0 | NO_DEVICE) => format!(
                "CUDA finds none of the GPUs that CUDA_VISIBLE_DEVICES={list} names; help: compare with `nvidia-smi -L`"
            ),
            _ => format!("{said}; help: {}", help.unwrap_or("look at `nvidia-smi` and at the kernel's log (Xid)")),
        }
    }
}

/// Ways to install libtorch's CUDA half.
const INSTALL: &str = "unpack the -cuda archive of this version over the first one, in a checkout run ./deploy/setup.sh --cuda, or \
                       put the folder of a torch 2.11 with CUDA first in LD_LIBRARY_PATH: \
                       LD_LIBRARY_PATH=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')/lib";

/// CUDA's numbers of errors.
const INSUFFICIENT_DRIVER: i32 = 35;
const NO_DEVICE: i32 = 100;

/// Says why the dynamic linker rejects the CUDA half, by its own words.
fn unloadable(reason: &str) -> String {
    let of_another = ["undefined symbol", "version `"].iter().any(|part| reason.contains(part));
    match of_another {
        true => format!("libtorch's CUDA half is of another version than libtorch_cpu.so: {reason}"),
        false => format!("cannot load libtorch's CUDA half: {reason}"),
    }
}

/// Formats `13000` as `13.0`.
fn version(number: u32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// Returns the device for `plan` on a worker that was started with `--device choice`.
///
/// # Errors
/// [`EngineFault::Device`] if a GPU is requested or exists, and cannot be used.
pub(super) fn choose(plan: &ModelPlan, choice: DeviceChoice, seen: &Seen) -> Result<DeviceChoice, EngineFault> {
    let fault = |cause: String| Err(EngineFault::Device(format!("cannot run model `{}` on a GPU: {cause}", plan.abbr)));
    // The operator's choice for this node takes precedence over the model's.
    if choice == DeviceChoice::Cpu || plan.device == DeviceRequest::Cpu {
        return Ok(DeviceChoice::Cpu);
    }
    if seen.runtime.devices > 0 && seen.library.is_loaded() {
        return Ok(if choice == DeviceChoice::Auto { DeviceChoice::Cuda(0) } else { choice });
    }
    let cpu = format!("help: {}", seen.on_cpu);
    if seen.files.usable && !seen.is_hidden() {
        return fault(format!("{}; {cpu}", seen.trouble()));
    }
    let asks = match (plan.device, plan.num_gpus) {
        (DeviceRequest::Cuda, _) => Some("`device = \"cuda\"`".to_owned()),
        (_, gpus @ 1..) => Some(format!("`run_cfg.num_gpus = {gpus}`")),
        _ if choice != DeviceChoice::Auto => Some("--device cuda".to_owned()),
        _ => None,
    };
    let shown = match (&seen.visible, seen.files.no_driver()) {
        (Some(list), _) if seen.is_hidden() => {
            format!("CUDA_VISIBLE_DEVICES={list:?} hides every GPU from this worker")
        }
        (_, Some(text)) => text,
        _ if seen.files.driver => {
            "the driver shows this process none; help: ask the launcher for GPUs (`--gres=gpu:N`)".to_owned()
        }
        _ => "this machine shows none".to_owned(),
    };
    match asks {
        Some(asks) => fault(format!("{asks} asks for one, and {shown}; {cpu}")),
        None => Ok(DeviceChoice::Cpu),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_engine::CudaError;
    use compass_plan::ModelKind;

    const NONE: CudaRuntime = CudaRuntime { devices: 0, driver: None, needs: None, error: None };

    fn model(device: DeviceRequest, num_gpus: u32) -> ModelPlan {
        ModelPlan { device, num_gpus, ..ModelPlan::new("m", ModelKind::Hf, "/m") }
    }

    fn seen(gpu: bool, library: CudaLibrary, runtime: CudaRuntime) -> Seen {
        let files = GpuFiles { usable: gpu, driver: gpu, on_bus: usize::from(gpu) };
        Seen { files, visible: None, library, runtime, on_cpu: "use --device cpu" }
    }

    fn runtime(devices: usize, driver: u32) -> CudaRuntime {
        CudaRuntime { devices, driver: Some(driver), needs: Some(13_000), error: None }
    }

    fn loaded() -> CudaLibrary {
        CudaLibrary::Loaded("/t/libtorch_cuda.so".into())
    }

    fn refusal(plan: &ModelPlan, choice: DeviceChoice, seen: &Seen) -> String {
        choose(plan, choice, seen).unwrap_err().to_string()
    }

    #[test]
    fn unusable_gpu_is_never_silently_replaced_by_the_cpu() {
        let auto = model(DeviceRequest::Auto, 0);
        for (library, runtime, part) in [
            (CudaLibrary::Absent, NONE, "libtorch_cuda.so is missing"),
            (CudaLibrary::Failed("libcudnn.so.9: not found".into()), NONE, "libcudnn.so.9: not found"),
            (loaded(), runtime(0, 12_040), "supports CUDA 12.4"),
            (loaded(), runtime(0, 13_000), "nvidia-smi"),
            (
                CudaLibrary::Failed("/t/libtorch_cuda.so: undefined symbol: _ZN3c104impl3cowE".into()),
                NONE,
                "of another version than libtorch_cpu.so: /t/libtorch_cuda.so: undefined symbol",
            ),
        ] {
            let node = seen(true, library, runtime);
            let text = refusal(&auto, DeviceChoice::Auto, &node);
            assert!(text.contains(part) && text.contains("--device cpu") && text.contains("help:"), "{text}");
            assert_eq!(
                choose(&auto, DeviceChoice::Cpu, &node).unwrap(),
                DeviceChoice::Cpu,
                "the operator chose the CPU"
            );
            assert_eq!(choose(&model(DeviceRequest::Cpu, 0), DeviceChoice::Auto, &node).unwrap(), DeviceChoice::Cpu);
        }
    }

    #[test]
    fn machine_without_gpu_runs_only_models_that_need_none() {
        let node = seen(false, CudaLibrary::Absent, NONE);
        assert_eq!(choose(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &node).unwrap(), DeviceChoice::Cpu);
        for (plan, asks) in
            [(model(DeviceRequest::Cuda, 0), "device = \"cuda\""), (model(DeviceRequest::Auto, 2), "num_gpus = 2")]
        {
            let text = refusal(&plan, DeviceChoice::Auto, &node);
            assert!(text.contains(asks) && text.contains("shows none"), "{text}");
        }
        assert!(refusal(&model(DeviceRequest::Auto, 0), DeviceChoice::Cuda(1), &node).contains("--device cuda"));
    }

    #[test]
    fn hidden_gpus_count_as_none_and_wrong_names_are_reported() {
        for list in ["", "-1", "-1,0"] {
            let node = Seen { visible: Some(list.into()), ..seen(true, loaded(), NONE) };
            assert_eq!(choose(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &node).unwrap(), DeviceChoice::Cpu);
            let text = refusal(&model(DeviceRequest::Auto, 1), DeviceChoice::Auto, &node);
            assert!(text.contains("CUDA_VISIBLE_DEVICES") && text.contains("hides every GPU"), "{text}");
        }
        let wrong = Seen { visible: Some("GPU-0123".into()), ..seen(true, loaded(), NONE) };
        let text = refusal(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &wrong);
        assert!(text.contains("GPU-0123") && text.contains("nvidia-smi -L"), "{text}");
    }

    #[test]
    fn errors_of_cuda_are_told_in_its_words_with_a_remedy() {
        let node = |code: i32, text: &str, help, driver| {
            let error = Some(CudaError { code, text: text.into(), help });
            seen(true, loaded(), CudaRuntime { devices: 0, driver, needs: Some(13_000), error })
        };
        let auto = model(DeviceRequest::Auto, 0);
        let insufficient = "CUDA driver version is insufficient for CUDA runtime version";
        let text = refusal(&auto, DeviceChoice::Auto, &node(35, insufficient, None, None));
        assert!(text.contains("libcuda.so.1 is missing") && text.contains("docker run --gpus all"), "{text}");
        let fabric = Some("start NVIDIA's fabric manager");
        let text = refusal(&auto, DeviceChoice::Auto, &node(802, "system not yet initialized", fabric, Some(13_000)));
        assert!(
            text.contains("CUDA error 802: system not yet initialized; help: start NVIDIA's fabric manager"),
            "{text}"
        );
        let named = Seen {
            visible: Some("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f".into()),
            ..node(100, "no CUDA-capable device is detected", None, Some(13_000))
        };
        let text = refusal(&auto, DeviceChoice::Auto, &named);
        assert!(text.contains("CUDA_VISIBLE_DEVICES=MIG-c6d4f1ef") && text.contains("nvidia-smi -L"), "{text}");
    }

    #[test]
    fn gpus_that_are_asked_for_and_have_no_driver_are_named() {
        let files = GpuFiles { usable: false, driver: false, on_bus: 8 };
        let bare = Seen { files, ..seen(false, CudaLibrary::Absent, NONE) };
        assert_eq!(choose(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &bare).unwrap(), DeviceChoice::Cpu);
        let text = refusal(&model(DeviceRequest::Auto, 1), DeviceChoice::Auto, &bare);
        assert!(text.contains("8 NVIDIA GPUs") && text.contains("install NVIDIA's driver"), "{text}");
        let files = GpuFiles { usable: false, driver: true, on_bus: 8 };
        let cpu_job = Seen { files, ..bare };
        let text = refusal(&model(DeviceRequest::Auto, 1), DeviceChoice::Auto, &cpu_job);
        assert!(text.contains("shows this process none") && text.contains("--gres=gpu:N"), "{text}");
    }

    #[test]
    fn working_gpu_is_used() {
        let node = seen(true, loaded(), runtime(2, 13_000));
        assert_eq!(choose(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &node).unwrap(), DeviceChoice::Cuda(0));
        assert_eq!(
            choose(&model(DeviceRequest::Cuda, 1), DeviceChoice::Cuda(1), &node).unwrap(),
            DeviceChoice::Cuda(1)
        );
    }
}
