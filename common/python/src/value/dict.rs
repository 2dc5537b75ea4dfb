//! Dicts: entries in the order of insertion, each with the places of its key and of its value.

use super::key::TextKey;
use super::{IndexMap, Key, Slot, Value};
use crate::error::Result;
use crate::place::Place;
use indexmap::map;
use std::cell::RefCell;
use std::rc::Rc;

/// A dict that several names may share.
pub(crate) type DictCell = RefCell<Dict>;

/// A dict, or one of mmengine's `ConfigDict`, which an import makes of every dict.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dict {
    entries: IndexMap<Key, Entry>,
    /// Set if it is a `ConfigDict`: its entries are attributes too, and what is stored in it is copied.
    pub(crate) config: bool,
    /// Maker of missing keys, in `collections.defaultdict` and `Counter`.
    pub(crate) default: Option<Value>,
    /// Set if it is a `DatasetDict`.
    pub(crate) splits: bool,
}

/// One entry.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Slot,
    pub(crate) slot: Slot,
}

impl Dict {
    /// An empty `ConfigDict` with room for that many entries.
    pub(crate) fn config_for(entries: usize) -> Self {
        let entries = IndexMap::with_capacity_and_hasher(entries, Default::default());
        Self { entries, config: true, ..Self::default() }
    }

    /// An empty `DatasetDict`.
    pub(crate) fn of_splits() -> Self {
        Self { splits: true, ..Self::default() }
    }

    pub(crate) fn with_default(default: Option<Value>) -> Self {
        Self { default, ..Self::default() }
    }

    /// An empty dict of the same kind.
    pub(crate) fn empty_like(&self) -> Self {
        Self { config: self.config, default: self.default.clone(), splits: self.splits, ..Self::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry at a place in the order.
    pub(crate) fn nth(&self, at: usize) -> Option<&Entry> {
        self.entries.get_index(at).map(|(_, entry)| entry)
    }

    pub(crate) fn entry(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(crate) fn get(&self, key: &Value) -> Result<Option<&Slot>> {
        Ok(self.entries.get(&Key::of(key)?).map(|entry| &entry.slot))
    }

    pub(crate) fn get_text(&self, key: &str) -> Option<&Slot> {
        self.entries.get(&TextKey(key)).map(|entry| &entry.slot)
    }

    /// Sets an entry; one that is there keeps its place in the order and its key, as in CPython.
    pub(crate) fn insert(&mut self, key: Slot, slot: Slot) -> Result<()> {
        let found = Key::of(&key.value)?;
        match self.entries.entry(found) {
            map::Entry::Occupied(mut there) => {
                let entry = there.get_mut();
                entry.slot = slot;
                entry.key.place = key.place;
            }
            map::Entry::Vacant(free) => {
                free.insert(Entry { key, slot });
            }
        }
        Ok(())
    }

    pub(crate) fn insert_text(&mut self, key: &str, key_place: Place, slot: Slot) {
        match self.entries.get_mut(&TextKey(key)) {
            Some(entry) => {
                entry.slot = slot;
                entry.key.place = key_place;
            }
            None => {
                let text: Rc<str> = key.into();
                let key = Slot { value: Value::Text(Rc::clone(&text)), place: key_place };
                self.entries.insert(Key::Text(text), Entry { key, slot });
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &Value) -> Result<Option<Entry>> {
        Ok(self.entries.shift_remove(&Key::of(key)?))
    }

    pub(crate) fn remove_text(&mut self, key: &str) -> Option<Entry> {
        self.entries.shift_remove(&TextKey(key))
    }

    pub(crate) fn pop_last(&mut self) -> Option<Entry> {
        self.entries.pop().map(|(_, entry)| entry)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.entries.values()
    }

    /// Returns whether `other` has as many keys, and all of these: values are not compared.
    pub(crate) fn keys_match(&self, other: &Self) -> bool {
        self.len() == other.len() && self.entries.keys().all(|key| other.entries.contains_key(key))
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&Key, &Entry)> {
        self.entries.iter()
    }
}

/// Result of `keys()`, `values()` or `items()` of a dict.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) dict: Rc<DictCell>,
    pub(crate) kind: ViewKind,
}

/// Part of each entry that a view shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewKind {
    Keys,
    Values,
    Items,
}

impl ViewKind {
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Self::Keys => "dict_keys",
            Self::Values => "dict_values",
            Self::Items => "dict_items",
        }
    }

    /// Returns the part that it shows of an entry.
    pub(crate) fn of(self, entry: &Entry) -> Slot {
        match self {
            Self::Keys => entry.key.clone(),
            Self::Values => entry.slot.clone(),
            Self::Items => {
                let pair = [entry.key.clone(), entry.slot.clone()];
                Slot { value: Value::Tuple(pair.into()), place: entry.slot.place }
            }
        }
    }
}
