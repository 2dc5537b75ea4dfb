//! Location of a tensor in a mapped file, in any format.

use std::collections::BTreeMap;
use std::ops::Range;
use tch::Kind;

/// A file's tensors by name.
pub(super) type Directory = BTreeMap<String, StoredTensor>;

/// One tensor of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StoredTensor {
    pub(super) kind: StoredKind,
    pub(super) shape: Vec<i64>,
    /// In elements.
    pub(super) strides: Vec<i64>,
    /// From its first to its last element; in the file.
    pub(super) bytes: Range<usize>,
}

/// The format of its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StoredKind {
    Float(Kind),
    /// Eight-bit floats, which mean nothing without their scales.
    Float8(Kind),
    /// Integers and quantised formats, by name: not supported as weights.
    Other(String),
}

impl StoredTensor {
    /// Creates a tensor whose elements are stored row by row.
    pub(super) fn contiguous(kind: StoredKind, shape: Vec<i64>, bytes: Range<usize>) -> Self {
        let mut strides = vec![1; shape.len()];
        for place in (1..shape.len()).rev() {
            // A tensor without elements may have sizes that overflow; its strides are meaningless.
            strides[place - 1] = i64::saturating_mul(strides[place], shape[place].max(1));
        }
        Self { kind, shape, strides, bytes }
    }
}
