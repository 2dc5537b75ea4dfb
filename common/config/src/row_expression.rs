//! What is made of the rows of a split before anybody asks for them: computed columns, conditions, an order.
//!
//! The grammar of `[dataset.test]` and `[dataset.train]` beside `path`. `PATH` is a column, or a place inside one:
//! `question`, `answers.text.0`. `TEMPLATE` is text in which `{PATH}` is filled in; `{{` and `}}` are braces.
//!
//! ```toml
//! [dataset.test.columns]                       # in order; each may use those above it, and may replace a column
//! a = { from = "PATH" }                        # copy, rename
//! b = { const = "x" }                          # any value
//! c = { format = "TEMPLATE" }
//! d = { join = ["PATH", "PATH"], with = "\n" } # or the items of one list: join = "PATH"
//! e = { split = "PATH", by = "\n", at = 0 }    # without `at` the list
//! f = { item = "PATH", at = 2 }                # from the end when negative; `at = "key"` of an object
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
//! ```
//! All take `as = "int" | "float" | "text"`, and `default = ...`: what stands where `PATH` is absent or null, or where
//! nothing was found. Without `default` such a row is a fault. Then, over all columns:
//!
//! ```toml
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
    /// What stands where there is nothing to compute from.
    pub default: Option<Value>,
    /// Where it is written, for faults of rows; no digest depends on it.
    #[serde(skip)]
    pub origin: Origin,
}

/// How the value of a column is found. Texts called `of` are paths.
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
}

impl Expression {
    /// Every path that the value is made of; of a template's, numbers may be groups of a regex.
    pub fn paths(&self) -> Vec<&str> {
        fn of_template(template: &[Piece]) -> impl Iterator<Item = &str> {
            template.iter().filter_map(|piece| if let Piece::Path(path) = piece { Some(path.as_str()) } else { None })
        }
        match self {
            Self::Const { .. } | Self::LinesOf { .. } | Self::RowsOf { .. } | Self::TextOf { .. } => Vec::new(),
            Self::Format { template } => of_template(template).collect(),
            Self::Join { of, .. } | Self::Object { of } | Self::List { of } => of.iter().map(String::as_str).collect(),
            Self::Replace { of, by, .. } => of_template(by).chain([of.as_str()]).collect(),
            Self::IndexOf { of, list, .. } => [Some(of.as_str()), list.as_deref()].into_iter().flatten().collect(),
            Self::From { of }
            | Self::JoinItems { of, .. }
            | Self::Split { of, .. }
            | Self::Item { of, .. }
            | Self::LetterOf { of, .. }
            | Self::Map { of, .. }
            | Self::Capture { of, .. }
            | Self::Strip { of, .. }
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

/// What is replaced.
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

/// What a row must be like to be kept.
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

/// What is asked of a value. An absent one equals nothing and matches nothing.
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
