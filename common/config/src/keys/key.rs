//! Facts about a key that are known before any file is read: its name, what it takes, its default and its meaning.
//!
//! The readers, the suggestions for misspelt keys, the tables of the book and the schema for editors all follow from it.

use super::vocabulary::{LENGTHS, Words};

/// The keys of one table of the configuration.
#[derive(Debug)]
pub(crate) struct TableKeys {
    /// Its name in the reference and in the schema: `master.etcd`.
    pub(crate) name: &'static str,
    /// Name of the table in messages, unless the reader says more exactly: `[master]`.
    pub(crate) title: &'static str,
    pub(crate) keys: &'static [Key],
    /// Keys that only go with one `type`; empty where there are no types.
    pub(crate) types: &'static [TypeKeys],
}

/// Keys that one `type` of a table takes beside the table's own keys.
#[derive(Debug)]
pub(crate) struct TypeKeys {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// In groups, some of which several types share.
    pub(crate) keys: &'static [&'static [Key]],
}

/// A key of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Other spellings.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) kind: Kind,
    /// Accepted values in words, where the kind says less.
    pub(crate) takes: Option<&'static str>,
    /// Default that holds without it, in Markdown; empty where there is nothing to say.
    pub(crate) default: &'static str,
    /// In Markdown.
    pub(crate) meaning: &'static str,
    pub(crate) standing: Standing,
}

/// State of the support for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Served,
    /// Accepted without effect, as OpenCompass's configurations have it.
    Ignored,
    /// Refused by name unless it is empty: a later version serves it. What to do meanwhile.
    Later(&'static str),
    /// Served and documented nowhere: for tests, whose times must be short.
    Hidden,
}

/// Values that a key takes, as far as a schema can describe them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Text,
    Path,
    /// `90s`, `10m`, `24h`, `7d`.
    Duration,
    Boolean,
    /// A whole number within both bounds.
    Whole(i64, i64),
    Number,
    /// A name out of those of a reader's [`Choices`](super::vocabulary::Choices).
    Choice(fn() -> Words),
    Texts,
    ArrayOf(&'static Kind),
    /// A table with any keys.
    MapOf(&'static Kind),
    Table(&'static TableKeys),
    /// An array of tables.
    Tables(&'static TableKeys),
    /// A name, or a table whose `type` is that name.
    Named(&'static TableKeys),
    Either(&'static [Kind]),
    Anything,
}

/// A number of tokens, or what is left of the context.
pub(crate) const LENGTH: Kind = Kind::Either(&[Kind::from(1), Kind::Choice(|| LENGTHS.words())]);

impl Kind {
    /// A whole number of 32 bits that is not below `least`.
    pub(crate) const fn from(least: i64) -> Self {
        Self::Whole(least, u32::MAX as i64)
    }
}

/// A key that is served, has no default and no other spelling.
pub(crate) const fn key(name: &'static str, kind: Kind, meaning: &'static str) -> Key {
    Key { name, aliases: &[], kind, takes: None, default: "", meaning, standing: Standing::Served }
}

/// A key that is accepted and has no effect; `why` says why that is no loss.
pub(crate) const fn ignored(name: &'static str, kind: Kind, why: &'static str) -> Key {
    Key { standing: Standing::Ignored, ..key(name, kind, why) }
}

/// A key that a later version serves.
pub(crate) const fn later(name: &'static str, meanwhile: &'static str) -> Key {
    Key { standing: Standing::Later(meanwhile), ..key(name, Kind::Anything, meanwhile) }
}

/// A key for tests, see [`Standing::Hidden`].
pub(crate) const fn hidden(name: &'static str, kind: Kind) -> Key {
    Key { standing: Standing::Hidden, ..key(name, kind, "") }
}

impl Key {
    pub(crate) const fn or(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub(crate) const fn takes(self, words: &'static str) -> Self {
        Self { takes: Some(words), ..self }
    }

    pub(crate) const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(crate) const fn required(self) -> Self {
        Self { default: "required", ..self }
    }

    /// Every spelling, the usual one first.
    pub(crate) fn spellings(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

impl TableKeys {
    /// Returns the keys that the type called `name` adds; `None` if there is no type of that name.
    pub(crate) fn of_type(&self, name: &str) -> Option<&'static TypeKeys> {
        self.types.iter().find(|keys| keys.name == name)
    }

    /// Its own keys, then those of every type.
    pub(crate) fn every_key(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().chain(self.types.iter().flat_map(TypeKeys::every_key))
    }
}

impl TypeKeys {
    pub(crate) fn every_key(&'static self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().copied().flatten()
    }
}
