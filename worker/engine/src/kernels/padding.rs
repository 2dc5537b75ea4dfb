//! Number of rows from which on a row's bits do not depend on how many there are.
//!
//! fp32 `linear` on libtorch's CPU path is bit-equal for every row count from 16 up, and not below, where it uses
//! another kernel. On CUDA, cuBLASLt without a workspace (the agent sets its engines' environment so) was measured
//! bit-equal in fp32 from 17 rows up and in bf16 from one, on an H100 with rows of 1 to 2048. So fewer rows are padded
//! with zeros, and a row's bits are its own.

use tch::Device;

/// Minimum number of rows of a matrix product.
const MIN_ROWS_CPU: i64 = 16;
const MIN_ROWS_CUDA: i64 = 32;

/// Returns the number of padding rows for `rows` rows on `device`.
pub(crate) fn added_rows(rows: i64, device: Device) -> i64 {
    let least = if device == Device::Cpu { MIN_ROWS_CPU } else { MIN_ROWS_CUDA };
    (least - rows).max(0)
}
