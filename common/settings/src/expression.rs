//! Work on the rows of a split before a client asks for them: computed columns, conditions, an order.
//!
//! The grammar of `[dataset.test]` and `[dataset.train]` beside `path`. `PATH` is a column, or a place inside one:
//! `question`, `answers.text.0`. `TEMPLATE` is text in which `{PATH}` is filled in; `{{` and `}}` are braces.
//!
//! ```toml
//! [dataset.test.columns]                       # in order; each may use those above it, and may replace a column
//! a = { from = "PATH" }                        # copy, rename
//! b = { const = "x" }                          # any value
//! c = { format = "TEMPLATE" }
//! d = { join = ["PATH", "PATH"], with = "\n" } # or the items of one list: join = "PATH", each = "{letter}. {item}", skip = ["N/A"]
//! e = { split = "PATH", by = "\n", at = 0 }    # without `at` the list
//! f = { item = "PATH", at = 2 }                # from the end when negative; `at = "key"` of an object; at_column = "PATH"
//! g = { letter_of = "PATH", base = 0 }         # 0 -> "A"; base = 1: 1 -> "A"
//! h = { index_of = "PATH", base = 0 }          # "A" -> 0; with in = "PATH": the place in that list
//! i = { map = "PATH", to = { "0" = "no" } }    # keys as a prompt would print the value
//! j = { capture = "PATH", regex = "...", group = 1 }
//! k = { replace = "PATH", regex = "...", by = "TEMPLATE" }  # or find = "literal"; {1} is a group of the regex
//! l = { strip = "PATH" }                       # white space, or chars = "..."
//! m = { json = "PATH" }                        # parse JSON or a Python literal held in a text
//! n = { lines_of = "labels.lst" }              # a line per row of the files, before any row is dropped
//! o = { rows_of = "labels.csv", column = "PATH" }           # likewise from the rows of a second file
//! p = { text_of = "prompt.txt" }               # a whole file, the same for every row
//! q = { object = ["PATH", "PATH"] }            # several values under their names; absent ones are left out
//! r = { list = ["PATH", "PATH"] }              # several values in a list
//! s = { items = "PATH", at = "key", order = "PATH", unique = true } # the items of a list: a place in each, in an order, each once
//! t = { first_of = ["PATH", "PATH"] }          # the first that is there
//! u = { cycle = ["x", "y"] }                   # "x" for the first row of the files, "y" for the second, "x" again
//! v = { number = 0 }                           # which row of the files, counted from 0
//! w = { splice = "PATH", by = " ", spans = [{ at = "PATH", like = "PATH", put = "TEMPLATE" }] } # pieces of a text replaced
//! x = { upper = "PATH", first = true }         # capital letters, or the first one alone
//! ```
//! All take `as = "int" | "float" | "text"`, and `default = ...`: what stands where `PATH` is absent or null, or where
//! nothing was found. Without `default` such a row is a fault. Before them, `each` makes several rows of one; after them come
//! keys over all columns:
//!
//! ```toml
//! each = { qa = "paragraph.qas" }              # before columns: a row for every item; in turn = ["AB", "BA"] for every value
//! lists_to_columns = { choices = ["A", "B", "C", "D"] }     # an item a column; the list goes
//! keep = [{ column = "PATH", equals = "x" }]   # all must hold: equals | in = [..] | regex | exists = true; not = true
//! drop_columns = ["..."]
//! order = ["..."]                              # these first; templates are filled in the order of columns
//! only = ["..."]                               # these alone, in this order
//! ```
//! Rows are dropped before `test_range` counts them, as OpenCompass's loaders do.

use compass_diagnostic::Origin;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

/// A new or replaced column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnConfig {
    pub name: String,
    pub expression: Expression,
    /// The type that the value is brought to; `None` leaves it.
    pub cast: Option<Cast>,
    /// Value that is taken where there is nothing to compute from.
    pub default: Option<Value>,
    /// Place where it is written, for faults of rows; no digest depends on it.
    #[serde(skip)]
    pub origin: Origin,
}

