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

/// A remedy with that of the flag after it, unless it names the flag already.
pub(super) fn or_skip(help: &str) -> String {
    if help.contains("--skip-unsupported") { help.to_owned() } else { format!("{help}; {FLAG}") }
}

/// Leaves something out, which is said when all is known that is left out.
pub(super) fn leave_out(check: &mut Check, span: Option<Span>, kind: LeftOutKind, name: String, reason: String) {
    if !check.unselected {
        check.left_out.push(LeftOut { kind, name, reason });
        check.left_out_at.push(span);
    }
}

/// What is left out, a line for everything that has one reason.
pub fn left_out_lines(left_out: &[LeftOut]) -> Vec<String> {
    grouped(left_out).iter().map(|group| line(group)).collect()
}

/// What has one reason, with the position of each, in order.
fn grouped(left_out: &[LeftOut]) -> Vec<Vec<(usize, &LeftOut)>> {
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

fn line(group: &[(usize, &LeftOut)]) -> String {
    match group {
        [] => String::new(),
        [(_, only)] => only.to_string(),
        [(_, first), ..] => {
            let names: Vec<String> = group.iter().map(|(_, left)| format!("`{}`", left.name)).collect();
            format!("{}s {} are left out: {}", first.kind.noun(), names.join(", "), first.reason)
        }
    }
}

/// Says what is left out.
pub(super) fn tell(check: &mut Check) {
    let places = std::mem::take(&mut check.left_out_at);
    let left_out = std::mem::take(&mut check.left_out);
    for group in grouped(&left_out) {
        let span = group.first().and_then(|(at, _)| places.get(*at).copied().flatten());
        let them = if group.len() == 1 { "it" } else { "them" };
        check.tell_at(span, line(&group), &format!("the job runs without {them}, and its exit code is 1"));
    }
}

/// Names the flag beside the errors beyond the first `before` findings.
pub(super) fn name_flag(check: &mut Check, before: usize) {
    check.add_help_since(before, FLAG);
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
    leave_out(check, Some(span), kind, name.unwrap_or("without a name").to_owned(), reasons.join("; "));
    true
}

/// Whether anything of this kind is left out.
pub(super) fn has_any(check: &Check, kind: LeftOutKind) -> bool {
    check.left_out.iter().any(|left| left.kind == kind)
}

/// Reports a job of which nothing of this kind is left, at the place of the first that was left out.
pub(super) fn nothing_left(check: &mut Check, kind: LeftOutKind) {
    let at = check.left_out.iter().position(|left| left.kind == kind);
    let span = at.and_then(|at| check.left_out_at.get(at).copied().flatten());
    let of_kind: Vec<&LeftOut> = check.left_out.iter().filter(|left| left.kind == kind).collect();
    let Some(first) = of_kind.first() else { return };
    let message = match of_kind.len() {
        1 => first.to_string(),
        more => format!("all {more} {}s are left out; {first}", kind.noun()),
    };
    let help = format!("no {} is left to run: without --skip-unsupported, each is named with what to do", kind.noun());
    check.report(span, message, Some(help));
}
