//! Results of an evaluation: plain data with places, which may leave the thread that made it.

use crate::place::Place;

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub value: Plain,
    pub place: Place,
}

/// Python's values as far as configurations hold them.
#[derive(Clone, Debug, PartialEq)]
pub enum Plain {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Tuple(Vec<Node>),
    /// In the order of insertion. Keys are plain values: `0` and `"0"` are two keys.
    Dict(Vec<(Node, Node)>),
    /// A name that was imported and not evaluated: `opencompass.models.HuggingFaceBaseModel`.
    Symbol(String),
    /// An object without a value outside of Python: a function, a class, a module, a set ...; its kind, with the article.
    Other(&'static str),
}

impl Node {
    /// The value at a text key of a dict.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Plain::Dict(entries) = &self.value else { return None };
        entries.iter().find(|(name, _)| name.text() == Some(key)).map(|(_, node)| node)
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Plain::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list or a tuple; none of anything else.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Plain::List(items) | Plain::Tuple(items) => items,
            _ => &[],
        }
    }
}
