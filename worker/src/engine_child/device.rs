//! The device of an engine: the requested one, or an error with a remedy. Another device is never used silently.
//!
//! Pure: the state of machine, environment and libtorch is an argument ([`Seen`]).

use compass_engine::{CudaLibrary, CudaRuntime, DeviceChoice};
use compass_plan::engine::EngineFault;
use compass_plan::{DeviceRequest, ModelPlan};

/// What is known of GPUs before a model is loaded.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Whether the driver shows a GPU to this process.
    pub(super) gpu: bool,
    /// CUDA_VISIBLE_DEVICES, if set.
    pub(super) visible: Option<String>,
    /// Result of loading the CUDA half of libtorch.
    pub(super) library: CudaLibrary,
    /// What that half can use.
    pub(super) runtime: CudaRuntime,
}

impl Seen {
    /// Whether CUDA_VISIBLE_DEVICES hides every GPU; CUDA reads the list up to the first -1.
    fn is_hidden(&self) -> bool {
        let first = self.visible.as_deref().map(|list| list.split(',').next().unwrap_or_default().trim());
        first.is_some_and(|first| first.is_empty() || first.starts_with('-'))
    }

    /// Returns why libtorch cannot use an existing GPU, with a remedy.
    fn trouble(&self) -> String {
        let install = "unpack the -cuda archive of this version over the first one, in a checkout run ./deploy/setup.sh --cuda, or \
                       put the folder of a torch 2.11 with CUDA first in LD_LIBRARY_PATH: \
                       LD_LIBRARY_PATH=$(python3 -c 'import torch, os; print(os.path.dirname(torch.__file__))')/lib";
        match &self.library {
            CudaLibrary::Absent => format!("libtorch_cuda.so is missing beside libtorch_cpu.so; help: {install}"),
            CudaLibrary::Failed(reason) => format!("cannot load libtorch's CUDA half: {reason}; help: {install}"),
            CudaLibrary::Loaded(_) => match self.runtime {
                CudaRuntime { driver: Some(driver), needs: Some(needs), .. } if driver < needs => format!(
                    "the NVIDIA driver supports CUDA {}, and this libtorch needs {}; help: update the driver, or use a \
                     libtorch 2.11 built for CUDA {} or older",
                    version(driver),
                    version(needs),
                    version(driver)
                ),
                _ => match &self.visible {
                    Some(list) => format!(
                        "CUDA finds none of the GPUs that CUDA_VISIBLE_DEVICES={list} names; help: compare with `nvidia-smi -L`"
                    ),
                    None => {
                        "CUDA finds no working GPU; help: look at `nvidia-smi` and at the kernel's log (Xid)".to_owned()
                    }
                },
            },
        }
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
    let cpu = "help: start the worker with --device cpu, or write `device = \"cpu\"`, to compute on the CPU";
    if seen.gpu && !seen.is_hidden() {
        return fault(format!("{}; {cpu}", seen.trouble()));
    }
    let asks = match (plan.device, plan.num_gpus) {
        (DeviceRequest::Cuda, _) => Some("`device = \"cuda\"`".to_owned()),
        (_, gpus @ 1..) => Some(format!("`run_cfg.num_gpus = {gpus}`")),
        _ if choice != DeviceChoice::Auto => Some("--device cuda".to_owned()),
        _ => None,
    };
    let shown = match &seen.visible {
        Some(list) if seen.is_hidden() => format!("CUDA_VISIBLE_DEVICES={list:?} hides every GPU from this worker"),
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
    use compass_plan::ModelKind;

    const NONE: CudaRuntime = CudaRuntime { devices: 0, driver: None, needs: None };

    fn model(device: DeviceRequest, num_gpus: u32) -> ModelPlan {
        ModelPlan { device, num_gpus, ..ModelPlan::new("m", ModelKind::Hf, "/m") }
    }

    fn seen(gpu: bool, library: CudaLibrary, runtime: CudaRuntime) -> Seen {
        Seen { gpu, visible: None, library, runtime }
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
            (loaded(), CudaRuntime { devices: 0, driver: Some(12_040), needs: Some(13_000) }, "supports CUDA 12.4"),
            (loaded(), CudaRuntime { devices: 0, driver: Some(13_000), needs: Some(13_000) }, "nvidia-smi"),
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
    fn working_gpu_is_used() {
        let node = seen(true, loaded(), CudaRuntime { devices: 2, driver: Some(13_000), needs: Some(13_000) });
        assert_eq!(choose(&model(DeviceRequest::Auto, 0), DeviceChoice::Auto, &node).unwrap(), DeviceChoice::Cuda(0));
        assert_eq!(
            choose(&model(DeviceRequest::Cuda, 1), DeviceChoice::Cuda(1), &node).unwrap(),
            DeviceChoice::Cuda(1)
        );
    }
}
