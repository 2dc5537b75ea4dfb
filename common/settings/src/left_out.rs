//! Models and data sets that a job was asked for and does not run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A model or a data set that a job was asked for and does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub kind: LeftOutKind,
    /// Its abbr.
    pub name: String,
    pub reason: String,
}

/// The kind of a thing that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    Model,
    Dataset,
}

impl LeftOutKind {
    /// `model` or `data set`.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Dataset => "data set",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}` is left out: {}", self.kind.noun(), self.name, self.reason)
    }
}

/// One line for each reason, with all that is left out for it.
pub fn left_out_lines(left_out: &[LeftOut]) -> Vec<String> {
    left_out_groups(left_out).iter().map(|group| left_out_line(group)).collect()
}

/// The entries that have one reason, with the position of each, in order.
pub fn left_out_groups(left_out: &[LeftOut]) -> Vec<Vec<(usize, &LeftOut)>> {
    let mut groups: Vec<Vec<(usize, &LeftOut)>> = Vec::new();
    for (at, left) in left_out.iter().enumerate() {
        let is_alike = |group: &&mut Vec<(usize, &LeftOut)>| {
            group.first().is_some_and(|(_, first)| first.kind == left.kind && first.reason == left.reason)
        };
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.push((at, left)),
            None => groups.push(vec![(at, left)]),
        }
    }
    groups
}

/// One line for entries of one reason.
pub fn left_out_line(group: &[(usize, &LeftOut)]) -> String {
    match group {
        [] => String::new(),
        [(_, only)] => only.to_string(),
        [(_, first), ..] => {
            let names: Vec<String> = group.iter().map(|(_, left)| format!("`{}`", left.name)).collect();
            format!("{}s {} are left out: {}", first.kind.noun(), names.join(", "), first.reason)
        }
    }
}
