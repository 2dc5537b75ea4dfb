//! Environment variables for CUDA's libraries, which read them once, when they are loaded.
//!
//! Variables that are already exported stay, so that a site can override them. Without a GPU they have no effect.

/// Names and values for every model.
const FOR_ALL: [(&str, &str); 3] = [
    // The order of nvidia-smi, which CUDA_VISIBLE_DEVICES of every launcher means; CUDA's default is fastest first.
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
    // cuDNN is preferred for attention on Hopper and builds a plan for every new length: measured on an H100, 40 ms
    // each for one row, 259 ms (1.05 s the first) for 64 rows under a mask; the flash kernel takes 0.07 ms.
    ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1"),
    // Otherwise keys and values of many lengths fragment the memory.
    ("PYTORCH_ALLOC_CONF", "expandable_segments:True"),
];

/// Variables for a model whose bits must not vary. Without a workspace, cuBLASLt cannot split a sum over K: the bits of a row
/// then do not depend on the number of rows (measured for fp32 from 17 rows up, for bf16 from one), at no cost in time.
const FOR_SAME_BITS: [(&str, &str); 2] = [("TORCH_BLAS_PREFER_CUBLASLT", "1"), ("CUBLASLT_WORKSPACE_SIZE", "1")];

/// Returns the variables to add to the environment, in which `exported` are set, of an engine for a model that is
/// `deterministic` or not.
pub(crate) fn to_add(
    deterministic: bool,
    exported: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_bits = FOR_SAME_BITS.into_iter().filter(move |_| deterministic);
    FOR_ALL.into_iter().chain(of_bits).filter(move |(name, _)| !exported(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_variables_stay() {
        let added: Vec<_> = to_add(true, |name| name == "CUDA_DEVICE_ORDER").collect();
        assert_eq!(added.len(), FOR_ALL.len() + FOR_SAME_BITS.len() - 1);
        assert!(added.iter().all(|(name, _)| *name != "CUDA_DEVICE_ORDER"));
        assert!(added.contains(&("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")));
    }

    #[test]
    fn a_model_whose_bits_may_vary_has_a_workspace() {
        let added: Vec<_> = to_add(false, |_| false).collect();
        assert_eq!(added, FOR_ALL);
    }
}
