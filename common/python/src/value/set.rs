//! Sets, and the order in which CPython goes through one of small integers.

use super::{IndexMap, Key, Value};
use std::cell::{Cell, RefCell};

/// A set, in the order of insertion. CPython's order is that of its table, which [`Set::ordered`] knows of small integers.
#[derive(Debug, Default)]
pub(crate) struct Set {
    pub(crate) items: RefCell<IndexMap<Key, Value>>,
    pub(crate) frozen: Cell<bool>,
    pub(crate) layout: Cell<Layout>,
}

/// Origin of the table of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// By removals, or of other sets.
    #[default]
    Unknown,
    /// Made of single elements, one after the other.
    Added,
    /// Written as constants: CPython may make a frozen set of them, and the set of that one.
    Written,
}

/// Places of a table, and the elements at them.
type Table<'v> = Vec<Option<&'v Value>>;

impl Set {
    /// The elements in CPython's order, where they are small integers and nothing but their insertion made the table.
    pub(crate) fn ordered(&self) -> Option<Vec<Value>> {
        let items = self.items.borrow();
        if self.layout.get() == Layout::Unknown
            || !items.values().all(|value| matches!(value, Value::Int(0..=0xffff_ffff)))
        {
            return None;
        }
        let table = added(items.values())?;
        let order = |table: &Table<'_>| table.iter().flatten().copied().cloned().collect::<Vec<Value>>();
        if self.layout.get() == Layout::Added {
            return Some(order(&table));
        }
        // The compiler makes its constant from the elements in the order of a first frozen set. A loop may go through that
        // constant itself, or through a set that it was merged into.
        let constant = added(table.iter().flatten().copied())?;
        let (own, merged) = (order(&constant), order(&merged(&constant)?));
        own.iter().zip(&merged).all(|(a, b)| a.is(b)).then_some(own)
    }
}

/// The table after each value is added to an empty set: `set_add_entry` of `setobject.c`.
fn added<'v>(values: impl Iterator<Item = &'v Value>) -> Option<Table<'v>> {
    let mut table: Table<'_> = vec![None; 8];
    for (at, value) in values.enumerate() {
        insert(&mut table, value)?;
        let used = at + 1;
        if used * 5 >= (table.len() - 1) * 3 {
            table = resized(&table, if used > 50_000 { used * 2 } else { used * 4 })?;
        }
    }
    Some(table)
}

/// The table of an empty set into which another is merged: `set_merge`.
fn merged<'v>(other: &Table<'v>) -> Option<Table<'v>> {
    let used = other.iter().flatten().count();
    let is_larger = used * 5 >= 7 * 3;
    if !is_larger && other.len() == 8 { Some(other.clone()) } else { resized(other, used * 2) }
}

fn resized<'v>(table: &Table<'v>, least: usize) -> Option<Table<'v>> {
    let mut size = 8;
    while size <= least {
        size *= 2;
    }
    let mut larger = vec![None; size];
    for value in table.iter().flatten() {
        insert(&mut larger, value)?;
    }
    Some(larger)
}

/// Puts a value at its hash, at one of the nine places after it, or at further places that its hash names.
fn insert<'v>(table: &mut Table<'v>, value: &'v Value) -> Option<()> {
    const LINEAR_PROBES: usize = 9;
    let mask = table.len() - 1;
    let mut perturb = usize::try_from(value.as_int()?).ok()?;
    let mut at = perturb & mask;
    loop {
        let probes = if at + LINEAR_PROBES <= mask { LINEAR_PROBES } else { 0 };
        let found = table.iter_mut().skip(at).take(probes + 1).find(|place| place.is_none());
        if let Some(free) = found {
            *free = Some(value);
            return Some(());
        }
        perturb >>= 5;
        at = at.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb) & mask;
    }
}
