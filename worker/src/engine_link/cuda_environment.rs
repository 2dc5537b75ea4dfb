//! Environment variables for CUDA's libraries, which read them once, when they are loaded.
//!
//! Variables that are already exported stay, so that a site can override them. Without a GPU they have no effect.

/// Names and values.
const CUDA_ENVIRONMENT: [(&str, &str); 5] = [
    // The order of nvidia-smi, which CUDA_VISIBLE_DEVICES of every launcher means; CUDA's default is fastest first.
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
    // cuDNN is preferred for attention on Hopper and builds a plan for every new length: measured on an H100, 40 ms
    // each for one row, 259 ms (1.05 s the first) for 64 rows under a mask; the flash kernel takes 0.07 ms.
    ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1"),
    // Without a workspace, cuBLASLt cannot split a sum over K: the bits of a row then do not depend on the number of
    // rows (measured for fp32 from 17 rows up, for bf16 from one), at no cost in time.
    ("TORCH_BLAS_PREFER_CUBLASLT", "1"),
    ("CUBLASLT_WORKSPACE_SIZE", "1"),
    // Otherwise keys and values of many lengths fragment the memory.
    ("PYTORCH_ALLOC_CONF", "expandable_segments:True"),
];

/// Returns the variables to add to an engine's environment in which `exported` are set.
pub(crate) fn to_add(exported: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    CUDA_ENVIRONMENT.into_iter().filter(move |(name, _)| !exported(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_variables_stay() {
        let added: Vec<_> = to_add(|name| name == "CUDA_DEVICE_ORDER").collect();
        assert_eq!(added.len(), CUDA_ENVIRONMENT.len() - 1);
        assert!(added.iter().all(|(name, _)| *name != "CUDA_DEVICE_ORDER"));
        assert!(added.contains(&("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")));
    }
}
