//! `--skip-unsupported`: data sets and models that are not served are left out, and named, instead of stopping the job.
//!
//! A plain mistake stops it all the same: a table is left out where everything that is wrong with it is not served.

use super::check::Check;
use crate::syntax::source::Span;
use compass_diagnostic::Diagnostic;
use compass_settings::{LeftOut, LeftOutKind};

/// Text of a refusal about the flag.
const FLAG: &str = "--skip-unsupported runs the rest";

/// A remedy with that of the flag after it, unless it names the flag already.
pub(crate) fn or_skip(help: &str) -> String {
    if help.contains("--skip-unsupported") { help.to_owned() } else { format!("{help}; {FLAG}") }
}

/// Leaves something out, which is said when all is known that is left out.
pub(crate) fn leave_out(check: &mut Check, span: Option<Span>, kind: LeftOutKind, name: String, reason: String) {
    if !check.unselected {
        check.left_out.push(LeftOut { kind, name, reason });
        check.left_out_at.push(span);
    }
}

/// Names the flag beside the errors beyond the first `before` findings.
pub(crate) fn name_flag(check: &mut Check, before: usize) {
    check.add_help_since(before, FLAG);
}

/// Settles a table that was read while `before` findings were known: returns `true` if it is left out.
pub(crate) fn settle(check: &mut Check, before: usize, kind: LeftOutKind, span: Span, name: Option<&str>) -> bool {
    let errors: Vec<&Diagnostic> = check.errors_since(before).map(|(diagnostic, _)| diagnostic).collect();
    let is_unserved = !errors.is_empty() && check.errors_since(before).all(|(_, unserved)| unserved);
    if !is_unserved {
        return false;
    }
    if !check.environment.skip_unsupported {
        check.add_help_since(before, FLAG);
        return false;
    }
    let mut reasons: Vec<String> = errors.iter().map(|error| error.message.clone()).collect();
    reasons.dedup();
    check.forget_errors_since(before);
    leave_out(check, Some(span), kind, name.unwrap_or("without a name").to_owned(), reasons.join("; "));
    true
}

/// Returns `true` if anything of this kind is left out.
pub(crate) fn has_any(check: &Check, kind: LeftOutKind) -> bool {
    check.left_out.iter().any(|left| left.kind == kind)
}

/// Reports a job of which nothing of this kind is left, at the place of the first that was left out.
pub(crate) fn nothing_left(check: &mut Check, kind: LeftOutKind) {
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
