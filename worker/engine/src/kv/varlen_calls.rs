//! Calls of variable-length attention: where each sequence's rows and keys are.

use std::cell::RefCell;
use std::rc::Rc;
use tch::Tensor;

/// Queries of one call, and the keys that they see. Sequences follow one another in the rows; sequences that see
/// nothing have no keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VarlenCall {
    /// The first row, and the number of rows.
    pub(crate) first: i64,
    pub(crate) rows: i64,
    /// Number of rows of zeros that are added to have the minimum number of sequences.
    pub(crate) added: i64,
    /// Row at which each sequence begins, counted from the first, and the number of all.
    pub(crate) begins: Vec<i64>,
    /// Key at which each sequence begins in the arena, and a last one that is not read.
    pub(crate) starts: Vec<i64>,
    /// Number of keys of each sequence.
    pub(crate) used: Vec<i64>,
    /// Most rows and keys of a sequence.
    pub(crate) most_rows: i64,
    pub(crate) most_keys: i64,
    /// Set if some row sees nothing.
    pub(crate) has_blind_rows: bool,
}

/// A call with its lists on the device, in 32 bits.
pub(crate) struct VarlenOnDevice {
    pub(crate) call: VarlenCall,
    pub(crate) begins: Tensor,
    pub(crate) starts: Tensor,
    pub(crate) used: Tensor,
}

/// The calls of a level, which the layers of a pass share.
#[derive(Default)]
pub(crate) struct VarlenCalls(pub(super) RefCell<Option<Rc<Vec<VarlenOnDevice>>>>);

impl std::fmt::Debug for VarlenCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "VarlenCalls({})", self.0.borrow().as_ref().map_or(0, |calls| calls.len()))
    }
}

impl VarlenCalls {
    /// Forgets the calls: the next layers are on another device.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().take();
    }
}

impl VarlenCall {
    pub(super) fn begin(first: i64) -> Self {
        Self { first, begins: vec![0], ..Self::default() }
    }

    /// Adds the next sequence.
    pub(super) fn push(&mut self, rows: i64, (start, used): (i64, i64)) {
        self.rows += rows;
        self.begins.push(self.rows);
        self.starts.push(start);
        self.used.push(used);
        self.most_rows = self.most_rows.max(rows);
        self.most_keys = self.most_keys.max(used);
        self.has_blind_rows |= used == 0;
    }

    /// Adds a row after the last, of a sequence that sees nothing and is not read.
    pub(super) fn add(&mut self) {
        self.added += 1;
        self.begins.push(self.rows + self.added);
        self.starts.push(0);
        self.used.push(0);
    }

    pub(super) fn end(mut self) -> Self {
        self.starts.push(0);
        self.most_keys = self.most_keys.max(1);
        self
    }
}
