//! `--skip-unsupported`: data sets and models that are not served are left out, and named, instead of stopping the job.
//!
//! A plain mistake stops it all the same: a table is left out where everything that is wrong with it is not served.

use super::check::Check;
use super::source::Span;
use compass_diagnostic::Diagnostic;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a job was asked for and does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub kind: LeftOutKind,
    /// Its abbr.
    pub name: String,
    pub reason: String,
}

/// What is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutKind {
    Model,
    Dataset,
}

/// What a refusal says of the flag.
const FLAG: &str = "--skip-unsupported runs the rest";

impl LeftOutKind {
    fn noun(self) -> &'static str {
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

/// A remedy with that of the flag after it.
pub(super) fn or_skip(help: &str) -> String {
    format!("{help}; {FLAG}")
}

/// Leaves something out and says so.
pub(super) fn leave_out(check: &mut Check, span: Span, kind: LeftOutKind, name: String, reason: String) {
    let left = LeftOut { kind, name, reason };
    check.note(span, left.to_string(), "the job runs without it, and its exit code is 1");
    if !check.unselected {
        check.left_out.push(left);
    }
}

/// What became of a table that was read while `before` findings were known: whether it is left out.
pub(super) fn settle(check: &mut Check, before: usize, kind: LeftOutKind, span: Span, name: Option<&str>) -> bool {
    let errors: Vec<&Diagnostic> = check.errors_since(before).map(|(diagnostic, _)| diagnostic).collect();
    let is_unserved = !errors.is_empty() && check.errors_since(before).all(|(_, unserved)| unserved);
    if !is_unserved {
        return false;
    }
    if !check.skip_unsupported {
        check.add_help_since(before, FLAG);
        return false;
    }
    let mut reasons: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
    reasons.dedup();
    check.forget_errors_since(before);
    leave_out(check, span, kind, name.unwrap_or("without a name").to_owned(), reasons.join("; "));
    true
}

/// Reports a job of which nothing of this kind is left.
pub(super) fn nothing_left(check: &mut Check, span: Option<Span>, kind: LeftOutKind) {
    let of_kind: Vec<&LeftOut> = check.left_out.iter().filter(|left| left.kind == kind).collect();
    let Some(first) = of_kind.first() else { return };
    let message = match of_kind.len() {
        1 => first.to_string(),
        more => format!("all {more} {}s are left out; {first}", kind.noun()),
    };
    let help = format!("no {} is left to run: without --skip-unsupported, each is named with what to do", kind.noun());
    check.report(span, message, Some(help));
}
