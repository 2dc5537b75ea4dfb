//! Number of rows from which on a row's bits do not depend on how many there are.
//!
//! fp32 `linear` on libtorch's CPU path is bit-equal for every row count from 16 up, and not below, where it uses
//! another kernel. On CUDA, cuBLASLt without a workspace (the agent sets its engines' environment so) was measured
//! bit-equal in fp32 from 17 rows up and in bf16 from one, on an H100 with rows of 1 to 2048. So fewer rows are padded
//! with zeros, and a row's bits are its own.

use crate::reproducible::is_deterministic_on;
use tch::Device;

/// Minimum number of rows of a matrix product.
const MIN_ROWS_CPU: i64 = 16;
const MIN_ROWS_CUDA: i64 = 32;

/// Returns the number of padding rows for `rows` rows on `device`.
pub(crate) fn added_rows(rows: i64, device: Device) -> i64 {
    let least = match device {
        Device::Cpu => MIN_ROWS_CPU,
        _ if is_deterministic_on(device) => MIN_ROWS_CUDA,
        _ => 0,
    };
    (least - rows).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproducible::set_deterministic;

    #[test]
    fn a_gpu_pads_rows_unless_bits_may_vary() {
        let gpu = Device::Cuda(0);
        assert_eq!([(1, gpu), (40, gpu), (1, Device::Cpu)].map(|(rows, on)| added_rows(rows, on)), [31, 0, 15]);
        set_deterministic(false);
        let added = [gpu, Device::Cpu].map(|on| added_rows(1, on));
        set_deterministic(true);
        assert_eq!(added, [0, 15]);
    }
}
