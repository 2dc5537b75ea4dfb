//! The environment in which CUDA's libraries start: they read it once, when they are loaded.
//!
//! What is exported already wins, so that a site can say otherwise. Without a GPU nothing reads any of it.

/// Names, values, and why.
const CUDA_ENVIRONMENT: [(&str, &str); 5] = [
    // nvidia-smi's order, and what CUDA_VISIBLE_DEVICES of every launcher means; CUDA's own default is the fastest first.
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
    // cuDNN comes first for attention on Hopper and builds a plan for every new length: measured on an H100, 40 ms each for
    // one row, 259 ms (1.05 s the first) for 64 rows under a mask; the flash kernel takes 0.07 ms.
    ("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1"),
    // cuBLASLt without a workspace cannot split a sum over K: the bits of a row then do not depend on how many rows there
    // are (measured for fp32 from 17 rows up, for bf16 from one), at no cost in time.
    ("TORCH_BLAS_PREFER_CUBLASLT", "1"),
    ("CUBLASLT_WORKSPACE_SIZE", "1"),
    // Keys and values of many lengths would leave memory in pieces that no longer fit together.
    ("PYTORCH_ALLOC_CONF", "expandable_segments:True"),
];

/// What to add to the environment of an engine, given what is `exported` there.
pub(super) fn to_add(exported: impl Fn(&str) -> bool) -> impl Iterator<Item = (&'static str, &'static str)> {
    CUDA_ENVIRONMENT.into_iter().filter(move |(name, _)| !exported(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_site_exports_is_left_alone() {
        let added: Vec<_> = to_add(|name| name == "CUDA_DEVICE_ORDER").collect();
        assert_eq!(added.len(), CUDA_ENVIRONMENT.len() - 1);
        assert!(added.iter().all(|(name, _)| *name != "CUDA_DEVICE_ORDER"));
        assert!(added.contains(&("TORCH_CUDNN_SDPA_DEPRIORITIZED", "1")));
    }
}