/// Way to find the value of a column. Texts called `of` are paths.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expression {
    From {
        of: String,
    },
    Const {
        value: Value,
    },
    Format {
        template: Vec<Piece>,
    },
    Join {
        of: Vec<String>,
        with: String,
    },
    /// The items of one list.
    JoinItems {
        of: String,
        with: String,
        /// Template of an item: `{item}`, its `{letter}` and its `{number}` from 1, or a column.
        #[serde(skip_serializing_if = "Option::is_none")]
        each: Option<Vec<Piece>>,
        /// Items that are left out; those after them keep their letters.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        skip: Vec<Value>,
    },
    Split {
        of: String,
        by: String,
        at: Option<i64>,
    },
    Item {
        of: String,
        at: Key,
    },
    LetterOf {
        of: String,
        base: i64,
    },
    IndexOf {
        of: String,
        base: i64,
        list: Option<String>,
    },
    /// The keys are compared with the value as a prompt prints it.
    Map {
        of: String,
        to: Vec<(String, Value)>,
    },
    Capture {
        of: String,
        regex: String,
        group: Group,
    },
    Replace {
        of: String,
        find: Pattern,
        by: Vec<Piece>,
    },
    /// White space, or any of `chars`, off both ends.
    Strip {
        of: String,
        chars: Option<String>,
    },
    Json {
        of: String,
    },
    LinesOf {
        file: PathBuf,
    },
    RowsOf {
        file: PathBuf,
        column: String,
    },
    TextOf {
        file: PathBuf,
    },
    /// Under each path's own name.
    Object {
        of: Vec<String>,
    },
    List {
        of: Vec<String>,
    },
    /// Items of a list.
    Items {
        of: String,
        /// Place inside each item that is taken.
        at: Option<Key>,
        /// A list of positions: the items in this order.
        order: Option<String>,
        /// Set if only the first of equal items is taken.
        unique: bool,
    },
    /// The first that is there and not null.
    FirstOf {
        of: Vec<String>,
    },
    /// By the row's position among all rows of the files.
    Cycle {
        values: Vec<Value>,
    },
    /// The row's position among all rows of the files.
    Number {
        base: i64,
    },
    /// A text with some of its pieces replaced.
    Splice {
        of: String,
        /// Separator of the pieces; empty for characters.
        by: String,
        spans: Vec<TextSpan>,
    },
    Upper {
        of: String,
        /// The first letter alone.
        first: bool,
    },
}

impl Expression {
    /// Every path that the value is made of; of a template's, numbers may be groups of a regex.
    pub fn paths(&self) -> Vec<&str> {
        fn of_template(template: &[Piece]) -> impl Iterator<Item = &str> {
            template.iter().filter_map(|piece| if let Piece::Path(path) = piece { Some(path.as_str()) } else { None })
        }
        match self {
            Self::Const { .. }
            | Self::LinesOf { .. }
            | Self::RowsOf { .. }
            | Self::TextOf { .. }
            | Self::Cycle { .. }
            | Self::Number { .. } => Vec::new(),
            Self::Format { template } => of_template(template).collect(),
            Self::Join { of, .. } | Self::Object { of } | Self::List { of } | Self::FirstOf { of } => {
                of.iter().map(String::as_str).collect()
            }
            Self::JoinItems { of, each, .. } => {
                of_template(each.as_deref().unwrap_or_default()).chain([of.as_str()]).collect()
            }
            Self::Item { of, at: Key::Column(at) } => vec![of, at],
            Self::Items { of, order, .. } => [Some(of.as_str()), order.as_deref()].into_iter().flatten().collect(),
            Self::Splice { of, spans, .. } => {
                let places = spans.iter().flat_map(|span| [Some(span.at.as_str()), span.like.as_deref()]).flatten();
                let put = spans.iter().flat_map(|span| of_template(&span.put));
                places.chain(put).chain([of.as_str()]).collect()
            }
            Self::Replace { of, by, .. } => of_template(by).chain([of.as_str()]).collect(),
            Self::IndexOf { of, list, .. } => [Some(of.as_str()), list.as_deref()].into_iter().flatten().collect(),
            Self::From { of }
            | Self::Split { of, .. }
            | Self::Item { of, .. }
            | Self::LetterOf { of, .. }
            | Self::Map { of, .. }
            | Self::Capture { of, .. }
            | Self::Strip { of, .. }
            | Self::Upper { of, .. }
            | Self::Json { of } => vec![of],
        }
    }
}

/// A stretch of a template. A path that is a number is a group of the regex in `replace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Piece {
    Text(String),
    Path(String),
}

/// Text that is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    Literal(String),
    Regex(String),
}

/// A place in a list (from the end when negative) or an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Key {
    At(i64),
    Name(String),
    /// The position or key that a column holds.
    Column(String),
}

/// Pieces of a text that one text takes the place of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextSpan {
    /// Path to the position of its first piece.
    pub at: String,
    /// Path to a text of as many pieces; without one it is one piece.
    pub like: Option<String>,
    pub put: Vec<Piece>,
}

/// Source of several rows that are made of one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// The list at a path: a row for each item.
    Items(String),
    /// A row for each of these values.
    Values(Vec<Value>),
}

/// A group of a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    Number(usize),
    Name(String),
}

/// The type that a value is brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cast {
    /// As Python's `int(str)`: white space aside, commas are a fault.
    Int,
    Float,
    /// As Python's `str`.
    Text,
}

/// Condition that a row must meet to be kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// A path.
    pub column: String,
    pub test: Test,
    /// Keeps the rows for which the test fails.
    pub not: bool,
    /// As in [`ColumnConfig`].
    #[serde(skip)]
    pub origin: Origin,
}

/// Test of a value. An absent value equals nothing and matches nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    Equals(Value),
    In(Vec<Value>),
    /// Found anywhere in the value as a prompt prints it.
    Regex(String),
    /// There and not null.
    Exists(bool),
}
